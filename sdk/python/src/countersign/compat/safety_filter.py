"""The content-safety filter of the original system, backed by the daemon's guard model.

Without a verdict of the model an input goes on with the crisis rules, and an output does not go out
until a person has approved it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .. import program
from ..call import Call
from ..client import Client
from ..errors import CountersignError

#: The categories of Llama Guard 3, with the names of its prompt.
SAFETY_CATEGORIES = {
    "S1": "Violent Crimes",
    "S2": "Non-Violent Crimes",
    "S3": "Sex Crimes",
    "S4": "Child Exploitation",
    "S5": "Defamation",
    "S6": "Specialized Advice",
    "S7": "Privacy",
    "S8": "Intellectual Property",
    "S9": "Indiscriminate Weapons",
    "S10": "Hate",
    "S11": "Self-Harm",
    "S12": "Sexual Content",
    "S13": "Elections",
    "S14": "Code Interpreter Abuse",
}
_SELF_HARM = {"code": "S11", "name": SAFETY_CATEGORIES["S11"]}
_REFUSAL = "I can't help with that. Is there another question that I can help with?"
_REPLACEMENT = (
    "I apologize, but I can't provide that response. Is there another way in which I can help you?"
)
#: A text whose card is the whole one: it is only used to get the card.
_SIGN = "I want to kill myself tonight"


class SafetyVerdict(Enum):
    """What is known about a text. ``ERROR`` means that nothing is known."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    ERROR = "error"


@dataclass
class SafetyResult:
    """The result of a check."""

    verdict: SafetyVerdict
    categories: list[dict[str, str]]
    latency_ms: float
    raw_response: str = ""
    #: The card to show, if there are signs of a crisis.
    card: str | None = field(default=None, compare=False)
    #: What the daemon sends instead of the text.
    replacement: str | None = field(default=None, compare=False)


class LlamaGuardSafetyFilter:
    """Checks what people write and what the agent answers.

    ``model`` and ``ollama_url`` are those of the original interface. The section ``[guard]`` of the
    daemon decides which model is asked, because an agent must not choose its own guard.
    """

    def __init__(
        self,
        model: str = "llama-guard3:8b",
        ollama_url: str = "http://localhost:11434",
        *,
        client: Client | None = None,
        session: str = "default",
    ) -> None:
        self.model = model
        self.ollama_url = ollama_url
        #: Set to ``False`` to act as if there were no guard model; nothing else sets it.
        self._available: bool | None = None
        self._client = client
        self._session = session

    def is_available(self) -> bool:
        """Whether the guard model gives a verdict now. Never remembered."""
        if self._available is not None:
            return self._available
        return self.check_output("hello").verdict is not SafetyVerdict.ERROR

    def check_input(self, message: str) -> SafetyResult:
        """Checks what a person wrote. Signs of a crisis count as unsafe (``S11``)."""
        started = time.monotonic()
        if self._available is False:
            return _error(started, "the guard model is not available")
        try:
            found = self._speaker().screen(message, self._session)
        except CountersignError as error:
            return self._by_rules(message, started, str(error))
        return _result(found, started)

    def check_output(self, message: str) -> SafetyResult:
        """Checks what the agent would answer."""
        started = time.monotonic()
        if self._available is False:
            return _error(started, "the guard model is not available")
        try:
            found = self._speaker().screen(message, self._session, role="agent")
        except CountersignError as error:
            return _error(started, str(error))
        return _result(found, started)

    def get_crisis_response(self, result: SafetyResult) -> str:
        """What to answer to an unsafe input: the card for self-harm, else a refusal."""
        if not any(one.get("code") == "S11" for one in result.categories):
            return _REFUSAL
        if result.card:
            return result.card
        card = program.screen(_SIGN, preset="soul").get("card")
        text = card.get("text") if isinstance(card, dict) else None
        if not isinstance(text, str):
            raise CountersignError("`countersign screen` gave no card")
        return text

    def sanitize_output(self, text: str, result: SafetyResult) -> str:
        """What to send instead of an unsafe output."""
        del text
        return result.replacement or _REPLACEMENT

    def approved_text(self, text: str) -> str | None:
        """What may go out: the text by the guard, else what a person approves now; else None.

        A person may edit the text. Only what they approved goes out.
        """
        try:
            found = self._speaker().screen(text, self._session, role="agent", ask=True)
            if found.get("decision") == "replace":
                return None
            if found.get("decision") == "pass" and _is_checked(found):
                return text
            call = Call(tool="send_message", arguments={"text": text}, session=self._session)
            asked = found.get("request")
            if isinstance(asked, dict):
                request = self._speaker().get(str(asked.get("id")))
                clearance = self._speaker().settle(call, request)
            else:
                clearance = self._speaker().clear(call)
        except CountersignError:
            return None
        approved = clearance.arguments.get("text")
        return approved if isinstance(approved, str) else None

    def _by_rules(self, message: str, started: float, why: str) -> SafetyResult:
        """Without a daemon the program screens the text, so that help is always shown."""
        try:
            found = program.screen(message)
        except CountersignError:
            return _error(started, why)
        if found.get("concern") == "none":
            return _error(started, why)
        return _result(found, started)

    def _speaker(self) -> Client:
        return self._client or Client()


