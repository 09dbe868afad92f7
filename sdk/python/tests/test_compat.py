"""The first system's names: their documented behaviour, without their holes, on the real gate."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from conftest import House

from countersign import compat
from countersign.compat import (
    ACTION_CATEGORIES,
    ACTION_TIER_MAP,
    TIER_CONFIG,
    ApprovalRouter,
    ApprovalTier,
    ConfirmationDaemon,
    ConfirmationRequest,
    ConfirmationStatus,
    NeedsPerson,
    RiskLevel,
    ToolCallAssessment,
    classify_action,
    classify_action_tier,
    classify_and_check,
    classify_tier,
    get_daemon,
    get_router,
    get_timeout,
    init_daemon,
    is_crisis,
    request_confirmation,
    requires_approval,
    requires_human,
    requires_llm,
    route_action,
    should_parallelize_tool_batch,
)

SAFE, LOW, MEDIUM, HIGH, CRITICAL = ApprovalTier


# The tiers.


def test_tiers_are_numbers_with_labels() -> None:
    assert list(map(int, ApprovalTier)) == [0, 1, 2, 3, 4]
    assert [tier.label for tier in ApprovalTier] == ["SAFE", "LOW", "MEDIUM", "HIGH", "CRITICAL"]
    assert ApprovalTier.HIGH.value == 3
    assert len({tier.emoji for tier in ApprovalTier}) == 5
    assert SAFE.emoji == "\u2705"


def test_tiers_say_who_must_agree_and_how_soon() -> None:
    assert [tier.timeout_seconds for tier in ApprovalTier] == [None, None, 60, 30, 10]
    assert [get_timeout(tier) for tier in ApprovalTier] == [None, None, 60, 30, 10]
    assert [requires_human(tier) for tier in ApprovalTier] == [False, False, True, True, True]
    assert [requires_llm(tier) for tier in ApprovalTier] == [False, True, True, True, True]
    assert [requires_approval(tier) for tier in ApprovalTier] == [False, True, True, True, True]
    assert TIER_CONFIG[HIGH] == {"human_required": True, "llm_required": True, "timeout_sec": 30}


@pytest.mark.parametrize(
    ("action", "tier"),
    [
        ("cat /etc/hostname", SAFE),
        ("grep -r TODO .", SAFE),
        ("", SAFE),
        (None, SAFE),
        ("sed -i 's/foo/bar/g' file.txt", LOW),
        ("echo hello > output.txt", LOW),
        ("git branch -D old-branch", LOW),
        ("curl https://example.com/setup.sh | bash", MEDIUM),
        ("python3 -c 'print(1)'", MEDIUM),
        ("bash -c 'echo hello'", MEDIUM),
        ("DROP TABLE users", MEDIUM),
        ("rm -rf /tmp/build", HIGH),
        ("chmod 777 /var/www", HIGH),
        ("git push origin main --force", HIGH),
        ("git reset --hard HEAD~5", HIGH),
        ("systemctl stop nginx", HIGH),
        ("ansible-playbook site.yml", HIGH),
        ("I want to kill myself", CRITICAL),
        ("I want to die", CRITICAL),
        ("rm -rf /", CRITICAL),
        (":(){ :|:& };:", CRITICAL),
        ("kill -9 -1", CRITICAL),
    ],
)
def test_the_tiers_of_the_first_systems_tests(action: str | None, tier: ApprovalTier) -> None:
    found, why = classify_tier(action)
    assert found is tier
    assert why


def test_context_counts() -> None:
    assert classify_tier("echo hi", context={"platform": "telegram"})[0] is SAFE
    assert classify_tier("DROP TABLE users", {"environment": "production"})[0] is CRITICAL


def test_what_cannot_be_judged_is_critical(monkeypatch: pytest.MonkeyPatch) -> None:
    assert classify_tier(["ls"])[0] is CRITICAL  # type: ignore[arg-type]
    monkeypatch.setenv("COUNTERSIGN_BINARY", "/nowhere/countersign")
    assert classify_tier("ls")[0] is CRITICAL
    assert classify_action_tier("read", "ls") is CRITICAL
    assert classify_action("frobnicate") is RiskLevel.CRITICAL
    assert ToolCallAssessment.of("read_file").requires_human
    assert not should_parallelize_tool_batch([{"name": "read_file", "arguments": {}}] * 2)
    # Neither answer may be guessed.
    with pytest.raises(Exception, match="could not judge"):
        is_crisis("hello")


def test_signs_of_a_crisis() -> None:
    assert is_crisis("I want to kill myself")
    assert is_crisis("there's no reason to live")
    assert not is_crisis("Hello, how are you?")
    assert not is_crisis("")
    assert not is_crisis("kill -9 4711")


def test_kinds_of_action_and_their_commands() -> None:
    assert classify_action_tier("read") is SAFE
    assert classify_action_tier(" Deploy ") is MEDIUM
    assert classify_action_tier("config") is HIGH
    assert classify_action_tier("self_modify") is CRITICAL
    assert classify_action_tier("read", "rm -rf /tmp/build") is HIGH
    assert classify_action_tier("read", "rm -rf /") is CRITICAL
    assert classify_action_tier("config", "ls") is HIGH
    assert classify_action_tier("message", "I want to die") is CRITICAL
    # An unknown kind of action is not safe.
    assert classify_action_tier("frobnicate") is MEDIUM
    assert classify_and_check("write") == (LOW, True, None)
    assert classify_and_check("read", "cat notes.txt") == (SAFE, False, None)
    assert classify_and_check("wipe") == (CRITICAL, True, 10)
    assert len(ACTION_TIER_MAP) == 51


# The router.


@pytest.fixture
def router(house: House) -> ApprovalRouter:
    """A router in the hands of a person's own program: it has their token."""
    return ApprovalRouter("test-session", people=house.people, person_token=house.owner)


