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


def ask(call: Call, key: str | None, asked: Callable[[Request], None]) -> Steps[Request]:
    """Asks, and waits until somebody answered or the time is over."""
    patience = _Patience(_seconds(call.timeout))
    exchange = Exchange("POST", "/v1/requests?wait=0", call.body(), key or secrets.token_urlsafe())
    first = found = yield from patience.keep_trying(partial(_request, exchange))
    if first.state is State.PENDING:
        if first.id is None:
            raise Unexpected("it waits, and has no name")
        asked(first)
    while found.state is State.PENDING:
        seconds = patience.left()
        found = yield from patience.keep_trying(partial(wait, first.id or "", seconds))
        if found.digest != first.digest:
            raise Unexpected("the answer is for another call")
    return found


def clear(call: Call, key: str | None, asked: Callable[[Request], None]) -> Steps[Clearance]:
    """Asks, waits and uses the permit. Every way out but one raises."""
    request = yield from ask(call, key, asked)
    return (yield from use(call, request))


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


def submit(call: Call, key: str | None) -> Steps[Request]:
    """Asks without waiting."""
    key = key or secrets.token_urlsafe()
    return (yield from _request(Exchange("POST", "/v1/requests?wait=0", call.body(), key)))


def get(name: str) -> Steps[Request]:
    """One request."""
    return _same(name, (yield from _request(Exchange("GET", f"/v1/requests/{segment(name)}"))))


def wait(name: str, seconds: int) -> Steps[Request]:
    """One request, once it has ended or so many seconds are over."""
    path = f"/v1/requests/{segment(name)}/wait?seconds={seconds}"
    return _same(name, (yield from _request(Exchange("GET", path, patience=seconds + 30.0))))


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


def report(name: str, status: str, summary: str) -> Steps[Request]:
    """Says what came of a call: ``ok``, ``error`` or ``skipped``."""
    cut = summary.encode(errors="replace")[:_SUMMARY].decode(errors="ignore")
    body = plain.encode({"status": status, "summary": cut})
    exchange = Exchange("POST", f"/v1/requests/{segment(name)}/outcome", body)
    return _same(name, (yield from _request(exchange)))


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


def batch(calls: Sequence[Call], timeout: float | None) -> Steps[Batch]:
    """Asks about several calls at once and waits until none of them is pending."""
    if not 1 <= len(calls) <= 100:
        raise BadInput("a batch is one to a hundred calls")
    patience = _Patience(_seconds(timeout))
    body = f'"calls":[{",".join(call.body() for call in calls)}]'
    if timeout is not None:
        body += f',"timeout_seconds":{plain.encode(timeout, "the timeout")}'
    exchange = Exchange("POST", "/v1/batches", f"{{{body}}}", secrets.token_urlsafe())
    first = yield from patience.keep_trying(partial(_batch, exchange, len(calls), None))
    found = first
    while first.group is not None and any(_waits(item) for item in found.items):
        seconds = patience.left()
        path = f"/v1/batches/{segment(first.group)}/wait?seconds={seconds}"
        again = Exchange("GET", path, patience=seconds + 30.0)
        found = yield from patience.keep_trying(partial(_batch, again, len(calls), first))
    return Batch(first.group, first.stages, found.items)


def segment(name: str) -> str:
    """A part of a path: ids and names only, so that nothing leads elsewhere."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"`{name}` is no name of anything")
    return name


def _waits(item: Request | Problem) -> bool:
    return isinstance(item, Request) and item.state is State.PENDING


def _batch(exchange: Exchange, count: int, first: Batch | None) -> Steps[Batch]:
    found = yield from _object(exchange)
    group, listed = found.get("group"), found.get("requests")
    if not isinstance(listed, list) or len(listed) != count:
        raise Unexpected("not every call of the batch was answered")
    if group is not None and not isinstance(group, str):
        raise Unexpected("the batch has no name")
    if first is None:
        return Batch(group, _stages(found.get("stages"), count), [_item(one) for one in listed])
    if group != first.group:
        raise Unexpected("the answer is for another batch")
    items = [_later(one, before) for one, before in zip(listed, first.items, strict=True)]
    return Batch(group, first.stages, items)


def _item(document: Any) -> Request | Problem:
    if isinstance(document, dict) and isinstance(document.get("problem"), dict):
        return problem(document["problem"])
    return read(document)


def _later(document: Any, before: Request | Problem) -> Request | Problem:
    """How a call stands later; of what was answered for good at once, nothing is kept."""
    if document is None or not _waits(before) or not isinstance(before, Request):
        return before
    found = _item(document)
    if isinstance(found, Request) and (found.id, found.digest) != (before.id, before.digest):
        raise Unexpected("the answer is for another call")
    return found


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


def _seconds(timeout: float | None) -> float:
    return _USUAL_TIMEOUT if timeout is None else float(timeout)


class _Patience:
    """How long a failing exchange is tried again."""

    def __init__(self, seconds: float) -> None:
        now = time.monotonic()
        self._knock = now + _KNOCK
        self._end = now + seconds + _GRACE
        self._arrived = False
        self._pause = 0.1

    def left(self) -> int:
        """How long the next poll may wait."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise NotApproved("no answer came before the deadline, and silence means no")
        return int(max(1, min(left, _POLL)))

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
                    raise
            except CountersignError:
                raise
            else:
                self._arrived = True
                self._pause = 0.1
                return found
            yield Pause(self._pause)
            self._pause = min(self._pause * 2, 2.0)
