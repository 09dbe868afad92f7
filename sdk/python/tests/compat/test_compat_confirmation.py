"""The first system's confirmation daemon, as the real one."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import DaemonFixture

from countersign.compat import (
    ACTION_CATEGORIES,
    ConfirmationDaemon,
    ConfirmationRequest,
    ConfirmationStatus,
    NeedsPerson,
    RiskLevel,
    ToolCallAssessment,
    classify_action,
    get_daemon,
    init_daemon,
    request_confirmation,
)


@pytest.fixture
def notes() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def daemon(
    running_daemon: DaemonFixture, notes: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> ConfirmationDaemon:
    """The process's own, over the daemon that runs; its person has a token, its agent too."""
    monkeypatch.setattr("countersign.compat.daemon._daemon", None)
    host, port = running_daemon.agents.split(":")
    made = init_daemon(host, int(port), notify_callback=notes.append)
    made._people, made._person_token = running_daemon.people, running_daemon.owner
    return made


def test_action_risks_equal_the_programs(running_daemon: DaemonFixture) -> None:
    assert len(ACTION_CATEGORIES) == 23
    for action, level in ACTION_CATEGORIES.items():
        assert classify_action(action) is level
        assert ToolCallAssessment.of(action).risk_score * 4 >= list(RiskLevel).index(level) + 1
    assert classify_action("frobnicate") is RiskLevel.MEDIUM
    assert RiskLevel("high") is RiskLevel.HIGH


def test_a_request_waits_and_a_person_answers(
    daemon: ConfirmationDaemon, notes: list[dict[str, Any]]
) -> None:
    assert get_daemon() is daemon
    found = daemon.request("send_email", "Mail Ana", {"to": "ana@example.com"}, session_key="s9")
    assert (found.status, found.risk_level, found.session_key) == ("pending", "high", "s9")
    assert found.is_pending
    assert 290 < found.expires_at - time.time() <= 301
    assert [note["request_id"] for note in notes] == [found.request_id]
    (waits,) = daemon.get_pending()
    assert waits["request_id"] == found.request_id
    assert waits["payload"] == {"to": "ana@example.com"}
    assert waits["is_pending"] is True
    assert daemon.respond(found.request_id, True, decided_by="mallory", reason="fine") is not None
    decided = daemon.wait_for_decision(found.request_id)
    assert (decided.status, decided.decided_by, decided.reason) == ("approved", "owner", "fine")
    assert decided.to_dict()["is_pending"] is False
    assert daemon.get_history(limit=1)[0]["request_id"] == found.request_id
    assert daemon.get_pending() == []
    # The first answer stands.
    again = daemon.respond(found.request_id, False)
    assert again is not None
    assert again.status == "approved"


def test_only_a_person_answers(running_daemon: DaemonFixture, daemon: ConfirmationDaemon) -> None:
    found = daemon.request("send_email", "Mail", {"to": "a@b.c"})
    daemon._person_token = None
    with pytest.raises(NeedsPerson):
        daemon.respond(found.request_id, True)
    daemon._person_token = running_daemon.token
    with pytest.raises(Exception, match="person"):
        daemon.respond(found.request_id, True)
    assert running_daemon.seen(found.request_id)["state"] == "pending"
    daemon._person_token = running_daemon.owner
    assert daemon.respond("01m7gdvq0tnrs1espn8bbstsrr", True) is None


def test_a_callers_own_risk_level_only_raises(daemon: ConfirmationDaemon) -> None:
    assert daemon.request("send_email", "Mail", {"to": "a@b.c"}, risk_level="low").is_pending
    assert daemon.request("access_calendar", "Look").status == "auto_approved"
    assert daemon.request("access_calendar", "Look", risk_level="critical").is_pending
    # Nor does what a payload says about its sender.
    same = {"from": "a@b.c", "to": "a@b.c"}
    assert daemon.request("send_email", "Mail", same).is_pending


