"""The OpenAI Agents SDK itself, with a model of our own behind its interface, and a real daemon."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    Usage,
    WebSearchTool,
    function_tool,
)
from conftest import DaemonFixture
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from countersign.adapters.openai_agents import gated_tool, gated_tools

ran: list[str] = []


@function_tool
def send_email(to: str) -> str:
    """Sends an e-mail."""
    ran.append(to)
    return f"sent to {to}"


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


class StandIn(Model):
    """A stand-in for a model: calls the tool once for each line, then repeats what it was told."""

    def __init__(self, arguments: str) -> None:
        self.arguments = arguments
        self.told = ""

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,
        *rest: Any,
        **more: Any,
    ) -> ModelResponse:
        outputs = [
            str(item["output"])
            for item in input
            if isinstance(item, dict) and item.get("type") == "function_call_output"
        ]
        item: Any
        if outputs:
            self.told = "\n".join(outputs)
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            item = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
            return ModelResponse(output=[item], usage=Usage(), response_id=None)
        items: Any = [
            ResponseFunctionToolCall(
                id=f"f{at}",
                call_id=str(uuid.uuid4()),
                type="function_call",
                name="send_email",
                arguments=one,
            )
            for at, one in enumerate(self.arguments.split("\n"))
        ]
        return ModelResponse(output=items, usage=Usage(), response_id=None)

    def stream_response(self, *rest: Any, **more: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def told(arguments: str = '{"to":"ana@example.com"}', **context: Any) -> str:
    model = StandIn(arguments)
    agent = Agent(name="a", model=model, tools=gated_tools([send_email], **context))
    config = RunConfig(tracing_disabled=True)
    asyncio.run(Runner.run(agent, "write to ana", run_config=config))
    return model.told


def test_an_approved_call_runs_once(running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("approve"):
        assert told() == "sent to ana@example.com"
    assert ran == ["ana@example.com"]
    assert running_daemon.latest()["reported"]["status"] == "ok"


def test_a_denied_call_does_not_run_and_the_model_is_told_why(
    running_daemon: DaemonFixture,
) -> None:
    with running_daemon.answering("deny", reason="not to Ana"):
        assert "Denied by owner: not to Ana" in told()
    assert ran == []


def test_an_edited_call_runs_with_the_edited_arguments(running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("approve", edited_arguments={"to": "bob@example.com"}):
        assert told() == "sent to bob@example.com"
    assert ran == ["bob@example.com"]


def test_without_a_daemon_nothing_runs(no_daemon: None) -> None:
    assert "does not answer" in told()
    assert ran == []


def test_ambiguous_arguments_are_rejected(running_daemon: DaemonFixture) -> None:
    before = running_daemon.kept()
    assert "Not run" in told('{"to":"ana@example.com","to":"eve@example.com"}')
    assert (ran, running_daemon.kept()) == ([], before)


def test_a_hosted_tool_is_rejected() -> None:
    with pytest.raises(TypeError, match="cannot be gated"):
        gated_tool(WebSearchTool())


def test_the_original_tool_is_unchanged(running_daemon: DaemonFixture) -> None:
    gated = gated_tool(send_email)
    assert isinstance(gated, FunctionTool)
    assert gated is not send_email
    assert gated.on_invoke_tool is not send_email.on_invoke_tool
    assert json.dumps(gated.params_json_schema) == json.dumps(send_email.params_json_schema)


def test_parallel_calls_wait_in_parallel_and_one_denial_does_not_affect_the_others(
    running_daemon: DaemonFixture,
) -> None:
    to = [f"{name}-{uuid.uuid4().hex[:6]}@example.com" for name in ("ana", "bob", "cleo")]
    lines = "\n".join(json.dumps({"to": one}) for one in to)
    with running_daemon.meanwhile(lambda: told(lines)) as results:
        ana, bob, cleo = running_daemon.waiting(*to)
        running_daemon.decide(cleo, "approve")
        running_daemon.decide(bob, "deny", reason="not to Bob")
        running_daemon.wait_until(lambda: ran == [to[2]])
        running_daemon.decide(ana, "approve")
    said = results[0].split("\n")
    assert [said[0], said[2]] == [f"sent to {to[0]}", f"sent to {to[2]}"]
    assert "Denied by owner: not to Bob" in said[1]
    assert ran == [to[2], to[0]]


def test_a_retry_after_the_patience_continues_to_wait(running_daemon: DaemonFixture) -> None:
    arguments = json.dumps({"to": f"{uuid.uuid4()}@example.com"})
    assert "a person has not decided yet" in told(arguments, patience=0.3)
    (waiting,) = running_daemon.pending()
    running_daemon.decide(waiting, "approve")
    assert told(arguments).startswith("sent to")
    assert running_daemon.seen(waiting["id"])["reported"]["duration_ms"] >= 0