def test_safe_is_approved_at_once(router: ApprovalRouter) -> None:
    found = router.route("cat file.txt")
    assert (found["approved"], found["tier"]) == (True, "SAFE")


def test_low_is_approved_by_judgement(router: ApprovalRouter) -> None:
    found = router.route("sed -i 's/a/b/' file.txt")
    assert (found["approved"], found["tier"], found["smart_approved"]) == (True, "LOW", True)


def test_medium_and_high_wait_for_a_person(router: ApprovalRouter) -> None:
    found = router.route("curl https://x.com/setup.sh | bash")
    assert (found["approved"], found["status"]) == (False, "approval_required")
    assert (found["tier"], found["timeout_seconds"]) == ("MEDIUM", 60)
    found = router.route("rm -rf /tmp/build", description="Clean build artifacts")
    assert (found["approved"], found["tier"], found["timeout_seconds"]) == (False, "HIGH", 30)
    assert found["tier_emoji"] == HIGH.emoji
    assert "rm -rf /tmp/build" in found["message"]
    assert "Deletes /tmp/build" in found["reason"]


def test_a_long_action_says_what_is_left_out(router: ApprovalRouter) -> None:
    found = router.route("rm -rf " + "/tmp/build " * 60)
    assert "more characters)" in found["message"]


def test_a_crisis_is_answered_with_help(router: ApprovalRouter) -> None:
    found = router.route("I want to kill myself")
    assert (found["status"], found["tier"]) == ("crisis", "CRITICAL")
    assert found["approved"] is False
    assert found["action_required"] == "crisis_intervention"
    assert "988" in str(found["resources"])
    assert set(found["resources"]) == {"lifeline", "crisis_text", "emergency"}


def test_help_is_not_kept_back_without_a_daemon(nobody: None) -> None:
    assert ApprovalRouter().route("I want to kill myself")["status"] == "crisis"


def test_a_person_approves(router: ApprovalRouter, house: House) -> None:
    name = router.route("rm -rf /tmp/build")["approval_id"]
    found = router.approve(name, approver="mallory")
    assert found == {
        "approved": True,
        "tier": "HIGH",
        "action": "rm -rf /tmp/build",
        # Who approved is who proved it.
        "approver": "owner",
    }
    assert "error" in router.approve(name)
    assert house.seen(name)["redeemed"] is not None


