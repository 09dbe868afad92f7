"""An agent at its door: :class:`Client` waits in its thread, :class:`AsyncClient` in its task."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from . import steps
from .call import Call
from .door import Door, agents_door
from .errors import BadInput, CountersignError
from .request import Request, State
from .steps import Asking, Batch, Clearance, Outcome
from .wire import Steps, drive, drive_async

_T = TypeVar("_T")


def _nothing(_: Request) -> None:
    """Nobody wants to hear that a person is asked."""


class _Agent:
    """Where the daemon is, and what an agent shows there."""

    def __init__(self, door: Door | str | None = None, token: str | None = None) -> None:
        """At a door; what is not given is found as ``countersign ask`` finds it.

        The token is ``COUNTERSIGN_AGENT_TOKEN``; the door ``COUNTERSIGN_AGENTS``, else what
        ``countersign.toml`` says: over the socket the daemon knows its callers without a token.
        """
        token = token or os.environ.get("COUNTERSIGN_AGENT_TOKEN") or None
        if door is None:
            door = agents_door(has_token=token is not None)
        self.door = Door.parse(door) if isinstance(door, str) else door
        self._token = token

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.door)!r})"


class Client(_Agent):
    """An agent that waits for its answers."""

    def ask(
        self,
        call: Call,
        *,
        key: str | None = None,
        join: bool = False,
        patience: float | None = None,
        asked: Callable[[Request], None] = _nothing,
    ) -> Request:
        """Asks, and waits until somebody answered or the time is over.

        The request that comes back is true only if it was approved. ``asked`` is called once if
        it waits for a person. Whoever interrupts the wait takes the question back. Restarts of
        the daemon are survived.

        With ``join`` it shares a request for the very same call that waits, or that was approved
        meanwhile and that nobody used. After ``patience`` seconds :class:`StillWaiting` is
        raised; the question stays open, and whoever joins goes on waiting.
        """
        return self._awaited(lambda tell: steps.ask(call, Asking(tell, key, join, patience)), asked)

    def clear(
        self,
        call: Call,
        *,
        key: str | None = None,
        patience: float | None = None,
        asked: Callable[[Request], None] = _nothing,
    ) -> Clearance:
        """Asks, waits and uses the permit; what is not approved raises.

        Run exactly ``clearance.arguments``, once, and then say what came of it (`report`).
        Without a key it joins what was asked about the very same call, as :meth:`ask` says; an
        approval is used once, whoever joins.
        """
        how = (key, key is None, patience)
        return self._awaited(lambda tell: steps.clear(call, Asking(tell, *how)), asked)

    def settle(
        self,
        call: Call,
        request: Request,
        *,
        patience: float | None = None,
        asked: Callable[[Request], None] = _nothing,
    ) -> Clearance:
        """Waits for a request that was submitted before, and uses its permit."""
        how = (None, True, patience)
        return self._awaited(lambda tell: steps.settle(call, request, Asking(tell, *how)), asked)

    def use(self, call: Call, request: Request) -> Clearance:
        """Uses the permit of a request that was asked before."""
        return self._do(steps.use(call, request))

    def submit(self, call: Call, *, key: str | None = None, join: bool = False) -> Request:
        """Asks without waiting."""
        return self._do(steps.submit(call, _key(key, join), join))

    def get(self, name: str) -> Request:
        """One request."""
        return self._do(steps.get(name))

    def wait(self, name: str, seconds: int = 25) -> Request:
        """One request, once it has ended or so many seconds are over."""
        return self._do(steps.wait(name, seconds))

    def requests(self, state: State | None = None, limit: int = 50) -> list[Request]:
        """Own requests, newest first."""
        return self._do(steps.requests(state, limit))

    def cancel(self, name: str) -> Request:
        """Takes a request back."""
        return self._do(steps.cancel(name))

    def report(self, name: str, outcome: Outcome | str, summary: str = "") -> Request:
        """Says what came of a call: ``ok``, ``error`` or ``skipped``, or more exactly."""
        return self._do(steps.report(name, _outcome(outcome, summary)))

    def came_of(self, call: Call, outcome: Outcome | str, summary: str = "") -> str | None:
        """The same for a call whose request need not be known: its request, if there was one."""
        return self._do(steps.came_of(call, _outcome(outcome, summary)))

    def passed(self, gateway: str, calls: Sequence[tuple[Call, float]]) -> int:
        """Reports calls that passed here by the same judgement, each with how long ago, in seconds.

        How many of them the daemon would have asked about.
        """
        return self._do(steps.passed(gateway, calls))

    def plan(
        self, calls: Sequence[Call], timeout: float | None = None, *, key: str | None = None
    ) -> Batch:
        """Asks about several calls at once, without waiting; people see them as one group."""
        return self._awaited(lambda tell: steps.plan(calls, timeout, key, tell), _nothing)

    def batch(self, calls: Sequence[Call], timeout: float | None = None) -> Batch:
        """Asks about several calls at once and waits until none of them is pending."""
        return self._awaited(lambda tell: steps.batch(calls, timeout, tell), _nothing)

    def assess(self, call: Call) -> dict[str, Any]:
        """What the gate would make of a call, without asking anybody."""
        return self._do(steps.assess(call))

    def screen(self, text: str, session: str | None = None) -> dict[str, Any]:
        """Looks for signs of a person in crisis in a text."""
        return self._do(steps.screen(text, session))

    def pending(self) -> list[dict[str, Any]]:
        """What waits, in the words of the first system."""
        return self._do(steps.pending())

    def jwks(self) -> str:
        """The keys that sign permits, as JSON."""
        return self._do(steps.jwks())

    def health(self) -> int:
        """How many requests wait, from the daemon's own word that it lives."""
        return self._do(steps.health())

    def ready(self) -> None:
        """Comes back only if something can be approved."""
        self._do(steps.ready())

    def _do(self, conversation: Steps[_T]) -> _T:
        return drive(conversation, self.door, self._token)

    def _awaited(
        self,
        begin: Callable[[Callable[[Request], None]], Steps[_T]],
        asked: Callable[[Request], None],
    ) -> _T:
        waiting = _Waiting(asked)
        try:
            return self._do(begin(waiting.tell))
        except Exception:
            raise
        except BaseException:
            # Ctrl-C: nobody waits for the answer any more, so nobody needs to give one.
            for name in waiting.names:
                with contextlib.suppress(CountersignError):
                    self.cancel(name)
            raise


