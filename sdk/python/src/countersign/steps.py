"""The operations of the agent API as generators, which both clients drive."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from . import plain, wire
from .call import Call
from .errors import (
    BadInput,
    CountersignError,
    NotApproved,
    Problem,
    StillWaiting,
    Unavailable,
    Unexpected,
    Unreachable,
    problem,
)
from .request import Request, State, read
from .wire import Exchange, Pause, Steps

#: Length of one long poll, in seconds; short, so that a lost connection is noticed soon.
_POLL = 25
#: How long to try to reach a daemon that was never reached, in seconds.
_FIRST_CONTACT = 2.0
#: How long to wait after the deadline, in seconds: the daemon ends a request, not the client.
_GRACE = 10.0
_USUAL_TIMEOUT = 300.0
#: How often an approval may turn out to have been used by another caller.
_USED_BY_OTHERS = 3
#: The longest summary that the daemon accepts, in bytes.
_SUMMARY = 2000
_NAME = re.compile(r"[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,127}")

_T = TypeVar("_T")


@dataclass(frozen=True)
class Clearance:
    """An approved call whose permit was used: it may run now, once."""

    call: Call
    request: Request
    #: The arguments to run with: those of the call, or as a person edited them.
    arguments: dict[str, Any]

    @property
    def edited(self) -> bool:
        """Whether a person changed the arguments."""
        return self.request.edited_arguments is not None

    @property
    def command(self) -> str:
        """The shell command to run."""
        found = self.arguments.get("command")
        if not isinstance(found, str):
            raise NotApproved("the approved call is not a shell command", self.request)
        return found


@dataclass(frozen=True)
class Batch:
    """Calls that were submitted as one group."""

    group: str | None
    #: The calls of a stage may run in parallel; stages run one after another.
    stages: list[list[int]]
    #: The request of each call, in order, or why it was rejected.
    items: list[Request | Problem]


@dataclass(frozen=True)
class AskOptions:
    """Options of :func:`ask` and :func:`clear`."""

    #: Called once for each pending request.
    asked: Callable[[Request], None]
    #: The idempotency key: the same key makes one request.
    key: str | None = None
    #: Whether to share a request for the same call that is pending, or approved and not used.
    join: bool = False
    #: How long to wait, in seconds. The request stays pending after that.
    patience: float | None = None


def ask(call: Call, how: AskOptions) -> Steps[Request]:
    """Asks, and waits for the decision or the deadline."""
    patience = _Patience(call.timeout, how.patience)
    first = yield from _put(call, how.key, how.join, patience)
    return (yield from _ended(first, how.asked, patience))


def clear(call: Call, how: AskOptions) -> Steps[Clearance]:
    """Asks, waits and uses the permit. Every way out but one raises."""
    patience = _Patience(call.timeout, how.patience)
    first = yield from _put(call, how.key, how.join, patience)
    silence = (State.EXPIRED, State.CANCELLED)
    if how.key is None and call.call_id is not None and first.state in silence:
        # Nobody said no to this name of a call: some hosts give a name more than once.
        call = replace(call, call_id=None)
        first = yield from _put(call, None, True, patience)
    return (yield from _used(call, first, how, patience))


def settle(call: Call, first: Request, how: AskOptions) -> Steps[Clearance]:
    """The same for a request that was submitted before."""
    return (yield from _used(call, first, how, _Patience(call.timeout, how.patience)))


def _put(call: Call, key: str | None, join: bool, patience: _Patience) -> Steps[Request]:
    # A key always makes a new request, so a joining call has none.
    key = key or (None if join else secrets.token_urlsafe())
    return (yield from patience.keep_trying(lambda: submit(call, key, join, patience.exchange())))


def _ended(first: Request, asked: Callable[[Request], None], patience: _Patience) -> Steps[Request]:
    found = first
    if first.state is State.PENDING:
        if first.id is None:
            raise Unexpected("a pending request has no id")
        patience.open = first
        asked(first)
    while found.state is State.PENDING:
        left = patience.left()
        if left < 1:
            yield Pause(left)
        look = partial(wait, first.id or "", int(min(left, _POLL)), patience.exchange)
        found = yield from patience.keep_trying(look)
        if found.digest != first.digest:
            raise Unexpected("the response is for another call")
    patience.open = None
    return found


def _used(call: Call, first: Request, how: AskOptions, patience: _Patience) -> Steps[Clearance]:
    """Uses the permit; asks again if another caller has used it."""
    for _ in range(_USED_BY_OTHERS):
        request = yield from _ended(first, how.asked, patience)
        is_gone = request.state is State.APPROVED and request.id is not None
        is_gone = is_gone and request.permit is None
        if not is_gone or how.key is not None:
            try:
                return (yield from use(call, request))
            except Problem as error:
                if error.why != "used" or how.key is not None:
                    raise
        # Another caller with the same call used the approval: ask again, without the call id.
        call = replace(call, call_id=None)
        first = yield from _put(call, None, True, patience)
    raise NotApproved(
        "this call was approved once, and another caller used the approval; propose it again"
    )


def use(call: Call, request: Request) -> Steps[Clearance]:
    """Uses the permit of a request that has ended."""
    if request.state is not State.APPROVED:
        raise NotApproved(request.why(), request)
    if request.tool != (call.tool or "shell"):
        raise Unexpected("the response is for another call")
    edited = request.edited_arguments
    if edited is not None:
        call = replace(call, tool=request.tool, arguments=edited, command=None)
    arguments = dict(call.arguments) if call.command is None else {"command": call.command}
    if request.id is not None:
        if request.permit is None:
            raise NotApproved("the approval was already used, or it has expired", request)
        yield from redeem(request.permit, call, request.id)
    elif edited is not None:
        raise Unexpected("a call without a request was edited")
    return Clearance(call, request, arguments)


def redeem(permit: str, call: Call, request: str | None = None) -> Steps[None]:
    """Uses a permit for exactly this call."""
    body = f'{{"permit":{plain.encode(permit)},{call.what()}{call.place()}}}'
    found = yield from _object(Exchange("POST", "/v1/permits/redeem", body))
    if found.get("redeemed") is not True or request not in (None, found.get("request")):
        raise Unexpected("the permit was not used")


def submit(
    call: Call, key: str | None, join: bool = False, patience: float = wire.USUAL
) -> Steps[Request]:
    """Asks without waiting."""
    body = call.body(join)
    exchange = Exchange("POST", "/v1/requests?wait=0", body, key, patience)
    return (yield from _request(exchange))


def get(name: str) -> Steps[Request]:
    """One request."""
    return _same(name, (yield from _request(Exchange("GET", f"/v1/requests/{segment(name)}"))))


def wait(name: str, seconds: int, longest: Callable[[float], float] = float) -> Steps[Request]:
    """One request, when it has ended or after this many seconds."""
    path = f"/v1/requests/{segment(name)}/wait?seconds={seconds}"
    exchange = Exchange("GET", path, patience=longest(seconds + wire.USUAL))
    return _same(name, (yield from _request(exchange)))


def requests(state: State | None, limit: int) -> Steps[list[Request]]:
    """The agent's own requests, newest first."""
    query = f"limit={max(1, min(limit, 500))}" + (f"&state={state.value}" if state else "")
    page = yield from _object(Exchange("GET", f"/v1/requests?{query}"))
    listed = page.get("requests")
    if not isinstance(listed, list):
        raise Unexpected("the list is missing")
    return [read(one) for one in listed]


