"""The request document: a call and its state."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .errors import Unexpected


class State(Enum):
    """The state of a request. Any other value is rejected."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Decision:
    """How a request ended."""

    result: State
    #: Who decided, as text.
    by: str
    #: ``people``, ``deadline``, ``agent``, ``policy`` or ``grant``.
    kind: str
    channel: str
    reason: str
    at: str


@dataclass(frozen=True)
class Request:
    """A submitted call. It is true only if the call may run."""

    #: The id; none if no person had to be asked.
    id: str | None
    state: State
    decision: Decision | None
    tool: str
    #: One sentence that says what the call does.
    brief: str | None
    #: SAFE to CRITICAL.
    tier: str
    #: Two words derived from the digest.
    phrase: str
    #: SHA-256 of the canonical call, in hex.
    digest: str
    agent: str
    session: str
    deadline: str
    #: Single use; only for the agent that asked, until it expires.
    permit: str | None = field(repr=False)
    #: The arguments to run with, if a person edited them.
    edited_arguments: dict[str, Any] | None
    #: Whether the text shows signs of a person in crisis.
    crisis: bool
    #: The whole document.
    document: dict[str, Any] = field(repr=False, compare=False)

    @property
    def approved(self) -> bool:
        """Whether the call may run."""
        return self.state is State.APPROVED

    def __bool__(self) -> bool:
        return self.approved

    @property
    def reason(self) -> str:
        """The reason that was given for the decision."""
        return self.decision.reason if self.decision else ""

    @property
    def decided_by(self) -> str:
        """Who decided, as text."""
        return self.decision.by if self.decision else "no one yet"

    def why(self) -> str:
        """The decision in one sentence."""
        because = f": {self.reason}" if self.reason else ""
        if self.state is State.APPROVED:
            return f"Approved by {self.decided_by}{because}"
        if self.state is State.DENIED:
            return f"Denied by {self.decided_by}{because}"
        if self.state is State.EXPIRED:
            return "Denied: no person answered before the deadline"
        if self.state is State.CANCELLED:
            return "Denied: the request was cancelled"
        return "Not approved: the request is still pending"


def read(document: Any) -> Request:
    """Parses a request document; an inconsistent one is rejected."""
    if not isinstance(document, dict):
        raise Unexpected("the body is not a request")
    state = _state(_text(document, "state"))
    decision = _decision(document.get("decision"))
    if (decision.result if decision else State.PENDING) is not state:
        raise Unexpected("the decision and the state differ")
    edited = document.get("edited_arguments")
    if edited is not None and not isinstance(edited, dict):
        raise Unexpected("the edited arguments are not an object")
    digest = _text(document, "digest")
    if len(digest) != 64:
        raise Unexpected("invalid digest")
    return Request(
        id=_text_or_none(document, "id"),
        state=state,
        decision=decision,
        tool=_text(document, "tool"),
        brief=_text_or_none(document, "brief"),
        tier=_text(document, "tier"),
        phrase=_text(document, "phrase"),
        digest=digest,
        agent=_text(document, "agent"),
        session=_text_or_none(document, "session") or "",
        deadline=_text(document, "deadline"),
        permit=_text_or_none(document, "permit"),
        edited_arguments=edited,
        crisis=document.get("crisis") is not False,
        document=document,
    )


def _decision(document: Any) -> Decision | None:
    if document is None:
        return None
    by = document.get("by") if isinstance(document, dict) else None
    if not isinstance(by, dict):
        raise Unexpected("invalid decision")
    kind = _text(by, "kind")
    return Decision(
        result=_state(_text(document, "result")),
        by=_words(kind, by),
        kind=kind,
        channel=_text_or_none(document, "channel") or "",
        reason=_text_or_none(document, "reason") or "",
        at=_text(document, "at"),
    )


def _words(kind: str, by: dict[str, Any]) -> str:
    if kind == "people":
        people = by.get("people")
        return " and ".join(map(str, people)) if isinstance(people, list) else "people"
    if kind == "grant":
        return f"grant {by.get('grant', 'unknown')}"
    if kind == "judge":
        return f"the model judge {by.get('model', 'unknown')}"
    known = {"deadline": "the deadline", "agent": "the agent itself", "policy": "the rules"}
    return known.get(kind, kind)


def _state(word: str) -> State:
    try:
        return State(word)
    except ValueError:
        raise Unexpected(f"unknown state `{word}`") from None


def _text(document: dict[str, Any], name: str) -> str:
    found = document.get(name)
    if not isinstance(found, str):
        raise Unexpected(f"`{name}` is missing")
    return found


def _text_or_none(document: dict[str, Any], name: str) -> str | None:
    found = document.get(name)
    if found is not None and not isinstance(found, str):
        raise Unexpected(f"`{name}` is not a string")
    return found
