"""An agent at its door: :class:`Client` waits in its thread, :class:`AsyncClient` in its task."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from . import steps
from .call import Call
from .door import Door, agents_door
from .errors import BadInput, CountersignError
from .request import Request, State
from .steps import Batch, Clearance
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
        asked: Callable[[Request], None] = _nothing,
    ) -> Request:
        """Asks, and waits until somebody answered or the time is over.

        The request that comes back is true only if it was approved. ``asked`` is called once if
        it waits for a person. Whoever interrupts the wait takes the question back.
        """
        return self._awaited(lambda tell: steps.ask(call, key, tell), asked)

    def clear(
        self,
        call: Call,
        *,
        key: str | None = None,
        asked: Callable[[Request], None] = _nothing,
    ) -> Clearance:
        """Asks, waits and uses the permit; what is not approved raises.

        Run exactly ``clearance.arguments``, once, and then say what came of it (`report`).
        """
        return self._awaited(lambda tell: steps.clear(call, key, tell), asked)

    def use(self, call: Call, request: Request) -> Clearance:
        """Uses the permit of a request that was asked before."""
        return self._do(steps.use(call, request))

    def submit(self, call: Call, *, key: str | None = None) -> Request:
        """Asks without waiting."""
        return self._do(steps.submit(call, key))

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

    def report(self, name: str, status: str, summary: str = "") -> Request:
        """Says what came of a call: ``ok``, ``error`` or ``skipped``."""
        return self._do(steps.report(name, status, summary))

    def batch(self, calls: Sequence[Call], timeout: float | None = None) -> Batch:
        """Asks about several calls at once and waits until none of them is pending."""
        return self._do(steps.batch(calls, timeout))

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
            if waiting.name is not None:
                with contextlib.suppress(CountersignError):
                    self.cancel(waiting.name)
            raise


class AsyncClient(_Agent):
    """The same for code that runs on an event loop."""

    async def ask(
        self,
        call: Call,
        *,
        key: str | None = None,
        asked: Callable[[Request], None] = _nothing,
    ) -> Request:
        """Like :meth:`Client.ask`. A task that is cancelled takes its question back."""
        return await self._awaited(lambda tell: steps.ask(call, key, tell), asked)

    async def clear(
        self,
        call: Call,
        *,
        key: str | None = None,
        asked: Callable[[Request], None] = _nothing,
    ) -> Clearance:
        """Like :meth:`Client.clear`."""
        return await self._awaited(lambda tell: steps.clear(call, key, tell), asked)

    async def use(self, call: Call, request: Request) -> Clearance:
        """Like :meth:`Client.use`."""
        return await self._do(steps.use(call, request))

    async def submit(self, call: Call, *, key: str | None = None) -> Request:
        """Like :meth:`Client.submit`."""
        return await self._do(steps.submit(call, key))

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

    async def report(self, name: str, status: str, summary: str = "") -> Request:
        """Like :meth:`Client.report`."""
        return await self._do(steps.report(name, status, summary))

    async def batch(self, calls: Sequence[Call], timeout: float | None = None) -> Batch:
        """Like :meth:`Client.batch`."""
        return await self._do(steps.batch(calls, timeout))

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
            if waiting.name is not None:
                with contextlib.suppress(CountersignError, asyncio.CancelledError):
                    await asyncio.shield(self.cancel(waiting.name))
            raise


class _Waiting:
    """Remembers which request waits for a person."""

    def __init__(self, asked: Callable[[Request], None]) -> None:
        self._asked = asked
        self.name: str | None = None

    def tell(self, request: Request) -> None:
        self.name = request.id
        self._asked(request)


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