def cancel(name: str) -> Steps[Request]:
    """Cancels a request."""
    exchange = Exchange("POST", f"/v1/requests/{segment(name)}/cancel", "{}")
    return _same(name, (yield from _request(exchange)))


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call."""

    #: ``ok``, ``error`` or ``skipped``.
    status: str
    #: A summary without secrets, at most 2000 bytes.
    summary: str = ""
    #: The exit code of a program.
    exit_code: int | None = None
    duration_ms: int | None = None
    #: SHA-256 of the result, in hex.
    result_digest: str | None = None

    def members(self) -> dict[str, Any]:
        """The members of the JSON document."""
        cut = self.summary.encode(errors="replace")[:_SUMMARY].decode(errors="ignore")
        told = {
            "status": self.status,
            "summary": cut or None,
            "exit_code": self.exit_code,
            "duration_ms": self.duration_ms,
            "result_digest": self.result_digest,
        }
        return {name: value for name, value in told.items() if value is not None}


def report(name: str, outcome: Outcome) -> Steps[Request]:
    """Reports the outcome of a request's call."""
    body = plain.encode(outcome.members(), "the outcome")
    exchange = Exchange("POST", f"/v1/requests/{segment(name)}/outcome", body)
    return _same(name, (yield from _request(exchange)))


