"""The request document: a call, and how it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .errors import Unexpected


class State(Enum):
    """How a request stands. Any other word is not understood."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Decision:
    """How a request ended."""

    result: State
    #: Who ended it, in words.
    by: str
    #: ``people``, ``deadline``, ``agent``, ``policy`` or ``grant``.
    kind: str
    channel: str
    reason: str
    at: str


@dataclass(frozen=True)
class Request:
    """A call that was asked about. It is true only if the call may run."""

    #: Its name; none if nobody had to be asked.
    id: str | None
    state: State
    decision: Decision | None
    tool: str
    #: What would happen, in one sentence.
    brief: str | None
    #: SAFE to CRITICAL.
    tier: str
    #: Two words from the digest.
    phrase: str
    #: Of the canonical call, in hex.
    digest: str
    agent: str
    session: str
    deadline: str
    #: Single use; only to the agent that asked, while it can be used.
    permit: str | None = field(repr=False)
    #: What to run instead, if a person changed it.
    edited_arguments: dict[str, Any] | None
    #: Whether somebody may be in crisis.
    crisis: bool
    #: Everything the daemon said.
    document: dict[str, Any] = field(repr=False, compare=False)

    @property
    def approved(self) -> bool:
        """Whether the call may run."""
        return self.state is State.APPROVED

    def __bool__(self) -> bool:
        return self.approved

    @property
    def reason(self) -> str:
        """Why it ended so, in the words of whoever ended it."""
        return self.decision.reason if self.decision else ""

    @property
    def decided_by(self) -> str:
        """Who ended it, in words."""
        return self.decision.by if self.decision else "nobody yet"

    def why(self) -> str:
        """How it ended, in one plain sentence."""
        because = f": {self.reason}" if self.reason else ""
        if self.state is State.APPROVED:
            return f"Approved by {self.decided_by}{because}"
        if self.state is State.DENIED:
            return f"Denied by {self.decided_by}{because}"
        if self.state is State.EXPIRED:
            return "Denied: nobody answered in time, and silence means no"
        if self.state is State.CANCELLED:
            return "Denied: the request was taken back"
        return "Not approved: it still waits for a person"


def read(document: Any) -> Request:
    """A request from its document; what does not fit together is not understood."""
    if not isinstance(document, dict):
        raise Unexpected("it is no request")
    state = _state(_text(document, "state"))
    decision = _decision(document.get("decision"))
    if (decision.result if decision else State.PENDING) is not state:
        raise Unexpected("its decision and its state differ")
    edited = document.get("edited_arguments")
    if edited is not None and not isinstance(edited, dict):
        raise Unexpected("the edited arguments are no object")
    digest = _text(document, "digest")
    if len(digest) != 64:
        raise Unexpected("its digest is none")
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
        raise Unexpected("its decision is none")
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
    known = {"deadline": "the deadline", "agent": "the agent itself", "policy": "the rules"}
    return known.get(kind, kind)


def _state(word: str) -> State:
    try:
        return State(word)
    except ValueError:
        raise Unexpected(f"`{word}` is no state of a request") from None


def _text(document: dict[str, Any], name: str) -> str:
    found = document.get(name)
    if not isinstance(found, str):
        raise Unexpected(f"`{name}` is missing")
    return found


def _text_or_none(document: dict[str, Any], name: str) -> str | None:
    found = document.get(name)
    if found is not None and not isinstance(found, str):
        raise Unexpected(f"`{name}` is no text")
    return found