def _is_checked(found: dict[str, Any]) -> bool:
    """Whether the guard called the text safe, or only observes."""
    guard = found.get("guard")
    state = guard.get("state") if isinstance(guard, dict) else None
    return state == "safe" or isinstance(found.get("request"), dict)


def _result(found: dict[str, Any], started: float) -> SafetyResult:
    guard = found.get("guard")
    guard = guard if isinstance(guard, dict) else {}
    state = guard.get("state")
    named = guard.get("categories")
    categories = [
        {"code": str(one["code"]), "name": SAFETY_CATEGORIES.get(one["code"], str(one["name"]))}
        for one in (named if isinstance(named, list) else [])
    ]
    card = found.get("card")
    card_text = card.get("text") if isinstance(card, dict) else None
    has_signs = found.get("role") != "agent" and found.get("concern") in ("possible", "likely")
    if has_signs and _SELF_HARM not in categories:
        categories.append(dict(_SELF_HARM))
    decision = found.get("decision")
    if has_signs or state == "unsafe" or decision == "replace":
        verdict = SafetyVerdict.UNSAFE
    else:
        # In a crisis a text waits for a person, although the guard calls it safe.
        is_safe = state == "safe" and decision == "pass"
        verdict = SafetyVerdict.SAFE if is_safe else SafetyVerdict.ERROR
    replacement = found.get("replacement")
    return SafetyResult(
        verdict=verdict,
        categories=categories,
        latency_ms=_since(started),
        raw_response=str(guard.get("reason") or state or ""),
        card=card_text if has_signs else None,
        replacement=replacement if isinstance(replacement, str) else None,
    )


def _error(started: float, why: str) -> SafetyResult:
    return SafetyResult(SafetyVerdict.ERROR, [], _since(started), why)


def _since(started: float) -> float:
    return (time.monotonic() - started) * 1000


_filter: LlamaGuardSafetyFilter | None = None


def get_safety_filter() -> LlamaGuardSafetyFilter:
    """The filter of this process."""
    global _filter
    if _filter is None:
        _filter = LlamaGuardSafetyFilter()
    return _filter


def check_input_safety(message: str) -> tuple[bool, str | None]:
    """Whether an input may go on, and what to answer if not."""
    found = get_safety_filter().check_input(message)
    if found.verdict is SafetyVerdict.UNSAFE:
        return False, get_safety_filter().get_crisis_response(found)
    return True, None


def check_output_safety(text: str) -> tuple[bool, str]:
    """Whether an output may go out, and the text to send.

    Without a verdict, and in a crisis, a person is asked, and this waits for the answer; no answer
    means no. The text is the one that the person approved, who may have edited it.
    """
    checked = get_safety_filter()
    found = checked.check_output(text)
    if found.verdict is SafetyVerdict.SAFE:
        return True, text
    if found.verdict is SafetyVerdict.ERROR:
        approved = checked.approved_text(text)
        if approved is not None:
            return True, approved
    return False, checked.sanitize_output(text, found)