def report_outcome(call: Call, outcome: Outcome) -> Steps[str | None]:
    """Reports the outcome of a call; returns the id of its request, if there was one."""
    members = {**outcome.members(), **({"call_id": call.call_id} if call.call_id else {})}
    rest = plain.encode(members, "the outcome").removeprefix("{")
    exchange = Exchange("POST", "/v1/outcomes", f"{{{call.members()},{rest}")
    found = (yield from _object(exchange)).get("request")
    if found is not None and not isinstance(found, str):
        raise Unexpected("the request id is not a string")
    return found


def report_passes(gateway: str, calls: Sequence[tuple[Call, float]]) -> Steps[int]:
    """Reports calls that a gateway let pass by the same rules."""
    listed = ",".join(f"{{{call.members()}{_ago(seconds)}}}" for call, seconds in calls)
    body = f'{{"gateway":{plain.encode(gateway, "the gateway")},"passes":[{listed}]}}'
    found = (yield from _object(Exchange("POST", "/v1/passes", body))).get("would_ask")
    if type(found) is not int:
        raise Unexpected("`would_ask` is missing")
    return found


def _ago(seconds: float) -> str:
    return f',"seconds_ago":{plain.encode(seconds, "the time")}' if seconds > 0 else ""


def assess(call: Call) -> Steps[dict[str, Any]]:
    """The assessment of a call, without asking a person."""
    return (yield from _object(Exchange("POST", "/v1/assess", f"{{{call.members()}}}")))


def screen(
    text: str, session: str | None, role: str = "user", ask: bool = False
) -> Steps[dict[str, Any]]:
    """Looks for signs of a person in crisis in a text, and asks the guard model about it."""
    said: dict[str, Any] = {"text": text, "session": session}
    if role != "user":
        said |= {"role": role, "ask": ask}
    body = plain.encode(said, "the text")
    return (yield from _object(Exchange("POST", "/v1/screen", body)))


def takeover(session: str | None) -> Steps[dict[str, Any]]:
    """What people write to the user of a conversation that they have taken over."""
    query = "" if session is None else f"?session={quote(session, safe='')}"
    return (yield from _object(Exchange("GET", f"/v1/takeover{query}")))


def jwks() -> Steps[str]:
    """The keys that sign permits, as JSON."""
    return (yield from wire.said(Exchange("GET", "/.well-known/jwks.json"))).text


def respond(name: str, approved: bool, reason: str) -> Steps[str]:
    """Decides a request through the people API, with a person's token; returns the new status."""
    body = plain.encode({"request_id": name, "approved": approved, "reason": reason}, "the answer")
    found = yield from _object(Exchange("POST", "/respond", body))
    status = found.get("status")
    if found.get("request_id") != name or not isinstance(status, str):
        raise Unexpected("the response is for another request")
    return status


def pending() -> Steps[list[dict[str, Any]]]:
    """The pending requests, in the format of the original API."""
    found = (yield from _object(Exchange("GET", "/pending"))).get("pending")
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise Unexpected("the list is missing")
    return found


def health() -> Steps[int]:
    """The number of pending requests, from the health check."""
    found = yield from _object(Exchange("GET", "/health", patience=3.0, public=True))
    pending = found.get("pending")
    if found.get("service") != "countersign" or type(pending) is not int:
        raise Unexpected("the response is from another service")
    return pending


def ready() -> Steps[None]:
    """Returns only if the daemon is ready to decide; raises otherwise."""
    yield from wire.said(Exchange("GET", "/ready", patience=10.0, public=True))


def plan(
    calls: Sequence[Call],
    timeout: float | None,
    key: str | None,
    asked: Callable[[Request], None],
    patience: _Patience | None = None,
) -> Steps[Batch]:
    """Submits several calls as one group, without waiting."""
    if not 1 <= len(calls) <= 100:
        raise BadInput("a batch has 1 to 100 calls")
    patience = patience or _Patience(timeout)
    body = f'"calls":[{",".join(call.body() for call in calls)}]'
    if timeout is not None:
        body += f',"timeout_seconds":{plain.encode(timeout, "the timeout")}'
    key = key or secrets.token_urlsafe()
    exchange = Exchange("POST", "/v1/batches", f"{{{body}}}", key)
    found = yield from patience.keep_trying(partial(_batch, exchange, len(calls)))
    for item in found.items:
        if isinstance(item, Request) and item.state is State.PENDING:
            asked(item)
    return found


