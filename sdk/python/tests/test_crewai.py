"""CrewAI itself, with a model of our own behind its interface, and a real daemon.

CrewAI is large: this runs in an environment of its own (``./check --crewai``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conftest import DaemonFixture

pytest.importorskip("crewai", reason="CrewAI is tested in an environment of its own")

from crewai import Agent, BaseLLM, Crew, Task
from crewai.hooks import (
    register_before_tool_call_hook,
    unregister_before_tool_call_hook,
)
from crewai.tools import tool

from countersign.adapters.crewai import CountersignHooks

ran: list[str] = []


@tool("send_email")
def send_email(to: str) -> str:
    """Sends an e-mail."""
    ran.append(to)
    return f"sent to {to}"


class StandIn(BaseLLM):
    """A stand-in for a model: calls the tool once, then repeats what it was told."""

    native: bool = True

    def supports_function_calling(self) -> bool:
        return self.native

    def call(self, messages: Any, tools: Any = None, **more: Any) -> Any:
        told = [str(m["content"]) for m in messages if m.get("role") == "tool"]
        for message in messages:
            _, written, after = str(message.get("content")).partition("Observation: ")
            if written and message.get("role") == "assistant":
                told.append(after)
        if told:
            return f"Thought: I now know\nFinal Answer: {told[-1]}" if not self.native else told[-1]
        if not self.native:
            return 'Thought: I write\nAction: send_email\nAction Input: {"to": "ana@example.com"}'
        function = {"name": "send_email", "arguments": '{"to": "ana@example.com"}'}
        return [{"id": "c", "type": "function", "function": function}]


@pytest.fixture(autouse=True)
def hooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("CREWAI_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("CREWAI_TRACING_ENABLED", "false")
    ran.clear()
    gate = CountersignHooks().install()
    yield
    gate.uninstall()


@pytest.fixture(params=[True, False], ids=["native calls", "written calls"])
def native(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def told(native: bool) -> str:
    model = StandIn(model="stand-in", native=native)
    agent = Agent(role="clerk", goal="write", backstory="a clerk", llm=model, tools=[send_email])
    task = Task(description="Write to Ana", expected_output="a word", agent=agent)
    return str(Crew(agents=[agent], tasks=[task], tracing=False).kickoff())


def test_an_approved_call_runs_once(native: bool, running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("approve"):
        assert "sent to ana@example.com" in told(native)
    assert ran == ["ana@example.com"]
    reported = running_daemon.latest()["reported"]
    assert reported["status"] == "ok"
    assert reported["duration_ms"] >= 0


def test_a_denied_call_does_not_run_and_the_model_is_told_why(
    native: bool, running_daemon: DaemonFixture
) -> None:
    with running_daemon.answering("deny", reason="not to Ana"):
        assert "Denied by owner: not to Ana" in told(native)
    assert ran == []


def test_an_edited_call_runs_with_the_edited_arguments(
    native: bool, running_daemon: DaemonFixture
) -> None:
    with running_daemon.answering("approve", edited_arguments={"to": "bob@example.com"}):
        assert "sent to bob@example.com" in told(native)
    assert ran == ["bob@example.com"]


def test_without_a_daemon_nothing_runs(native: bool, no_daemon: None) -> None:
    assert "does not answer" in told(native)
    assert ran == []


def test_an_internal_error_blocks_the_call(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr("countersign.adapters.turns.sync_of", broken)
    assert "Not run" in told(native)
    monkeypatch.setattr(CountersignHooks, "_keep", broken)
    told(native)
    assert ran == []


def test_a_call_blocked_by_another_hook_is_reported_as_skipped(
    native: bool, running_daemon: DaemonFixture
) -> None:
    def no(_: Any) -> bool:
        return False

    register_before_tool_call_hook(no)
    try:
        with running_daemon.answering("approve"):
            told(native)
    finally:
        unregister_before_tool_call_hook(no)
    assert ran == []
    assert running_daemon.latest()["reported"]["status"] == "skipped"
