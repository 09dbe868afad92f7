"""What an agent says at its door, as conversations that either client carries out."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

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

#: How long one long poll waits at the daemon; short, so that a lost connection is soon noticed.
_POLL = 25
#: How long a daemon that was never reached is waited for.
_KNOCK = 2.0
#: How long after the deadline an answer is still waited for: the daemon ends it, not we.
_GRACE = 10.0
_USUAL_TIMEOUT = 300.0
#: So often an approval may turn out to have been used by somebody else.
_USED_BY_OTHERS = 3
#: The longest summary that is shown, in bytes.
_SUMMARY = 2000
_NAME = re.compile(r"[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,127}")

_T = TypeVar("_T")


@dataclass(frozen=True)
class Clearance:
    """A call that was approved, its permit used: it may run now, once."""

    call: Call
    request: Request
    #: What to run: what was asked, or what a person made of it.
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
            raise NotApproved("what was approved is no shell command", self.request)
        return found


@dataclass(frozen=True)
class Batch:
    """A list of calls that was asked about at once."""

    group: str | None
    #: Which calls may run side by side, stage after stage.
    stages: list[list[int]]
    #: The calls in their order: how each stands, or why it was refused.
    items: list[Request | Problem]


@dataclass(frozen=True)
class Asking:
    """How a question is put."""

    #: Called once for each question that waits for a person.
    asked: Callable[[Request], None]
    #: The idempotency key: the same key asks only once.
    key: str | None = None
    #: Whether a request for the very same call is shared: one that waits, or one that was
    #: approved meanwhile and that nobody used.
    join: bool = False
    #: How long to wait here, in seconds. The question outlives that.
    patience: float | None = None


def ask(call: Call, how: Asking) -> Steps[Request]:
    """Asks, and waits until somebody answered or the time is over."""
    patience = _Patience(call.timeout, how.patience)
    first = yield from _put(call, how.key, how.join, patience)
    return (yield from _ended(first, how.asked, patience))


def clear(call: Call, how: Asking) -> Steps[Clearance]:
    """Asks, waits and uses the permit. Every way out but one raises."""
    patience = _Patience(call.timeout, how.patience)
    first = yield from _put(call, how.key, how.join, patience)
    silence = (State.EXPIRED, State.CANCELLED)
    if how.key is None and call.call_id is not None and first.state in silence:
        # Nobody said no to this name of a call: some hosts give a name more than once.
        call = replace(call, call_id=None)
        first = yield from _put(call, None, True, patience)
    return (yield from _used(call, first, how, patience))


def settle(call: Call, first: Request, how: Asking) -> Steps[Clearance]:
    """The same for a request that was submitted before."""
    return (yield from _used(call, first, how, _Patience(call.timeout, how.patience)))


def _put(call: Call, key: str | None, join: bool, patience: _Patience) -> Steps[Request]:
    # What joins has no key of its own: a key asks anew.
    key = key or (None if join else secrets.token_urlsafe())
    return (yield from patience.keep_trying(lambda: submit(call, key, join, patience.exchange())))


def _ended(first: Request, asked: Callable[[Request], None], patience: _Patience) -> Steps[Request]:
    found = first
    if first.state is State.PENDING:
        if first.id is None:
            raise Unexpected("it waits, and has no name")
        patience.open = first
        asked(first)
    while found.state is State.PENDING:
        left = patience.left()
        if left < 1:
            yield Pause(left)
        look = partial(wait, first.id or "", int(min(left, _POLL)), patience.exchange)
        found = yield from patience.keep_trying(look)
        if found.digest != first.digest:
            raise Unexpected("the answer is for another call")
    patience.open = None
    return found


def _used(call: Call, first: Request, how: Asking, patience: _Patience) -> Steps[Clearance]:
    """Uses the permit; one that somebody else has used is asked for anew."""
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
        # The same call twice at once: the other one got it. Asked anew, not under this name.
        call = replace(call, call_id=None)
        first = yield from _put(call, None, True, patience)
    raise NotApproved("this call was approved, but only once: propose it again")


def use(call: Call, request: Request) -> Steps[Clearance]:
    """Uses the permit of a request that ended."""
    if request.state is not State.APPROVED:
        raise NotApproved(request.why(), request)
    if request.tool != (call.tool or "shell"):
        raise Unexpected("the answer is for another call")
    edited = request.edited_arguments
    if edited is not None:
        call = replace(call, tool=request.tool, arguments=edited, command=None)
    arguments = dict(call.arguments) if call.command is None else {"command": call.command}
    if request.id is not None:
        if request.permit is None:
            raise NotApproved("the approval was used before, or its time is over", request)
        yield from redeem(request.permit, call, request.id)
    elif edited is not None:
        raise Unexpected("it was edited, and nobody was asked")
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
    """One request, once it has ended or so many seconds are over."""
    path = f"/v1/requests/{segment(name)}/wait?seconds={seconds}"
    exchange = Exchange("GET", path, patience=longest(seconds + wire.USUAL))
    return _same(name, (yield from _request(exchange)))


def requests(state: State | None, limit: int) -> Steps[list[Request]]:
    """Own requests, newest first."""
    query = f"limit={max(1, min(limit, 500))}" + (f"&state={state.value}" if state else "")
    page = yield from _object(Exchange("GET", f"/v1/requests?{query}"))
    listed = page.get("requests")
    if not isinstance(listed, list):
        raise Unexpected("there is no list")
    return [read(one) for one in listed]


def cancel(name: str) -> Steps[Request]:
    """Takes a request back."""
    exchange = Exchange("POST", f"/v1/requests/{segment(name)}/cancel", "{}")
    return _same(name, (yield from _request(exchange)))


@dataclass(frozen=True)
class Outcome:
    """What came of a call that ran, or did not."""

    #: ``ok``, ``error`` or ``skipped``.
    status: str
    #: In words, without secrets; shown at most 2000 bytes long.
    summary: str = ""
    #: What a program ended with.
    exit_code: int | None = None
    duration_ms: int | None = None
    #: SHA-256 of what it gave back, in hex.
    result_digest: str | None = None

    def members(self) -> dict[str, Any]:
        """As it is told."""
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
    """Says what came of a request's call."""
    body = plain.encode(outcome.members(), "the outcome")
    exchange = Exchange("POST", f"/v1/requests/{segment(name)}/outcome", body)
    return _same(name, (yield from _request(exchange)))