def test_a_request_expires_at_its_deadline(
    running_daemon: DaemonFixture, daemon: ConfirmationDaemon
) -> None:
    found = daemon.request("send_email", "Mail", {"to": "a@b.c"})
    assert daemon.wait_for_decision(found.request_id, timeout=1).status == "expired"
    assert running_daemon.seen(found.request_id)["state"] == "cancelled"
    lost = daemon.wait_for_decision("01m7gdvq0tnrs1espn8bbstsrr", timeout=1)
    assert (lost.status, lost.action) == ("expired", "unknown")


def test_other_requests_are_answered_during_a_wait(daemon: ConfirmationDaemon) -> None:
    found = daemon.request("send_email", "Mail", {"to": "a@b.c"})
    answers: list[ConfirmationRequest] = []
    thread = threading.Thread(
        target=lambda: answers.append(daemon.wait_for_decision(found.request_id, 120))
    )
    thread.start()
    assert daemon.request("access_calendar", "Look").status == "auto_approved"
    daemon.respond(found.request_id, True)
    thread.join(120)
    assert answers[0].status == ConfirmationStatus.APPROVED.value


def test_confirmation_returns_a_bool(
    running_daemon: DaemonFixture, daemon: ConfirmationDaemon
) -> None:
    def confirmed(**more: Any) -> bool:
        return request_confirmation("send_email", "Mail", {"to": "compat@b.c"}, timeout=120, **more)

    with running_daemon.answering("approve"):
        assert confirmed() is True
    assert running_daemon.latest()["redeemed"] is not None
    with running_daemon.answering("deny"):
        assert confirmed() is False
        assert confirmed(risk_level="low") is False
    with running_daemon.answering("approve", edited_arguments={"to": "eve@b.c"}):
        assert confirmed() is False
    assert request_confirmation("access_calendar", "Look") is True
    assert request_confirmation("send_email", "Mail", timeout=1) is False
    assert request_confirmation("send_email", "Mail", {"to": object()}) is False


def test_no_daemon_no_confirmation(
    running_daemon: DaemonFixture, daemon: ConfirmationDaemon
) -> None:
    daemon.port = 1
    assert request_confirmation("access_calendar", "Look") is False
    assert daemon.request("access_calendar", "Look").status == "denied"


def test_without_init_daemon_it_denies() -> None:
    assert get_daemon() is None
    assert request_confirmation("access_calendar", "Look") is False


def test_it_starts_the_real_daemon(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COUNTERSIGN_AGENT_TOKEN")
    daemon = ConfirmationDaemon(port=0, state=tmp_path / "s", people="127.0.0.1:0")
    daemon.start()
    try:
        # Over its socket the daemon knows who gate without a token.
        assert daemon.request("access_calendar", "Look").status == "auto_approved"
        found = daemon.request("send_email", "Mail", {"to": "a@b.c"})
        assert found.is_pending
        second = ConfirmationDaemon(port=daemon.port, state=tmp_path / "s")
        asyncio.run(second.start_async())
        assert second._process is None
        asyncio.run(second.stop_async())
        assert [one["request_id"] for one in second.get_pending()] == [found.request_id]
    finally:
        daemon.stop()
    # This output is no terminal: it gets no passphrase, and a person is created later.
    assert "service first-passphrase" in capfd.readouterr().out
    assert daemon.request("access_calendar", "Look").status == "denied"
    # What waited still waits after a restart.
    daemon.start()
    try:
        assert [one["request_id"] for one in daemon.get_pending()] == [found.request_id]
    finally:
        daemon.stop()


def test_a_daemon_that_cannot_start_says_so(tmp_path: Path) -> None:
    daemon = ConfirmationDaemon(port=0, state=tmp_path, config=tmp_path / "missing.toml")
    with pytest.raises(Exception, match="did not start"):
        daemon.start()


def test_a_request_by_itself() -> None:
    found = ConfirmationRequest("", "send_email", "Mail", "high", {})
    assert found.request_id
    assert found.is_pending
    assert 299 < found.expires_at - found.created_at <= 300
    found.expires_at = time.time() - 1
    assert found.is_expired
    assert not found.is_pending
    assert set(found.to_dict()) >= {"request_id", "is_expired", "is_pending", "decided_by"}