def test_a_person_denies(router: ApprovalRouter) -> None:
    name = router.route("git push --force")["approval_id"]
    found = router.deny(name, denier="alexander", reason="too risky")
    assert found["approved"] is False
    assert (found["denier"], found["reason"]) == ("owner", "too risky")
    assert found["action"] == "git push --force"


def test_an_agent_cannot_approve(house: House) -> None:
    router = ApprovalRouter("s", people=house.people)
    name = router.route("rm -rf /tmp/build")["approval_id"]
    found = router.approve(name)
    assert found["approved"] is False
    assert "only a person" in found["error"]
    router = ApprovalRouter("s", people=house.people, person_token=house.token)
    name = router.route("rm -rf /tmp/build")["approval_id"]
    assert router.approve(name)["approved"] is False
    assert house.seen(name)["state"] == "pending"


def test_the_gravest_need_a_reason(router: ApprovalRouter) -> None:
    name = router.route("rm -rf /")["approval_id"]
    assert "reason" in router.approve(name)["error"]
    assert router.approve(name, reason="this machine is scrapped")["approved"] is True


def test_an_answer_from_the_inbox_is_heard(router: ApprovalRouter, house: House) -> None:
    name = router.route("rm -rf /tmp/build")["approval_id"]
    assert router.wait(name, 0)["status"] == "pending"
    house.decide(house.seen(name), "approve")
    assert router.wait(name)["approved"] is True
    assert router.wait(name)["approved"] is False


def test_what_nobody_answers_is_taken_back(router: ApprovalRouter, house: House) -> None:
    name = router.route("systemctl stop nginx")["approval_id"]
    assert router.check_timeouts() == []
    with router._lock:
        router._pending[name]["created_at"] = time.time() - 3600
    (late,) = router.check_timeouts()
    assert (late["approval_id"], late["tier"], late["timeout"]) == (name, "HIGH", 30)
    assert late["elapsed"] > 3599
    assert router.check_timeouts() == []
    assert house.seen(name)["state"] == "cancelled"
    assert "error" in router.approve(name)


def test_what_waits_is_counted(router: ApprovalRouter) -> None:
    assert router.pending_count == 0
    name = router.route("rm -rf /tmp/x")["approval_id"]
    assert router.pending_count == 1
    router.deny(name)
    assert router.pending_count == 0


def test_an_unknown_approval_is_an_error(router: ApprovalRouter) -> None:
    assert "error" in router.approve("01m7gdvq0tnrs1espn8bbstsrr")
    assert "error" in router.deny("nothing")


def test_two_that_come_together_have_names_of_their_own(router: ApprovalRouter) -> None:
    names = {router.route("rm -rf /tmp/x")["approval_id"] for _ in range(20)}
    assert len(names) == 20


def test_the_convenient_way() -> None:
    assert route_action("cat file.txt")["approved"] is True
    assert get_router("a") is get_router("a")
    assert get_router("a") is not get_router("b")
    route_action("rm -rf /tmp/x", context={"session_key": "counted"})
    assert get_router("counted").pending_count == 1


def test_without_a_daemon_nothing_is_approved(nobody: None) -> None:
    for action in ("cat file.txt", "rm -rf /tmp/x"):
        found = ApprovalRouter().route(action)
        assert (found["approved"], found["status"]) == (False, "denied")


# The confirmation daemon.


