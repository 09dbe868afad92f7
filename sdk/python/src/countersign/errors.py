"""Errors. Each of them means that the call was not approved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .request import Request


class CountersignError(Exception):
    """The call was not approved; the message says why."""


class BadInput(CountersignError, ValueError):
    """The input is invalid and was not sent."""


class Unreachable(CountersignError):
    """The daemon does not answer, or the connection broke."""

    def __init__(self, endpoint: str, why: str, *, sent: bool) -> None:
        super().__init__(f"{endpoint} does not answer: {why}")
        self.endpoint = endpoint
        self.why = why
        #: Whether the request may have arrived.
        self.sent = sent


class Unexpected(CountersignError):
    """The response is not a valid response of the daemon."""

    def __init__(self, what: str) -> None:
        super().__init__(f"unexpected response from the daemon: {what}")


class Untrusted(CountersignError):
    """The response does not come from the daemon whose key is pinned."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the daemon is not trusted: {why}; nothing was approved. Start `countersign serve` on "
            "this machine, or pin the daemon's key with `countersign keys trust`"
        )


class CertificateRefused(CountersignError):
    """The TLS certificate of the other end is not the trusted one, or is not valid."""

    def __init__(self, endpoint: str, why: str) -> None:
        super().__init__(
            f"the certificate of {endpoint} is refused: {why}; nothing was sent to it. "
            "`countersign keys tls` on the daemon's machine prints the pin that belongs into the "
            "address"
        )


class Problem(CountersignError):
    """A problem document (RFC 9457): the daemon rejected the request."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.kind = _text(document, "type")
        self.title = _text(document, "title")
        self.detail = _text(document, "detail")
        self.outcome = _text(document, "outcome")
        status = document.get("status")
        self.status = status if isinstance(status, int) else 0
        why = document.get("why")
        #: Why a permit was rejected.
        self.why = why if isinstance(why, str) else None
        after = document.get("retry_after")
        #: When to retry, in seconds.
        self.retry_after = after if isinstance(after, int) else None
        super().__init__(self.detail or self.title or self.kind)

    @property
    def name(self) -> str:
        """The last part of its type, such as ``reason-needed``."""
        return self.kind.rsplit(":", 1)[-1]


class Unavailable(Problem):
    """The daemon is running, but not able to decide."""


class Unauthorized(Problem):
    """The credential is missing, unknown or expired."""


class Forbidden(Problem):
    """The credential does not allow this."""


class NotFound(Problem):
    """Not found, or not visible to this caller."""


class NotApproved(CountersignError):
    """The call may not run: denied, expired, cancelled, or invalid."""

    def __init__(self, why: str, request: Request | None = None) -> None:
        super().__init__(why)
        #: The request, if there is one.
        self.request = request


class StillWaiting(NotApproved):
    """The request is still pending, and the caller's time is over.

    Asking about the same call again joins the request.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(
            f'Pending: a person has not decided yet (request {request.id}, "{request.phrase}"), so '
            "this call was not run. Propose exactly the same call again later: the answer will be "
            "there. Do not try it another way.",
            request,
        )


class PermitError(CountersignError):
    """The permit is invalid for this call."""


def problem(document: dict[str, Any]) -> Problem:
    """The exception for a problem document."""
    if document.get("outcome") == "unavailable":
        return Unavailable(document)
    kinds = {401: Unauthorized, 403: Forbidden, 404: NotFound}
    status = document.get("status")
    kind = kinds.get(status, Problem) if isinstance(status, int) else Problem
    return kind(document)


def _text(document: dict[str, Any], name: str) -> str:
    found = document.get(name)
    return found if isinstance(found, str) else ""
