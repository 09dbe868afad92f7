"""The agent API: :class:`Client` blocks its thread, :class:`AsyncClient` its task."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from . import screening, steps
from .call import Call
from .daemon_key import KeySource
from .endpoint import Endpoint, agent_endpoint
from .errors import BadInput, CountersignError
from .request import Request, State
from .steps import AskOptions, Batch, Clearance, Outcome
from .wire import Connection, Steps, drive, drive_async

_T = TypeVar("_T")


def _nothing(_: Request) -> None:
    """The default for ``asked``."""


class _Agent:
    """The daemon's address and the agent's token."""

    def __init__(
        self,
        endpoint: Endpoint | str | None = None,
        token: str | None = None,
        *,
        daemon_key: KeySource = None,
    ) -> None:
        """Finds a missing argument as ``countersign ask`` does.

        The token is ``COUNTERSIGN_AGENT_TOKEN``. The endpoint is ``COUNTERSIGN_AGENTS``, else the
        address in ``countersign.toml``. Over the socket, no token is needed: the daemon identifies
        callers by their user.

        ``daemon_key`` is the daemon's public key, or its file. By default it is the key that
        ``countersign serve`` or ``countersign keys trust`` wrote for this user; a response that it
        did not sign is an error.
        """
        token = token or os.environ.get("COUNTERSIGN_AGENT_TOKEN") or None
        if endpoint is None:
            endpoint = agent_endpoint(has_token=token is not None)
        self.endpoint = Endpoint.parse(endpoint) if isinstance(endpoint, str) else endpoint
        self._token = token
        self._daemon_key = daemon_key

    @property
    def _connection(self) -> Connection:
        return Connection(self.endpoint, self._token, self._daemon_key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.endpoint)!r})"


class Client(_Agent):
    """A blocking client."""

    def ask(
        self,
        call: Call,
        *,
        key: str | None = None,
        join: bool = False,
        patience: float | None = None,
        asked: Callable[[Request], None] = _nothing,
    ) -> Request:
        """Asks, and waits for the decision or the deadline.

        The returned request is true only if it was approved. ``asked`` is called once if the
        request is pending. Interrupting the wait cancels the request. Restarts of the daemon do
        not end the wait.

        With ``join``, an existing request for the same call is shared if it is pending, or
        approved and not yet used. After ``patience`` seconds :class:`StillWaiting` is raised; the
        request stays pending and can be joined again.
        """
        return self._awaited(
            lambda tell: steps.ask(call, AskOptions(tell, key, join, patience)), asked
        )

    def clear(
        self,
        call: Call,
        *,
        key: str | None = None,
        patience: float | None = None,
        asked: Callable[[Request], None] = _nothing,
    ) -> Clearance:
        """Asks, waits and uses the permit; raises if the call is not approved.

        Run exactly ``clearance.arguments``, once, and then call :meth:`report`. Without a key,
        an existing request for the same call is joined, as in :meth:`ask`; an approval can be used
        once, however many callers join.
        """
        how = (key, key is None, patience)
        return self._awaited(lambda tell: steps.clear(call, AskOptions(tell, *how)), asked)

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
        return self._awaited(
            lambda tell: steps.settle(call, request, AskOptions(tell, *how)), asked
        )

    def use(self, call: Call, request: Request) -> Clearance:
        """Uses the permit of an approved request."""
        return self._do(steps.use(call, request))

    def submit(self, call: Call, *, key: str | None = None, join: bool = False) -> Request:
        """Asks without waiting."""
        return self._do(steps.submit(call, _key(key, join), join))

    def get(self, name: str) -> Request:
        """One request."""
        return self._do(steps.get(name))

    def wait(self, name: str, seconds: int = 25) -> Request:
        """One request, when it has ended or after this many seconds."""
        return self._do(steps.wait(name, seconds))

    def requests(self, state: State | None = None, limit: int = 50) -> list[Request]:
        """The agent's own requests, newest first."""
        return self._do(steps.requests(state, limit))

    def cancel(self, name: str) -> Request:
        """Cancels a request."""
        return self._do(steps.cancel(name))

    def report(self, name: str, outcome: Outcome | str, summary: str = "") -> Request:
        """Reports the outcome of a call: ``ok``, ``error``, ``skipped``, or an `Outcome`."""
        return self._do(steps.report(name, _outcome(outcome, summary)))

    def report_outcome(self, call: Call, outcome: Outcome | str, summary: str = "") -> str | None:
        """Reports the outcome of a call; returns the id of its request, if there was one."""
        return self._do(steps.report_outcome(call, _outcome(outcome, summary)))

    def report_passes(self, gateway: str, calls: Sequence[tuple[Call, float]]) -> int:
        """Reports calls that a gateway let pass by the same rules, each with its age in seconds.

        Returns how many of them the daemon would have asked about.
        """
        return self._do(steps.report_passes(gateway, calls))

    def plan(
        self, calls: Sequence[Call], timeout: float | None = None, *, key: str | None = None
    ) -> Batch:
        """Asks about several calls at once, without waiting; people see them as one group."""
        return self._awaited(lambda tell: steps.plan(calls, timeout, key, tell), _nothing)

    def batch(self, calls: Sequence[Call], timeout: float | None = None) -> Batch:
        """Asks about several calls at once and waits until none of them is pending."""
        return self._awaited(lambda tell: steps.batch(calls, timeout, tell), _nothing)

    def assess(self, call: Call) -> dict[str, Any]:
        """The assessment of a call, without asking a person."""
        return self._do(steps.assess(call))

    def screen(
        self, text: str, session: str | None = None, *, role: str = "user", ask: bool = False
    ) -> dict[str, Any]:
        """Looks for signs of a person in crisis in a text, and asks the guard model about it.

        ``role`` is ``user`` for what a person wrote and ``agent`` for a text before it goes out.
        With ``ask`` a person is asked about an agent's text that must not go out by itself.

        A person's text is screened by the ``countersign`` program if the daemon fails, or if it
        takes longer than 0.3 seconds and the text shows signs. Without the program the answer has a
        fixed card and the concern ``unknown``. Such an answer has the member ``offline``. A text of
        the agent needs the daemon.

        :func:`~countersign.user_texts` reads from the answer what the application shows to the
        user: the card, that no person has answered, and what a person who has taken over writes.
        """
        if role != "user":
            return self._do(steps.screen(text, session, role, ask))
        _check_ask(ask)
        return screening.screen(lambda: self._do(steps.screen(text, session)), text)

    def takeover(self, session: str | None = None) -> dict[str, Any]:
        """Whether a person has taken over a conversation, and what they wrote to the user.

        Ask every few seconds while ``context`` is ``crisis``: people write when they can. Read the
        answer with :func:`~countersign.user_texts`.
        """
        return self._do(steps.takeover(session))

    def pending(self) -> list[dict[str, Any]]:
        """The pending requests, in the format of the original API."""
        return self._do(steps.pending())

    def jwks(self) -> str:
        """The keys that sign permits, as JSON."""
        return self._do(steps.jwks())

    def health(self) -> int:
        """The number of pending requests, from the health check."""
        return self._do(steps.health())

    def ready(self) -> None:
        """Returns only if the daemon is ready to decide; raises otherwise."""
        self._do(steps.ready())

    def _do(self, conversation: Steps[_T]) -> _T:
        return drive(conversation, self._connection)

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
            # Ctrl-C: the caller no longer waits, so people should not be asked.
            for name in waiting.names:
                with contextlib.suppress(CountersignError):
                    self.cancel(name)
            raise


