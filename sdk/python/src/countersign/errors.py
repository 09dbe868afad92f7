"""What can go wrong. Every one of these means that nothing was approved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .request import Request


class CountersignError(Exception):
    """Nothing was approved, and this says why."""


class BadInput(CountersignError, ValueError):
    """What was to be sent cannot be sent."""


class Unreachable(CountersignError):
    """Nobody answers at the door, or the connection broke."""

    def __init__(self, door: str, why: str, *, sent: bool) -> None:
        super().__init__(f"{door} does not answer: {why}")
        self.door = door
        self.why = why
        #: Whether the question may have arrived all the same.
        self.sent = sent


class Unexpected(CountersignError):
    """The answer is not one that Countersign gives."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the answer was not understood: {what}")


class Problem(CountersignError):
    """A problem document (RFC 9457): the daemon refused."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.kind = _text(document, "type")
        self.title = _text(document, "title")
        self.detail = _text(document, "detail")
        self.outcome = _text(document, "outcome")
        status = document.get("status")
        self.status = status if isinstance(status, int) else 0
        why = document.get("why")
        #: Why a permit was not taken.
        self.why = why if isinstance(why, str) else None
        after = document.get("retry_after")
        #: When it is worth trying again, in seconds.
        self.retry_after = after if isinstance(after, int) else None
        super().__init__(self.detail or self.title or self.kind)

    @property
    def name(self) -> str:
        """The last part of its type, such as ``reason-needed``."""
        return self.kind.rsplit(":", 1)[-1]


class Unavailable(Problem):
    """A part is missing that it takes to approve anything."""


class Unauthorized(Problem):
    """The credential is missing, unknown or has ended."""


class Forbidden(Problem):
    """The credential is good, but not for this."""


class NotFound(Problem):
    """There is no such thing, or not for this caller."""


class NotApproved(CountersignError):
    """The call may not run: denied, expired, taken back, or not understood."""

    def __init__(self, why: str, request: Request | None = None) -> None:
        super().__init__(why)
        #: The request, if there is one.
        self.request = request


class StillWaiting(NotApproved):
    """Nobody has answered yet, and our patience is over: the request stays open.

    Whoever asks about the very same call again joins it.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(
            f'Still waiting for a person (request {request.id}, "{request.phrase}"), so this call '
            "was not run yet",
            request,
        )


class PermitError(CountersignError):
    """The permit permits nothing."""


def problem(document: dict[str, Any]) -> Problem:
    """The problem of a document, by what it means for the caller."""
    if document.get("outcome") == "unavailable":
        return Unavailable(document)
    kinds = {401: Unauthorized, 403: Forbidden, 404: NotFound}
    status = document.get("status")
    kind = kinds.get(status, Problem) if isinstance(status, int) else Problem
    return kind(document)


def _text(document: dict[str, Any], name: str) -> str:
    found = document.get(name)
    return found if isinstance(found, str) else ""