def came_of(call: Call, outcome: Outcome) -> Steps[str | None]:
    """Says what came of a call whose request need not be known: the request, if there was one."""
    members = {**outcome.members(), **({"call_id": call.call_id} if call.call_id else {})}
    rest = plain.encode(members, "the outcome").removeprefix("{")
    exchange = Exchange("POST", "/v1/outcomes", f"{{{call.members()},{rest}")
    found = (yield from _object(exchange)).get("request")
    if found is not None and not isinstance(found, str):
        raise Unexpected("it names no request")
    return found


def passed(gateway: str, calls: Sequence[tuple[Call, float]]) -> Steps[int]:
    """Reports calls that passed without the daemon, by the same judgement."""
    listed = ",".join(f"{{{call.members()}{_ago(seconds)}}}" for call, seconds in calls)
    body = f'{{"gateway":{plain.encode(gateway, "the gateway")},"passes":[{listed}]}}'
    found = (yield from _object(Exchange("POST", "/v1/passes", body))).get("would_ask")
    if type(found) is not int:
        raise Unexpected("it does not say how many it would have asked about")
    return found


def _ago(seconds: float) -> str:
    return f',"seconds_ago":{plain.encode(seconds, "the time")}' if seconds > 0 else ""


def assess(call: Call) -> Steps[dict[str, Any]]:
    """What the gate would make of a call, without asking anybody."""
    return (yield from _object(Exchange("POST", "/v1/assess", f"{{{call.members()}}}")))


def screen(text: str, session: str | None) -> Steps[dict[str, Any]]:
    """Looks for signs of a person in crisis in a text."""
    body = plain.encode({"text": text, "session": session}, "the text")
    return (yield from _object(Exchange("POST", "/v1/screen", body)))


def jwks() -> Steps[str]:
    """The keys that sign permits, as JSON."""
    return (yield from wire.said(Exchange("GET", "/.well-known/jwks.json"))).text


def respond(name: str, approved: bool, reason: str) -> Steps[str]:
    """A person answers, at the people's door and with a person's token: how it stands then."""
    body = plain.encode({"request_id": name, "approved": approved, "reason": reason}, "the answer")
    found = yield from _object(Exchange("POST", "/respond", body))
    status = found.get("status")
    if found.get("request_id") != name or not isinstance(status, str):
        raise Unexpected("the answer is for another request")
    return status


