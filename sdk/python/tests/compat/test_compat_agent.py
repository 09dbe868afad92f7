"""An agent written for the first system, of which only the import lines were changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from conftest import DaemonFixture

AGENT = '''
from countersign.compat import ConfirmationDaemon, init_daemon, request_confirmation
from countersign.compat import classify_action, RiskLevel
from countersign.compat import ApprovalRouter, classify_tier, is_crisis
from countersign.compat import _should_parallelize_tool_batch


class Agent:
    """Reads, mails and runs commands, and gate where the first system asked."""

    def __init__(self, host, port):
        self.daemon = init_daemon(host=host, port=port)
        self.daemon.start()
        self.router = ApprovalRouter(session_key="my-session")
        self.done = []

    def mail(self, to, subject):
        if classify_action("send_email") in (RiskLevel.HIGH, RiskLevel.CRITICAL):
            approved = request_confirmation(
                action="send_email",
                description=f"Send email to {to}",
                risk_level="high",
                payload={"to": to, "subject": subject},
                timeout=20,
            )
            if not approved:
                return "I was not allowed to send it."
        self.done.append(f"mail to {to}")
        return "Sent."

    def command(self, command, description=""):
        tier, reason = classify_tier(command)
        result = self.router.route(command, description=description)
        if result["approved"]:
            self.done.append(command)
            return "Done."
        if result["status"] == "crisis":
            return str(result["resources"])
        return f"{tier.emoji} {tier.label}: {reason}; {result['approval_id']}"

    def turn(self, tool_calls):
        side_by_side = _should_parallelize_tool_batch(tool_calls)
        results = []
        for call in tool_calls:
            try:
                results.append(self.tool(call.function.name))
            except Exception as error:
                results.append(f"error: {error}")
        return side_by_side, results

    def tool(self, name):
        if name == "web_search":
            raise ConnectionError("no network")
        return name
'''


@pytest.fixture
def agent(running_daemon: DaemonFixture, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("countersign.compat.daemon._daemon", None)
    names: dict[str, Any] = {}
    exec(compile(AGENT, "agent", "exec"), names)  # noqa: S102
    host, port = running_daemon.agents.split(":")
    return names["Agent"](host, int(port))


def test_it_sends_mail_only_after_approval(agent: Any, running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("approve") as asked:
        assert agent.mail("alice@example.com", "Meeting notes") == "Sent."
    assert [one["description"] for one in asked] == ["Send email to alice@example.com"]
    with running_daemon.answering("deny"):
        assert agent.mail("eve@example.com", "Meeting notes") == "I was not allowed to send it."
    assert agent.done == ["mail to alice@example.com"]


def test_it_runs_harmless_commands_and_waits_for_the_others(agent: Any) -> None:
    assert agent.command("cat notes.txt") == "Done."
    said = agent.command("rm -rf /tmp/build", description="Clean build artifacts")
    assert "HIGH" in said
    assert agent.router.pending_count == 1
    assert agent.done == ["cat notes.txt"]
    # It holds no person's credential, so it cannot answer itself.
    answer = agent.router.approve(said.rsplit("; ", 1)[1], approver="the agent")
    assert answer["approved"] is False
    assert agent.router.pending_count == 1


def test_it_shows_help_to_a_person_in_danger(agent: Any) -> None:
    assert "988" in agent.command("I want to kill myself")
    assert agent.done == []


def test_results_keep_their_order_after_a_failure(agent: Any) -> None:
    calls = [
        SimpleNamespace(function=SimpleNamespace(name=name, arguments=arguments))
        for name, arguments in (
            ("read_file", '{"path": "a.txt"}'),
            ("web_search", '{"query": "x"}'),
            ("session_search", '{"query": "y"}'),
        )
    ]
    side_by_side, results = agent.turn(calls)
    assert side_by_side is True
    assert results == ["read_file", "error: no network", "session_search"]
