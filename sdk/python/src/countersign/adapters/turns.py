"""How an adapter asks: one call, or all calls of a model's turn as one group."""

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

#: Turns that are remembered; more than that were left unfinished by their hosts.
_MOST = 1000
#: How long a call that must run first may take to begin; a host may have dropped it.
_ABSENT = 1.0
_LOOK = 0.01
_UNPLANNED = "the calls of a turn could not be planned, so each is asked about alone: %s"
_log = logging.getLogger("countersign")


class Surroundings(TypedDict, total=False):
    """What an adapter may be told beside the daemon it asks."""

    #: The agent's session.
    session: str | None
    #: Where the agent's user sits: cli, api, telegram or discord.
    platform: str | None
    #: The working directory.
    cwd: str | None
    #: The root folder of the project.
    project: str | None
    #: workstation, production, ci or container; it can only be claimed for the worse.
    environment: str | None
    #: How long people have to answer, in seconds.
    timeout: float | None
    #: How long a call waits here, in seconds, before the model is told to propose it again.
    patience: float | None


Meaning = Callable[[Any], tuple[bool, object]]


def well(result: Any) -> tuple[bool, object]:
    """A result is a success, and worth a digest as it is."""
    return True, result


@dataclass(eq=False)
class _Seat:
    """A planned call: how it stands, and what has to be over before it runs."""

    call: Call
    item: Request | Problem
    before: list[_Seat] = field(default_factory=list)
    has_begun: bool = False
    is_over: bool = False


@dataclass(eq=False)
class _Turn:
    """The calls of one turn; empty until they are planned, and if they cannot be."""

    seats: dict[str, _Seat] = field(default_factory=dict)
    is_planned: bool = False


class Asks:
    """How an adapter reads a call and asks about it."""

    def __init__(
        self,
        client: Client | AsyncClient | None = None,
        **surroundings: Unpack[Surroundings],
    ) -> None:
        unknown = set(surroundings) - set(Surroundings.__annotations__)
        if unknown:
            raise TypeError(f"unexpected: {', '.join(sorted(unknown))}")
        self._client = client
        self._context: dict[str, Any] = dict(surroundings)
        self._patience: float | None = self._context.pop("patience", None)
        self._turns: OrderedDict[str, _Turn] = OrderedDict()
        self._lock = threading.Lock()

    def call(self, tool: str, arguments: Any, call_id: str | None, session: str | None) -> Call:
        """A call as the framework hands it over; its own session counts where none was given."""
        context = {**self._context, "session": self._context.get("session") or session}
        return Call(tool=tool, arguments=dict(arguments), call_id=call_id or None, **context)

    def clear(self, call: Call) -> Clearance:
        """Asks about a call alone, waits and uses the permit."""
        return sync_of(self._client).clear(call, patience=self._patience)

    def tell(self, clearance: Clearance, outcome: Outcome) -> None:
        """Says what came of it."""
        if clearance.request.id is not None:
            sync_of(self._client).report(clearance.request.id, outcome)

    @contextlib.contextmanager
    def place(self, call: Call, turn: Sequence[Call] = ()) -> Iterator[Place]:
        """A call's place among the calls of its turn, until it is over."""
        names = [one.call_id for one in turn]
        # Only what can be told apart is planned together.
        is_turn = len(turn) > 1 and None not in names and len(set(names)) == len(names)
        if not is_turn or call.call_id not in names:
            yield Place(self._client, self._patience, call, [], "", _Turn(is_planned=True), False)
            return
        said = "\0".join([call.session or "", *map(str, names)])
        key = hashlib.sha256(f"turn\0{said}".encode()).hexdigest()
        with self._lock:
            plans = key not in self._turns
            found = self._turns.setdefault(key, _Turn())
            while len(self._turns) > _MOST:
                self._turns.popitem(last=False)
        place = Place(self._client, self._patience, call, list(turn), key, found, plans)
        try:
            yield place
        finally:
            if place.leave():
                with self._lock:
                    self._turns.pop(key, None)


@dataclass(eq=False)
class Place:
    """One call takes its place."""

    client: Client | AsyncClient | None
    patience: float | None
    call: Call
    turn: list[Call]
    #: The idempotency key of the turn: a host that takes it up again asks about it once.
    key: str
    planned: _Turn
    #: Whether this one plans for all.
    plans: bool
    start: float = field(default_factory=time.monotonic)

    def clear(self) -> Clearance:
        """Asks, waits for what must run first, and uses the permit; what is not approved raises."""
        client = sync_of(self.client)
        if self.plans:
            try:
                self._seat_all(client.plan(self.turn, self.call.timeout, key=self.key))
            except CountersignError as error:
                _log.info(_UNPLANNED, error)
            finally:
                self.planned.is_planned = True
        while not self._may_go():
            time.sleep(_LOOK)
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
                self._seat_all(await client.plan(self.turn, self.call.timeout, key=self.key))
            except CountersignError as error:
                _log.info(_UNPLANNED, error)
            finally:
                self.planned.is_planned = True
        while not self._may_go():
            await asyncio.sleep(_LOOK)
        item, stray = self._item()
        if stray is not None:
            with contextlib.suppress(CountersignError):
                await client.cancel(stray)
        if item is None:
            return await client.clear(self.call, patience=self._left())
        return await client.settle(self.call, item, patience=self._left())

    def run(self, clearance: Clearance, action: Callable[[], Any], meaning: Meaning = well) -> Any:
        """Runs what was cleared, and tells the daemon what came of it."""
        return run(sync_of(self.client), clearance, action, meaning)

    async def run_async(
        self, clearance: Clearance, action: Callable[[], Any], meaning: Meaning = well
    ) -> Any:
        """The same for an action that may have to be awaited."""
        return await run_async(async_of(self.client), clearance, action, meaning)

    def leave(self) -> bool:
        """This one is over; whether it was the last."""
        if (seat := self._seat()) is not None:
            seat.has_begun = seat.is_over = True
        return all(one.is_over for one in self.planned.seats.values())

    def _left(self) -> float | None:
        if self.patience is None:
            return None
        return max(self.start + self.patience - time.monotonic(), 0.0)

    def _seat_all(self, batch: Batch) -> None:
        """Everybody's place, by the daemon's plan."""
        seats = [_Seat(call, item) for call, item in zip(self.turn, batch.items, strict=True)]
        first: list[_Seat] = []
        for stage in batch.stages:
            for index in stage:
                seats[index].before = list(first)
            first += [seats[index] for index in stage]
        self.planned.seats = {seat.call.call_id or "": seat for seat in seats}

    def _seat(self) -> _Seat | None:
        return self.planned.seats.get(self.call.call_id or "")

    def _may_go(self) -> bool:
        """Whether everything that must run first is over."""
        if not self.planned.is_planned:
            return False
        if (seat := self._seat()) is None:
            return True
        seat.has_begun = True
        is_late = time.monotonic() - self.start > _ABSENT
        if all(one.is_over or (is_late and not one.has_begun) for one in seat.before):
            return True
        if self._left() == 0.0 and isinstance(seat.item, Request):
            raise StillWaiting(seat.item)
        return False

    def _item(self) -> tuple[Request | None, str | None]:
        """The request of this very call, or the name of one that was planned for another."""
        if (seat := self._seat()) is None:
            return None, None
        if isinstance(seat.item, Problem):
            raise seat.item
        if seat.call == self.call:
            return seat.item, None
        # It changed since it was planned: what was asked is not what would run.
        return None, seat.item.id if seat.item.state is State.PENDING else None
