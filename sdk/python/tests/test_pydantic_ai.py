"""Pydantic AI itself, with its own function model, and a real daemon."""

from __future__ import annotations

import asyncio
import datetime
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from conftest import DaemonFixture
from pydantic_ai import (
    Agent,
    ModelMessage,
    ModelResponse,
    RunContext,
    TextPart,
    Tool,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import FunctionToolset

from countersign.adapters.pydantic_ai import Countersign, GatedToolset

ran: list[Any] = []


def send_email(to: str, on: datetime.date | None = None) -> str:
    """Sends an e-mail."""
    ran.append(to if on is None else (to, on))
    return f"sent to {to}"


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


def model(arguments: dict[str, Any]) -> FunctionModel:
    """Calls the tool once, then repeats what it was told."""

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart):
                return ModelResponse(parts=[TextPart(f"{part.outcome}: {part.content}")])
        return ModelResponse(parts=[ToolCallPart("send_email", arguments)])

    return FunctionModel(respond)


def many(calls: list[dict[str, Any]], told: list[str]) -> FunctionModel:
    """Calls the tool with all of these at once, and notes what it was told, in order."""

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        told.extend(f"{part.outcome}: {part.content}" for part in parts)
        if parts:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("send_email", one) for one in calls])

    return FunctionModel(respond)


Run = Callable[[dict[str, Any]], str]


def with_capability(arguments: dict[str, Any]) -> str:
    agent = Agent(model(arguments), tools=[send_email], capabilities=[Countersign()])
    return agent.run_sync("write to ana").output


def with_toolset(arguments: dict[str, Any]) -> str:
    toolset: FunctionToolset[None] = FunctionToolset([send_email])
    agent = Agent(model(arguments), toolsets=[GatedToolset(toolset)])
    return agent.run_sync("write to ana").output


@pytest.fixture(params=[with_capability, with_toolset], ids=["capability", "toolset"])
def run(request: pytest.FixtureRequest) -> Run:
    found: Run = request.param
    return found


ANA = {"to": "ana@example.com"}


def test_an_approved_call_runs_once(run: Run, running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("approve"):
        assert run(ANA) == "success: sent to ana@example.com"
    assert ran == ["ana@example.com"]
    assert running_daemon.latest()["reported"]["status"] == "ok"


def test_a_denied_call_does_not_run_and_the_model_is_told_why(
    run: Run, running_daemon: DaemonFixture
) -> None:
    with running_daemon.answering("deny", reason="not to Ana"):
        said = run(ANA)
    assert said.startswith("failed: Not run. Denied by owner: not to Ana.")
    assert ran == []


def test_an_edited_call_runs_with_the_edited_arguments(
    run: Run, running_daemon: DaemonFixture
) -> None:
    with running_daemon.answering("approve", edited_arguments={"to": "bob@example.com"}):
        assert run(ANA) == "success: sent to bob@example.com"
    with running_daemon.answering("approve", edited_arguments={"to": 7}):
        assert "are invalid" in run(ANA)
    assert ran == ["bob@example.com"]


def test_edited_arguments_do_not_bypass_a_tools_own_validation(
    running_daemon: DaemonFixture,
) -> None:
    def check(ctx: RunContext[None], to: str, on: datetime.date | None = None) -> None:
        assert to == "ana@example.com"

    tools = [Tool(send_email, args_validator=check)]
    agent = Agent(model(ANA), tools=tools, capabilities=[Countersign()])
    with running_daemon.answering("approve", edited_arguments={"to": "bob@example.com"}):
        assert "has its own validation" in agent.run_sync("write to ana").output
    assert ran == []
    with running_daemon.answering("approve"):
        agent.run_sync("write to ana")
    assert ran == ["ana@example.com"]


def test_validated_arguments_are_shown_as_json(run: Run, running_daemon: DaemonFixture) -> None:
    day = datetime.date(2026, 1, 2)
    with running_daemon.answering("approve"):
        run({**ANA, "on": "2026-01-02"})
    assert (
        running_daemon.latest()["card"]["arguments"] == '{"on":"2026-01-02","to":"ana@example.com"}'
    )
    with running_daemon.answering("approve", edited_arguments={**ANA, "on": "2026-01-03"}):
        run({**ANA, "on": "2026-01-02"})
    assert ran == [("ana@example.com", day), ("ana@example.com", datetime.date(2026, 1, 3))]


def test_without_a_daemon_nothing_runs(run: Run, no_daemon: None) -> None:
    assert "does not answer" in run(ANA)
    assert ran == []


def test_the_frameworks_test_model_is_gated(running_daemon: DaemonFixture) -> None:
    agent = Agent(TestModel(), tools=[send_email], capabilities=[Countersign()])
    with running_daemon.answering("deny"):
        agent.run_sync("write to ana")
    assert ran == []


@pytest.mark.parametrize("behind", ["capability", "toolset"])
def test_a_turn_is_one_group_and_one_denial_does_not_affect_the_others(
    behind: str, running_daemon: DaemonFixture, turn_polls: list[str]
) -> None:
    to = [f"{name}-{uuid.uuid4().hex[:6]}@example.com" for name in ("ana", "bob", "cleo")]
    told: list[str] = []
    model = many([{"to": one} for one in to], told)
    if behind == "capability":
        agent = Agent(model, tools=[send_email], capabilities=[Countersign()])
    else:
        toolset: FunctionToolset[None] = FunctionToolset([send_email])
        agent = Agent(model, toolsets=[GatedToolset(toolset)])
    with running_daemon.meanwhile(lambda: asyncio.run(agent.run("write to all"))):
        ana, bob, cleo = running_daemon.waiting(*to)
        assert ana["group"] == bob["group"] == cleo["group"] is not None
        running_daemon.decide(cleo, "approve")
        running_daemon.decide(bob, "deny", reason="not to Bob")
        # Approved, and still not before what was called first: it has looked at its turn again.
        looked = turn_polls.count(to[2])
        running_daemon.wait_until(lambda: bool(ran) or turn_polls.count(to[2]) > looked + 3)
        assert ran == []
        running_daemon.decide(ana, "approve")
    assert [one.split(":")[0] for one in told] == ["success", "failed", "success"]
    assert "Denied by owner: not to Bob" in told[1]
    assert ran == [to[0], to[2]]