def pending() -> Steps[list[dict[str, Any]]]:
    """What waits, in the words of the first system."""
    found = (yield from _object(Exchange("GET", "/pending"))).get("pending")
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise Unexpected("there is no list")
    return found


def health() -> Steps[int]:
    """How many requests wait, from the daemon's own word that it lives."""
    found = yield from _object(Exchange("GET", "/health", patience=3.0))
    pending = found.get("pending")
    if found.get("service") != "countersign" or type(pending) is not int:
        raise Unexpected("another service answers there")
    return pending


def ready() -> Steps[None]:
    """Comes back only if something can be approved."""
    yield from wire.said(Exchange("GET", "/ready", patience=10.0))


def plan(
    calls: Sequence[Call],
    timeout: float | None,
    key: str | None,
    asked: Callable[[Request], None],
    patience: _Patience | None = None,
) -> Steps[Batch]:
    """Asks about several calls at once, without waiting."""
    if not 1 <= len(calls) <= 100:
        raise BadInput("a batch is one to a hundred calls")
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
    """Asks about several calls at once and waits until none of them is pending."""
    patience = _Patience(timeout)
    first = yield from plan(calls, timeout, None, asked, patience)
    items = list(first.items)
    for at, item in enumerate(items):
        if isinstance(item, Request):
            items[at] = yield from _ended(item, _nothing, patience)
    return replace(first, items=items)


def _nothing(_: Request) -> None:
    """Was told before."""


def segment(name: str) -> str:
    """A part of a path: ids and names only, so that nothing leads elsewhere."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"`{name}` is no name of anything")
    return name


def _batch(exchange: Exchange, count: int) -> Steps[Batch]:
    found = yield from _object(exchange)
    group, listed = found.get("group"), found.get("requests")
    if not isinstance(listed, list) or len(listed) != count:
        raise Unexpected("not every call of the batch was answered")
    if group is not None and not isinstance(group, str):
        raise Unexpected("the batch has no name")
    return Batch(group, _stages(found.get("stages"), count), [_item(one) for one in listed])


def _item(document: Any) -> Request | Problem:
    if isinstance(document, dict) and isinstance(document.get("problem"), dict):
        return problem(document["problem"])
    return read(document)


def _stages(found: Any, count: int) -> list[list[int]]:
    whole = isinstance(found, list) and all(isinstance(stage, list) for stage in found)
    flat = [index for stage in found for index in stage] if whole else []
    if any(type(index) is not int for index in flat) or sorted(flat) != list(range(count)):
        raise Unexpected("the order of the batch is not whole")
    return found  # type: ignore[no-any-return]


def _same(name: str, found: Request) -> Request:
    if found.id != name:
        raise Unexpected("the answer is for another request")
    return found


def _request(exchange: Exchange) -> Steps[Request]:
    return read((yield from _object(exchange)))


def _object(exchange: Exchange) -> Steps[dict[str, Any]]:
    answer = yield from wire.said(exchange)
    found = plain.decode(answer.text)
    if not isinstance(found, dict):
        raise Unexpected("it is no object")
    return found


class _Patience:
    """How long a failing exchange is tried again, and an answer waited for."""

    def __init__(self, timeout: float | None, patience: float | None = None) -> None:
        now = time.monotonic()
        self._knock = now + _KNOCK
        # The daemon ends a request, not we; unless our host has less time.
        whole = (_USUAL_TIMEOUT if timeout is None else float(timeout)) + _GRACE
        self._end = now + (whole if patience is None else min(whole, float(patience)))
        self._arrived = False
        self._pause = 0.1
        #: What waits for a person.
        self.open: Request | None = None

    def left(self) -> float:
        """How long is left, in seconds."""
        left = self._end - time.monotonic()
        if left <= 0 and self.open is not None:
            raise StillWaiting(self.open)
        return max(left, 0.0)

    def exchange(self, longest: float = wire.USUAL) -> float:
        """How long one exchange may take."""
        return min(longest, max(self._end - time.monotonic(), 1.0))

    def keep_trying(self, begin: Callable[[], Steps[_T]]) -> Steps[_T]:
        """Survives connections that break and daemons that restart: questions have a key."""
        while True:
            try:
                found = yield from begin()
            except (Unreachable, Unavailable) as error:
                self._arrived |= not isinstance(error, Unreachable) or error.sent
                # Where nobody was ever heard, nobody may be there at all: that is said soon.
                end = self._end if self._arrived else min(self._knock, self._end)
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
