"""What the adapters share: asking about one call, or about a model's turn as one group."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from ..call import Call
from ..client import AsyncClient, Client, async_of, sync_of
from ..errors import CountersignError, Problem, StillWaiting
from ..gate import run, run_async
from ..request import Request, State
from ..steps import Batch, Clearance, Outcome

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Turns that are remembered; hosts have dropped older ones.
_MAX_TURNS = 1000
#: How long a call that must run first may take to start, in seconds; a host may have dropped it.
_ABSENT_AFTER = 1.0
_POLL_INTERVAL = 0.01
_UNPLANNED = (
    "the calls of a turn could not be submitted as a group, so each is asked about alone: %s"
)
_log = logging.getLogger("countersign")


class CallContext(TypedDict, total=False):
    """Options of an adapter about the calls it makes."""

    #: The agent's session.
    session: str | None
    #: Where the agent's user is: cli, api, telegram or discord.
    platform: str | None
    #: The working directory.
    cwd: str | None
    #: The root folder of the project.
    project: str | None
    #: workstation, production, ci or container; a claim can only raise the risk.
    environment: str | None
    #: How long people have to decide, in seconds.
    timeout: float | None
    #: How long a call waits, in seconds, before the model is told to propose it again.
    patience: float | None


Meaning = Callable[[Any], tuple[bool, object]]


def well(result: Any) -> tuple[bool, object]:
    """Every result is a success and is hashed as it is."""
    return True, result


@dataclass(eq=False)
class _PlannedCall:
    """A submitted call of a turn, and the calls that must end before it runs."""

    call: Call
    item: Request | Problem
    before: list[_PlannedCall] = field(default_factory=list)
    has_begun: bool = False
    is_over: bool = False


@dataclass(eq=False)
class _Turn:
    """The calls of one turn; empty until they are submitted, and if that fails."""

    calls: dict[str, _PlannedCall] = field(default_factory=dict)
    is_planned: bool = False


class AdapterGate:
    """Asks about the calls of an adapter."""

    def __init__(
        self,
        client: Client | AsyncClient | None = None,
        **context: Unpack[CallContext],
    ) -> None:
        unknown = set(context) - set(CallContext.__annotations__)
        if unknown:
            raise TypeError(f"unexpected: {', '.join(sorted(unknown))}")
        self._client = client
        self._context: dict[str, Any] = dict(context)
        self._patience: float | None = self._context.pop("patience", None)
        self._turns: OrderedDict[str, _Turn] = OrderedDict()
        self._lock = threading.Lock()

    def call(self, tool: str, arguments: Any, call_id: str | None, session: str | None) -> Call:
        """The call of a framework; ``session`` is used if the adapter was given none."""
        context = {**self._context, "session": self._context.get("session") or session}
        return Call(tool=tool, arguments=dict(arguments), call_id=call_id or None, **context)

    def clear(self, call: Call) -> Clearance:
        """Asks about one call, waits and uses the permit."""
        return sync_of(self._client).clear(call, patience=self._patience)

    def tell(self, clearance: Clearance, outcome: Outcome) -> None:
        """Reports the outcome."""
        if clearance.request.id is not None:
            sync_of(self._client).report(clearance.request.id, outcome)

    @contextlib.contextmanager
    def place(self, call: Call, turn: Sequence[Call] = ()) -> Iterator[TurnCall]:
        """The call as one of the calls of its turn, until it has ended."""
        names = [one.call_id for one in turn]
        # Only calls with distinct ids can be submitted as a group.
        is_turn = len(turn) > 1 and None not in names and len(set(names)) == len(names)
        if not is_turn or call.call_id not in names:
            yield TurnCall(
                self._client, self._patience, call, [], "", _Turn(is_planned=True), False
            )
            return
        said = "\0".join([call.session or "", *map(str, names)])
        key = hashlib.sha256(f"turn\0{said}".encode()).hexdigest()
        with self._lock:
            plans = key not in self._turns
            found = self._turns.setdefault(key, _Turn())
            while len(self._turns) > _MAX_TURNS:
                self._turns.popitem(last=False)
        place = TurnCall(self._client, self._patience, call, list(turn), key, found, plans)
        try:
            yield place
        finally:
            if place.leave():
                with self._lock:
                    self._turns.pop(key, None)


@dataclass(eq=False)
class TurnCall:
    """One call of a turn."""

    client: Client | AsyncClient | None
    patience: float | None
    call: Call
    turn: list[Call]
    #: The idempotency key of the turn: a host that repeats it makes no second group.
    key: str
    planned: _Turn
    #: Whether this call submits the turn for all.
    plans: bool
    start: float = field(default_factory=time.monotonic)

    def clear(self) -> Clearance:
        """Asks, waits for earlier calls, and uses the permit; raises if not approved."""
        client = sync_of(self.client)
        if self.plans:
            try:
                self._assign_plan(client.plan(self.turn, self.call.timeout, key=self.key))
            except CountersignError as error:
                _log.info(_UNPLANNED, error)
            finally:
                self.planned.is_planned = True
        while not self._may_run():
            time.sleep(_POLL_INTERVAL)
        item, stray = self._item()
        if stray is not None:
            with contextlib.suppress(CountersignError):
                client.cancel(stray)
        if item is None:
            return client.clear(self.call, patience=self._left())
        return client.settle(self.call, item, patience=self._left())

    async def clear_async(self) -> Clearance:
        """The same on an event loop."""
        client = async_of(self.client)
        if self.plans:
            try:
                self._assign_plan(await client.plan(self.turn, self.call.timeout, key=self.key))
            except CountersignError as error:
                _log.info(_UNPLANNED, error)
            finally:
                self.planned.is_planned = True
        while not self._may_run():
            await asyncio.sleep(_POLL_INTERVAL)
        item, stray = self._item()
        if stray is not None:
            with contextlib.suppress(CountersignError):
                await client.cancel(stray)
        if item is None:
            return await client.clear(self.call, patience=self._left())
        return await client.settle(self.call, item, patience=self._left())

    def run(self, clearance: Clearance, action: Callable[[], Any], meaning: Meaning = well) -> Any:
        """Runs a cleared call and reports its outcome."""
        return run(sync_of(self.client), clearance, action, meaning)

    async def run_async(
        self, clearance: Clearance, action: Callable[[], Any], meaning: Meaning = well
    ) -> Any:
        """The same for an action that may be awaitable."""
        return await run_async(async_of(self.client), clearance, action, meaning)

    def leave(self) -> bool:
        """Marks the call as ended; returns whether it was the last of its turn."""
        if (planned := self._own_plan()) is not None:
            planned.has_begun = planned.is_over = True
        return all(one.is_over for one in self.planned.calls.values())

    def _left(self) -> float | None:
        if self.patience is None:
            return None
        return max(self.start + self.patience - time.monotonic(), 0.0)

    def _assign_plan(self, batch: Batch) -> None:
        """Assigns the daemon's plan to the calls."""
        calls = [
            _PlannedCall(call, item) for call, item in zip(self.turn, batch.items, strict=True)
        ]
        first: list[_PlannedCall] = []
        for stage in batch.stages:
            for index in stage:
                calls[index].before = list(first)
            first += [calls[index] for index in stage]
        self.planned.calls = {planned.call.call_id or "": planned for planned in calls}

    def _own_plan(self) -> _PlannedCall | None:
        return self.planned.calls.get(self.call.call_id or "")

    def _may_run(self) -> bool:
        """Whether every call that must run first has ended."""
        if not self.planned.is_planned:
            return False
        if (planned := self._own_plan()) is None:
            return True
        planned.has_begun = True
        is_late = time.monotonic() - self.start > _ABSENT_AFTER
        if all(one.is_over or (is_late and not one.has_begun) for one in planned.before):
            return True
        if self._left() == 0.0 and isinstance(planned.item, Request):
            raise StillWaiting(planned.item)
        return False

    def _item(self) -> tuple[Request | None, str | None]:
        """The request of this call, or the id of a pending one for other arguments."""
        if (planned := self._own_plan()) is None:
            return None, None
        if isinstance(planned.item, Problem):
            raise planned.item
        if planned.call == self.call:
            return planned.item, None
        # The call changed after it was submitted, so its request is for another call.
        return None, planned.item.id if planned.item.state is State.PENDING else None
