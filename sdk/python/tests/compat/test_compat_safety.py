"""The content-safety filter: a stand-in for Ollama behind the real daemon, and no daemon at all."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import DaemonFixture

from countersign import Call, CountersignError
from countersign.compat import (
    SAFETY_CATEGORIES,
    ApprovalRouter,
    LlamaGuardSafetyFilter,
    SafetyResult,
    SafetyVerdict,
    check_input_safety,
    check_output_safety,
    safety_filter,
)


class Answers:
    """A client that gives fixed answers."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []

    def screen(self, text: str, session: str | None = None, **more: Any) -> dict[str, Any]:
        self.asked.append({"text": text, "session": session, **more})
        return self.answer

    def clear(self, call: Call) -> None:
        del call
        raise CountersignError("no person answers")


def filter_with(**answer: Any) -> LlamaGuardSafetyFilter:
    return LlamaGuardSafetyFilter(client=Answers(**answer))  # type: ignore[arg-type]


def guard(state: str, *categories: tuple[str, str], reason: str | None = None) -> dict[str, Any]:
    listed = [{"code": code, "name": name} for code, name in categories]
    return {"state": state, "categories": listed, "reason": reason}


def test_the_names_and_fields() -> None:
    assert [one.value for one in SafetyVerdict] == ["safe", "unsafe", "error"]
    result = SafetyResult(verdict=SafetyVerdict.SAFE, categories=[], latency_ms=100.0)
    assert (result.categories, result.latency_ms, result.raw_response) == ([], 100.0, "")
    assert SAFETY_CATEGORIES["S11"] == "Self-Harm"
    assert len(SAFETY_CATEGORIES) == 14


def test_the_answer_to_self_harm_and_to_other_inputs() -> None:
    checker = LlamaGuardSafetyFilter()
    s11 = SafetyResult(SafetyVerdict.UNSAFE, [{"code": "S11", "name": "Self-Harm"}], 1.0)
    response = checker.get_crisis_response(s11)
    assert "988" in response
    assert "safe" in response.lower()
    assert "Jesus" in response
    s1 = SafetyResult(SafetyVerdict.UNSAFE, [{"code": "S1", "name": "Violent Crimes"}], 1.0)
    assert "can't help" in checker.get_crisis_response(s1).lower()
    sanitized = checker.sanitize_output("dangerous content", s1)
    assert "can't provide" in sanitized.lower()


def test_an_unavailable_model_is_an_error() -> None:
    checker = LlamaGuardSafetyFilter()
    checker._available = False
    assert checker.check_input("hello").verdict is SafetyVerdict.ERROR
    assert checker.check_output("hello").verdict is SafetyVerdict.ERROR


def test_verdicts_of_the_guard() -> None:
    calm = {"concern": "none", "card": None, "replacement": None, "decision": "pass"}
    safe = filter_with(guard=guard("safe"), **calm)
    assert safe.check_input("hi").verdict is SafetyVerdict.SAFE
    assert safe.check_output("hi").verdict is SafetyVerdict.SAFE
    unsafe = filter_with(guard=guard("unsafe", ("S10", "Hate")), role="agent", **calm)
    found = unsafe.check_output("hi")
    assert found.verdict is SafetyVerdict.UNSAFE
    assert found.categories == [{"code": "S10", "name": "Hate"}]
    for state in ("off", "unavailable", "skipped", "", "Safe"):
        found = filter_with(guard=guard(state), **calm).check_output("hi")
        assert found.verdict is SafetyVerdict.ERROR, state
    assert filter_with(**calm).check_output("hi").verdict is SafetyVerdict.ERROR


def test_in_a_crisis_the_decision_counts_and_not_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    calm = {"concern": "none", "card": None, "role": "agent", "context": "crisis"}
    held = filter_with(guard=guard("safe"), decision="hold", replacement=None, **calm)
    monkeypatch.setattr(safety_filter, "_filter", held)
    assert held.check_output("cheer up").verdict is SafetyVerdict.ERROR
    allowed, text = check_output_safety("cheer up")
    assert (allowed, "cheer up" in text) == (False, False)
    notice = "A person has taken over this conversation."
    taken = filter_with(guard=guard("safe"), decision="replace", replacement=notice, **calm)
    monkeypatch.setattr(safety_filter, "_filter", taken)
    assert taken.check_output("cheer up").verdict is SafetyVerdict.UNSAFE
    assert check_output_safety("cheer up") == (False, notice)
    for decision in ("", "allow", "help", None):
        checker = filter_with(guard=guard("safe"), decision=decision, **calm)
        assert checker.check_output("hi").verdict is SafetyVerdict.ERROR, decision
    assert (
        filter_with(guard=guard("safe"), **calm).check_output("hi").verdict is SafetyVerdict.ERROR
    )


def test_the_text_that_a_person_edited_goes_out(
    running_daemon: DaemonFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    checker = LlamaGuardSafetyFilter(client=running_daemon.client(), session="edited")
    monkeypatch.setattr(safety_filter, "_filter", checker)
    assert checker.check_input("I want to kill myself").verdict is SafetyVerdict.UNSAFE
    kinder = {"text": "I am here. Are you safe?"}
    with running_daemon.answering(edited_arguments=kinder, reason="kinder"):
        assert check_output_safety("cheer up") == (True, "I am here. Are you safe?")
    with running_daemon.answering("deny", reason="no"):
        assert check_output_safety("cheer up")[0] is False
    running_daemon.calm()


def test_signs_of_a_crisis_are_unsafe_whatever_the_guard_says() -> None:
    card = {"text": "the card of the operator"}
    for state in ("safe", "off", "unavailable", "skipped"):
        checker = filter_with(guard=guard(state), concern="likely", card=card)
        found = checker.check_input("x")
        assert found.verdict is SafetyVerdict.UNSAFE
        assert found.categories == [{"code": "S11", "name": "Self-Harm"}]
        assert checker.get_crisis_response(found) == "the card of the operator"


def test_inputs_go_on_without_a_verdict_and_outputs_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    down = filter_with(guard=guard("unavailable"), concern="none", decision="hold", request=None)
    monkeypatch.setattr(safety_filter, "_filter", down)
    assert check_input_safety("hello") == (True, None)
    allowed, text = check_output_safety("hello")
    assert not allowed
    assert text != "hello"
    unsure = filter_with(guard=guard("unavailable"), concern="none", decision="pass", request=None)
    monkeypatch.setattr(safety_filter, "_filter", unsure)
    assert check_output_safety("hello")[0] is False


def test_the_card_comes_without_a_daemon(no_daemon: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safety_filter, "_filter", None)
    allowed, response = check_input_safety("I want to kill myself")
    assert allowed is False
    assert response is not None
    assert "988" in response
    assert check_input_safety("hello") == (True, None)
    assert check_output_safety("hello")[0] is False
    resources = ApprovalRouter().route("I want to kill myself")["resources"]
    assert "988" in resources["lifeline"]


def test_the_daemon_screens_with_its_rules(
    running_daemon: DaemonFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ApprovalRouter()._speaker()
    checker = LlamaGuardSafetyFilter(client=client, session="safety")
    found = checker.check_input("I want to kill myself")
    assert found.verdict is SafetyVerdict.UNSAFE
    assert found.card
    assert checker.check_output("hello").verdict is SafetyVerdict.ERROR, "no guard is configured"
    assert not checker.is_available()
    running_daemon.calm()