class AsyncClient(_Agent):
    """The same for code that runs on an event loop."""

    async def ask(
        self,
        call: Call,
        *,
        key: str | None = None,
        join: bool = False,
        patience: float | None = None,
        asked: Callable[[Request], None] = _nothing,
    ) -> Request:
        """Like :meth:`Client.ask`. A task that is cancelled takes its question back."""
        how = (key, join, patience)
        return await self._awaited(lambda tell: steps.ask(call, Asking(tell, *how)), asked)

    async def clear(
        self,
        call: Call,
        *,
        key: str | None = None,
        patience: float | None = None,
        asked: Callable[[Request], None] = _nothing,
    ) -> Clearance:
        """Like :meth:`Client.clear`."""
        how = (key, key is None, patience)
        return await self._awaited(lambda tell: steps.clear(call, Asking(tell, *how)), asked)

    async def settle(
        self,
        call: Call,
        request: Request,
        *,
        patience: float | None = None,
        asked: Callable[[Request], None] = _nothing,
    ) -> Clearance:
        """Like :meth:`Client.settle`."""
        how = (None, True, patience)
        return await self._awaited(
            lambda tell: steps.settle(call, request, Asking(tell, *how)), asked
        )

    async def use(self, call: Call, request: Request) -> Clearance:
        """Like :meth:`Client.use`."""
        return await self._do(steps.use(call, request))

    async def submit(self, call: Call, *, key: str | None = None, join: bool = False) -> Request:
        """Like :meth:`Client.submit`."""
        return await self._do(steps.submit(call, _key(key, join), join))

    async def get(self, name: str) -> Request:
        """Like :meth:`Client.get`."""
        return await self._do(steps.get(name))

    async def wait(self, name: str, seconds: int = 25) -> Request:
        """Like :meth:`Client.wait`."""
        return await self._do(steps.wait(name, seconds))

    async def requests(self, state: State | None = None, limit: int = 50) -> list[Request]:
        """Like :meth:`Client.requests`."""
        return await self._do(steps.requests(state, limit))

    async def cancel(self, name: str) -> Request:
        """Like :meth:`Client.cancel`."""
        return await self._do(steps.cancel(name))

    async def report(self, name: str, outcome: Outcome | str, summary: str = "") -> Request:
        """Like :meth:`Client.report`."""
        return await self._do(steps.report(name, _outcome(outcome, summary)))

    async def came_of(self, call: Call, outcome: Outcome | str, summary: str = "") -> str | None:
        """Like :meth:`Client.came_of`."""
        return await self._do(steps.came_of(call, _outcome(outcome, summary)))

    async def passed(self, gateway: str, calls: Sequence[tuple[Call, float]]) -> int:
        """Like :meth:`Client.passed`."""
        return await self._do(steps.passed(gateway, calls))

    async def plan(
        self, calls: Sequence[Call], timeout: float | None = None, *, key: str | None = None
    ) -> Batch:
        """Like :meth:`Client.plan`."""
        return await self._awaited(lambda tell: steps.plan(calls, timeout, key, tell), _nothing)

    async def batch(self, calls: Sequence[Call], timeout: float | None = None) -> Batch:
        """Like :meth:`Client.batch`."""
        return await self._awaited(lambda tell: steps.batch(calls, timeout, tell), _nothing)

    async def assess(self, call: Call) -> dict[str, Any]:
        """Like :meth:`Client.assess`."""
        return await self._do(steps.assess(call))

    async def screen(self, text: str, session: str | None = None) -> dict[str, Any]:
        """Like :meth:`Client.screen`."""
        return await self._do(steps.screen(text, session))

    async def jwks(self) -> str:
        """Like :meth:`Client.jwks`."""
        return await self._do(steps.jwks())

    async def health(self) -> int:
        """Like :meth:`Client.health`."""
        return await self._do(steps.health())

    async def ready(self) -> None:
        """Like :meth:`Client.ready`."""
        await self._do(steps.ready())

    async def _do(self, conversation: Steps[_T]) -> _T:
        return await drive_async(conversation, self.door, self._token)

    async def _awaited(
        self,
        begin: Callable[[Callable[[Request], None]], Steps[_T]],
        asked: Callable[[Request], None],
    ) -> _T:
        waiting = _Waiting(asked)
        try:
            return await self._do(begin(waiting.tell))
        except asyncio.CancelledError:
            for name in waiting.names:
                with contextlib.suppress(CountersignError, asyncio.CancelledError):
                    await asyncio.shield(self.cancel(name))
            raise