def batch(
    calls: Sequence[Call], timeout: float | None, asked: Callable[[Request], None]
) -> Steps[Batch]:
    """Submits several calls as one group and waits until none of them is pending."""
    patience = _Patience(timeout)
    first = yield from plan(calls, timeout, None, asked, patience)
    items = list(first.items)
    for at, item in enumerate(items):
        if isinstance(item, Request):
            items[at] = yield from _ended(item, _nothing, patience)
    return replace(first, items=items)


def _nothing(_: Request) -> None:
    """The caller was told when the batch was submitted."""


def segment(name: str) -> str:
    """A path segment; only ids and names, so that it cannot change the path."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"invalid id `{name}`")
    return name


def _batch(exchange: Exchange, count: int) -> Steps[Batch]:
    found = yield from _object(exchange)
    group, listed = found.get("group"), found.get("requests")
    if not isinstance(listed, list) or len(listed) != count:
        raise Unexpected("the batch has another number of requests than calls")
    if group is not None and not isinstance(group, str):
        raise Unexpected("the id of the batch is not a string")
    return Batch(group, _stages(found.get("stages"), count), [_item(one) for one in listed])


def _item(document: Any) -> Request | Problem:
    if isinstance(document, dict) and isinstance(document.get("problem"), dict):
        return problem(document["problem"])
    return read(document)


def _stages(found: Any, count: int) -> list[list[int]]:
    whole = isinstance(found, list) and all(isinstance(stage, list) for stage in found)
    flat = [index for stage in found for index in stage] if whole else []
    if any(type(index) is not int for index in flat) or sorted(flat) != list(range(count)):
        raise Unexpected("the stages do not contain every call once")
    return found  # type: ignore[no-any-return]


def _same(name: str, found: Request) -> Request:
    if found.id != name:
        raise Unexpected("the response is for another request")
    return found


def _request(exchange: Exchange) -> Steps[Request]:
    return read((yield from _object(exchange)))


def _object(exchange: Exchange) -> Steps[dict[str, Any]]:
    answer = yield from wire.said(exchange)
    found = plain.decode(answer.text)
    if not isinstance(found, dict):
        raise Unexpected("the body is not an object")
    return found


class _Patience:
    """How long to retry a failing exchange, and to wait for a decision."""

    def __init__(self, timeout: float | None, patience: float | None = None) -> None:
        now = time.monotonic()
        self._first_contact = now + _FIRST_CONTACT
        # The daemon ends a request, not the client, unless the caller has less time.
        whole = (_USUAL_TIMEOUT if timeout is None else float(timeout)) + _GRACE
        self._end = now + (whole if patience is None else min(whole, float(patience)))
        self._arrived = False
        self._pause = 0.1
        #: The pending request.
        self.open: Request | None = None

    def left(self) -> float:
        """The time left, in seconds."""
        left = self._end - time.monotonic()
        if left <= 0 and self.open is not None:
            raise StillWaiting(self.open)
        return max(left, 0.0)

    def exchange(self, longest: float = wire.USUAL) -> float:
        """How long one exchange may take."""
        return min(longest, max(self._end - time.monotonic(), 1.0))

    def keep_trying(self, begin: Callable[[], Steps[_T]]) -> Steps[_T]:
        """Retries through broken connections and restarts: requests are idempotent."""
        while True:
            try:
                found = yield from begin()
            except (Unreachable, Unavailable) as error:
                self._arrived |= not isinstance(error, Unreachable) or error.sent
                # A daemon that was never reached may not be running: give up early.
                end = self._end if self._arrived else min(self._first_contact, self._end)
                if time.monotonic() + self._pause >= end:
                    if self.open is not None:
                        raise StillWaiting(self.open) from error
                    raise
            except CountersignError:
                raise
            else:
                self._arrived = True
                self._pause = 0.1
                return found
            yield Pause(self._pause)
            self._pause = min(self._pause * 2, 2.0)