class AsyncClient(_Agent):
    """The same client for an event loop."""

    async def ask(
        self,
        call: Call,
        *,
        key: str | None = None,
        join: bool = False,
        patience: float | None = None,
        asked: Callable[[Request], None] = _nothing,
    ) -> Request:
        """Like :meth:`Client.ask`. Cancelling the task cancels the request."""
        how = (key, join, patience)
        return await self._awaited(lambda tell: steps.ask(call, AskOptions(tell, *how)), asked)

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
        return await self._awaited(lambda tell: steps.clear(call, AskOptions(tell, *how)), asked)

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
            lambda tell: steps.settle(call, request, AskOptions(tell, *how)), asked
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

    async def report_outcome(
        self, call: Call, outcome: Outcome | str, summary: str = ""
    ) -> str | None:
        """Like :meth:`Client.report_outcome`."""
        return await self._do(steps.report_outcome(call, _outcome(outcome, summary)))

    async def report_passes(self, gateway: str, calls: Sequence[tuple[Call, float]]) -> int:
        """Like :meth:`Client.report_passes`."""
        return await self._do(steps.report_passes(gateway, calls))

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

    async def screen(
        self, text: str, session: str | None = None, *, role: str = "user", ask: bool = False
    ) -> dict[str, Any]:
        """Like :meth:`Client.screen`."""
        if role != "user":
            return await self._do(steps.screen(text, session, role, ask))
        _check_ask(ask)
        return await screening.screen_async(self._do(steps.screen(text, session)), text)

    async def takeover(self, session: str | None = None) -> dict[str, Any]:
        """Like :meth:`Client.takeover`."""
        return await self._do(steps.takeover(session))

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
        return await drive_async(conversation, self._connection)

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
    """Remembers the pending requests."""

    def __init__(self, asked: Callable[[Request], None]) -> None:
        self._asked = asked
        self.names: list[str] = []

    def tell(self, request: Request) -> None:
        if request.id is not None:
            self.names.append(request.id)
        self._asked(request)


def _check_ask(ask: bool) -> None:
    if ask:
        raise BadInput("`ask` is for texts of an agent")


def _outcome(said: Outcome | str, summary: str) -> Outcome:
    return said if isinstance(said, Outcome) else Outcome(said, summary)


def _key(key: str | None, join: bool) -> str | None:
    """A key always makes a new request, so a joining call has none."""
    return key or (None if join else secrets.token_urlsafe())


def sync_of(client: _Agent | None) -> Client:
    """A blocking client for the same endpoint."""
    if isinstance(client, Client):
        return client
    if client is None:
        return Client()
    return Client(client.endpoint, client._token, daemon_key=client._daemon_key)


def async_of(client: _Agent | None) -> AsyncClient:
    """A client for an event loop, for the same endpoint."""
    if isinstance(client, AsyncClient):
        return client
    if client is None:
        return AsyncClient()
    return AsyncClient(client.endpoint, client._token, daemon_key=client._daemon_key)


def secret_file(name: str | os.PathLike[str]) -> str:
    """Reads a token from a file that only its owner can read."""
    path = Path(name)
    try:
        if path.stat().st_mode & 0o077:
            raise BadInput(f"{path}: other users can read this file; run chmod 600")
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: {error}") from None
    if not token or not all("!" <= letter <= "~" for letter in token):
        raise BadInput(f"{path}: invalid token")
    return token
