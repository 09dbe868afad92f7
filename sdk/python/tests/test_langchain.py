"""LangChain and LangGraph themselves, with LangChain's own fake model, and a real daemon."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from conftest import DaemonFixture
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from countersign.adapters.langchain import CountersignMiddleware
from countersign.adapters.turns import AdapterGate

ran: list[str] = []


class Fake(GenericFakeChatModel):
    """LangChain's fake, which may be given tools."""

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        return self


@tool
def send_email(to: str) -> str:
    """Sends an e-mail."""
    ran.append(to)
    if to == "nobody@example.com":
        raise LookupError(to)
    return f"sent to {to}"


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


def called(to: str) -> AIMessage:
    """All of these at once."""
    return AIMessage(
        content="",
        tool_calls=[
            {"name": "send_email", "args": {"to": one}, "id": str(uuid.uuid4())}
            for one in to.split()
        ],
    )


def agent(to: str) -> tuple[Any, dict[str, Any]]:
    model = Fake(messages=iter([called(to), AIMessage(content="done")]))
    made = create_agent(model, tools=[send_email], middleware=[CountersignMiddleware()])
    return made, {"messages": [("user", "write to ana")]}


def invoked(to: str) -> dict[str, Any]:
    made, said = agent(to)
    return dict(made.invoke(said))


def awaited(to: str) -> dict[str, Any]:
    made, said = agent(to)
    return dict(asyncio.run(made.ainvoke(said)))


def graph() -> Any:
    """A graph of one's own, without an agent."""
    gate = CountersignMiddleware()
    node = ToolNode(
        [send_email], wrap_tool_call=gate.wrap_tool_call, awrap_tool_call=gate.awrap_tool_call
    )
    return StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()


Run = Callable[[str], dict[str, Any]]
RUNS: list[Run] = [
    invoked,
    awaited,
    lambda to: dict(graph().invoke({"messages": [called(to)]})),
    lambda to: dict(asyncio.run(graph().ainvoke({"messages": [called(to)]}))),
]


@pytest.fixture(params=RUNS, ids=["agent", "agent on a loop", "graph", "graph on a loop"])
def run(request: pytest.FixtureRequest) -> Run:
    found: Run = request.param
    return found


def told(messages: list[AnyMessage]) -> ToolMessage:
    """What the model is told about the tool call."""
    (found,) = [one for one in messages if isinstance(one, ToolMessage)]
    return found


def test_an_approved_call_runs_once(run: Run, running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("approve"):
        message = told(run("ana@example.com")["messages"])
    assert (message.content, message.status) == ("sent to ana@example.com", "success")
    assert ran == ["ana@example.com"]
    seen = running_daemon.latest()
    assert seen["reported"]["status"] == "ok"
    assert len(seen["reported"]["result_digest"]) == 64


def test_a_denied_call_does_not_run_and_the_model_is_told_why(
    run: Run, running_daemon: DaemonFixture
) -> None:
    with running_daemon.answering("deny", reason="not to Ana"):
        message = told(run("ana@example.com")["messages"])
    assert message.status == "error"
    assert "Denied by owner: not to Ana" in str(message.content)
    assert ran == []


def test_an_edited_call_runs_with_the_edited_arguments(
    run: Run, running_daemon: DaemonFixture
) -> None:
    with running_daemon.answering("approve", edited_arguments={"to": "bob@example.com"}):
        message = told(run("ana@example.com")["messages"])
    assert message.content == "sent to bob@example.com"
    assert ran == ["bob@example.com"]


def test_without_a_daemon_nothing_runs(run: Run, no_daemon: None) -> None:
    message = told(run("ana@example.com")["messages"])
    assert message.status == "error"
    assert "does not answer" in str(message.content)
    assert ran == []


def test_a_tool_that_fails_is_reported(run: Run, running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("approve"), pytest.raises(LookupError):
        run("nobody@example.com")
    assert running_daemon.latest()["reported"]["status"] == "error"
    assert ran == ["nobody@example.com"]


def test_a_turn_is_one_group_and_one_denial_does_not_affect_the_others(
    run: Run, running_daemon: DaemonFixture, turn_polls: list[str]
) -> None:
    to = [f"{name}-{uuid.uuid4().hex[:6]}@example.com" for name in ("ana", "bob", "cleo")]
    with running_daemon.meanwhile(lambda: run(" ".join(to))) as results:
        ana, bob, cleo = running_daemon.waiting(*to)
        assert ana["group"] == bob["group"] == cleo["group"] is not None
        running_daemon.decide(cleo, "approve")
        running_daemon.decide(bob, "deny", reason="not to Bob")
        # Approved, and still not before what was called first: it has looked at its turn again.
        looked = turn_polls.count(to[2])
        running_daemon.wait_until(lambda: bool(ran) or turn_polls.count(to[2]) > looked + 3)
        assert ran == []
        running_daemon.decide(ana, "approve")
    said = [one for one in results[0]["messages"] if isinstance(one, ToolMessage)]
    assert [one.status for one in said] == ["success", "error", "success"]
    assert "Denied by owner: not to Bob" in str(said[1].content)
    assert ran == [to[0], to[2]]


def test_the_frameworks_call_id_and_thread_are_used(running_daemon: DaemonFixture) -> None:
    made, said = agent("ana@example.com")
    config = {"configurable": {"thread_id": "thread-9"}}
    with running_daemon.answering("deny") as asked:
        made.invoke(said, config)
    assert [one["session"] for one in asked] == ["thread-9"]
    # A host that takes the same turn up again does not ask again.
    message = called(f"{uuid.uuid4()}@example.com")
    with running_daemon.answering("deny", reason="said once"):
        graph().invoke({"messages": [message]})
    before = running_daemon.kept()
    again = told(graph().invoke({"messages": [message]})["messages"])
    assert "said once" in str(again.content)
    assert running_daemon.kept() == before


def test_a_call_does_not_wait_for_one_that_never_starts(running_daemon: DaemonFixture) -> None:
    gate = AdapterGate(patience=15)
    turn = [
        gate.call("send_email", {"to": f"{uuid.uuid4()}@example.com"}, str(uuid.uuid4()), None)
        for _ in range(2)
    ]
    # Something else in the agent answered the first call itself.
    with running_daemon.answering("approve"), gate.place(turn[1], turn) as place:
        assert place.clear().arguments == turn[1].arguments


def test_unknown_options_are_rejected() -> None:
    with pytest.raises(TypeError, match="sesion"):
        CountersignMiddleware(sesion="x")  # type: ignore[call-arg]