class _Waiting:
    """Remembers which requests wait for a person."""

    def __init__(self, asked: Callable[[Request], None]) -> None:
        self._asked = asked
        self.names: list[str] = []

    def tell(self, request: Request) -> None:
        if request.id is not None:
            self.names.append(request.id)
        self._asked(request)


def _outcome(said: Outcome | str, summary: str) -> Outcome:
    return said if isinstance(said, Outcome) else Outcome(said, summary)


def _key(key: str | None, join: bool) -> str | None:
    """What joins has no key of its own: a key asks anew."""
    return key or (None if join else secrets.token_urlsafe())


def sync_of(client: _Agent | None) -> Client:
    """A client that waits in its thread, at the same door."""
    if isinstance(client, Client):
        return client
    return Client() if client is None else Client(client.door, client._token)


def async_of(client: _Agent | None) -> AsyncClient:
    """A client that waits in its task, at the same door."""
    if isinstance(client, AsyncClient):
        return client
    return AsyncClient() if client is None else AsyncClient(client.door, client._token)


def secret_file(name: str | os.PathLike[str]) -> str:
    """A token from a file that nobody else can read."""
    path = Path(name)
    try:
        if path.stat().st_mode & 0o077:
            raise BadInput(f"{path}: others can read this secret: chmod 600 it")
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: {error}") from None
    if not token or not all("!" <= letter <= "~" for letter in token):
        raise BadInput(f"{path}: this is no token")
    return token