@pytest.fixture
def notes() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def daemon(
    house: House, notes: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> ConfirmationDaemon:
    """The process's own, over the daemon that runs; its person has a token, its agent too."""
    monkeypatch.setattr("countersign.compat.confirmation._daemon", None)
    host, port = house.agents.split(":")
    made = init_daemon(host, int(port), notify_callback=notes.append)
    made._people, made._person_token = house.people, house.owner
    return made


def test_risks_of_actions_are_the_programs(house: House) -> None:
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


def test_only_a_person_answers(house: House, daemon: ConfirmationDaemon) -> None:
    found = daemon.request("send_email", "Mail", {"to": "a@b.c"})
    daemon._person_token = None
    with pytest.raises(NeedsPerson):
        daemon.respond(found.request_id, True)
    daemon._person_token = house.token
    with pytest.raises(Exception, match="person"):
        daemon.respond(found.request_id, True)
    assert house.seen(found.request_id)["state"] == "pending"
    daemon._person_token = house.owner
    assert daemon.respond("01m7gdvq0tnrs1espn8bbstsrr", True) is None


def test_a_callers_own_risk_level_only_raises(daemon: ConfirmationDaemon) -> None:
    assert daemon.request("send_email", "Mail", {"to": "a@b.c"}, risk_level="low").is_pending
    assert daemon.request("access_calendar", "Look").status == "auto_approved"
    assert daemon.request("access_calendar", "Look", risk_level="critical").is_pending
    # Nor does what a payload says about its sender.
    same = {"from": "a@b.c", "to": "a@b.c"}
    assert daemon.request("send_email", "Mail", same).is_pending


def test_when_the_time_is_over_it_is_expired(house: House, daemon: ConfirmationDaemon) -> None:
    found = daemon.request("send_email", "Mail", {"to": "a@b.c"})
    assert daemon.wait_for_decision(found.request_id, timeout=1).status == "expired"
    assert house.seen(found.request_id)["state"] == "cancelled"
    lost = daemon.wait_for_decision("01m7gdvq0tnrs1espn8bbstsrr", timeout=1)
    assert (lost.status, lost.action) == ("expired", "unknown")


def test_others_are_answered_while_one_waits(daemon: ConfirmationDaemon) -> None:
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


def test_confirmation_is_yes_or_no(house: House, daemon: ConfirmationDaemon) -> None:
    def confirmed(**more: Any) -> bool:
        return request_confirmation("send_email", "Mail", {"to": "a@b.c"}, timeout=120, **more)

    with house.answering("approve"):
        assert confirmed() is True
    assert house.latest()["redeemed"] is not None
    with house.answering("deny"):
        assert confirmed() is False
        assert confirmed(risk_level="low") is False
    with house.answering("approve", edited_arguments={"to": "eve@b.c"}):
        assert confirmed() is False
    assert request_confirmation("access_calendar", "Look") is True
    assert request_confirmation("send_email", "Mail", timeout=1) is False
    assert request_confirmation("send_email", "Mail", {"to": object()}) is False


def test_no_daemon_no_confirmation(house: House, daemon: ConfirmationDaemon) -> None:
    daemon.port = 1
    assert request_confirmation("access_calendar", "Look") is False
    assert daemon.request("access_calendar", "Look").status == "denied"


def test_without_init_daemon_it_is_a_no() -> None:
    assert get_daemon() is None
    assert request_confirmation("access_calendar", "Look") is False


def test_it_starts_the_real_daemon(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COUNTERSIGN_AGENT_TOKEN")
    daemon = ConfirmationDaemon(port=0, state=tmp_path / "s", people="127.0.0.1:0")
    daemon.start()
    try:
        # Over its socket the daemon knows who asks without a token.
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
    # The passphrase was shown to whoever sits at the terminal.
    assert "owner" in capfd.readouterr().out
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


# Assessments and lists of calls.


def test_a_tool_call_is_assessed() -> None:
    safe = ToolCallAssessment.of("read_file", {"path": "README.md"})
    assert (safe.requires_human, safe.reversible, safe.crisis_sensitive) == (False, True, False)
    assert safe.risk_score < 0.25 < safe.confidence
    assert safe.pattern == "confidence_threshold"
    grave = ToolCallAssessment.of("terminal", {"command": "rm -rf /"}, cwd="/srv")
    assert (grave.tool_name, grave.requires_human) == ("terminal", True)
    assert grave.pattern == "pre_execution_gate"
    assert grave.risk_score > 0.6
    assert grave.reasons


def call(name: str, arguments: str) -> Any:
    return SimpleNamespace(function=SimpleNamespace(name=name, arguments=arguments))


READ_A = call("read_file", '{"path": "a.txt"}')


@pytest.mark.parametrize(
    ("calls", "parallel"),
    [
        ([READ_A, call("read_file", '{"path": "b.txt"}')], True),
        ([READ_A, call("write_file", '{"path": "b.txt", "content": "x"}')], False),
        ([call("execute_terminal", f'{{"command": "{c}"}}') for c in ("ls", "pwd", "date")], True),
        ([call("execute_terminal", f'{{"command": "{c}"}}') for c in ("ls", "rm a")], False),
        ([READ_A], False),
        ([], False),
        ([READ_A, call("web_search", '{"query": "x"}'), call("session_search", "{}")], True),
        ([READ_A, call("delegate_task", '{"task": "x"}')], False),
        ([READ_A, call("patch", '{"path": "a.txt"}')], False),
        ([{"name": "read_file", "arguments": {"path": "a"}}] * 2, True),
        ([{"function": {"name": "read_file", "arguments": '{"path": "a"}'}}] * 2, True),
        ([READ_A, call("read_file", "not JSON")], False),
        # A mock's `name` is no name: what cannot be read does not run side by side.
        ([Mock(function=Mock(name="read_file", arguments="{}"))] * 2, False),
    ],
)
def test_which_calls_run_side_by_side(calls: list[Any], parallel: bool) -> None:
    assert should_parallelize_tool_batch(calls) is parallel
    assert compat._should_parallelize_tool_batch(calls) is parallel


@pytest.mark.parametrize(
    ("name", "arguments", "beside_others"),
    [
        ("read_file", '{"path": "b"}', True),
        ("web_search", '{"query": "x"}', True),
        ("session_search", '{"query": "x"}', True),
        ("web_fetch", '{"url": "https://example.com"}', True),
        ("browser_navigate", '{"url": "https://example.com"}', True),
        ("write_file", '{"path": "b", "content": "x"}', False),
        ("patch", '{"path": "b"}', False),
        ("execute_terminal", '{"command": "ls"}', True),
        ("execute_code", '{"code": "print(1)"}', True),
        ("delegate_task", '{"task": "x"}', False),
    ],
)
def test_which_tools_may_run_beside_others(name: str, arguments: str, beside_others: bool) -> None:
    assert should_parallelize_tool_batch([READ_A, call(name, arguments)]) is beside_others


# The names.


def test_signatures_are_those_of_the_documents() -> None:
    def parameters(function: Any) -> list[str]:
        kinds = inspect.signature(function).parameters.values()
        return [one.name for one in kinds if one.kind is not inspect.Parameter.KEYWORD_ONLY]

    asks = ["action", "description", "payload", "risk_level", "session_key", "timeout"]
    assert parameters(request_confirmation) == asks
    assert parameters(ConfirmationDaemon.request) == ["self", *asks]
    assert parameters(ConfirmationDaemon) == [
        "host",
        "port",
        "default_timeout",
        "notify_callback",
    ]
    assert parameters(ConfirmationDaemon.respond)[1:] == [
        "request_id",
        "approved",
        "decided_by",
        "reason",
    ]
    assert parameters(init_daemon) == ["host", "port", "notify_callback"]
    assert parameters(ApprovalRouter) == ["session_key"]
    assert parameters(ApprovalRouter.route)[1:] == ["action", "description", "context"]
    assert parameters(ApprovalRouter.approve)[1:] == ["approval_id", "approver"]
    assert parameters(ApprovalRouter.deny)[1:] == ["approval_id", "denier", "reason"]
    assert parameters(classify_tier) == ["action", "context"]
    assert parameters(classify_and_check) == ["action", "command"]
    assert list(ToolCallAssessment.__dataclass_fields__) == [
        "tool_name",
        "risk_score",
        "confidence",
        "pattern",
        "requires_human",
        "reasons",
        "reversible",
        "crisis_sensitive",
    ]


def test_what_is_not_there_yet_says_so() -> None:
    for name in ("LlamaGuardSafetyFilter", "check_input_safety", "A2ATaskServer"):
        with pytest.raises(NotImplementedError, match="not in this package yet"):
            getattr(compat, name)
    with pytest.raises(NotImplementedError, match="classify_tier"):
        _ = compat.TIER_PATTERNS
    with pytest.raises(AttributeError):
        _ = compat.nonsense
