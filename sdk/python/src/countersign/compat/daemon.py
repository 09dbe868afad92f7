"""The interface of the original confirmation daemon, backed by the real daemon."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import logging
import os
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .. import program
from ..call import Call
from ..client import Client
from ..endpoint import Endpoint, agent_endpoint
from ..errors import CountersignError, NotFound, Problem
from ..request import State
from . import person
from .confirmation import ConfirmationRequest, ConfirmationStatus, denied, seen

_log = logging.getLogger("countersign")
#: How long a daemon may take to start, in seconds.
_OPENING = 60.0
_LONGEST = 600.0


class ConfirmationDaemon:
    """The daemon that asks people: started by this object, or already running.

    ``start`` spawns ``countersign serve``. At its first start it shows the owner's passphrase on
    the terminal it inherits, not through this process; without a terminal it creates no person. If
    an agent can read that terminal, start the daemon elsewhere first: ``start`` uses a running one.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 6000,
        default_timeout: int = 300,
        notify_callback: Callable[[dict[str, Any]], object] | None = None,
        *,
        people: str | None = None,
        state: str | os.PathLike[str] | None = None,
        config: str | os.PathLike[str] | None = None,
        token: str | None = None,
        person_token: str | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self.default_timeout = default_timeout
        self.notify_callback = notify_callback
        self._people = people
        self._state = None if state is None else os.fspath(state)
        self._config = None if config is None else os.fspath(config)
        self._token = token
        self._person_token = person_token
        self._process: subprocess.Popen[bytes] | None = None
        #: The calls by request id: an approval can be used for exactly its call.
        self._asked: dict[str, Call] = {}

    def request(
        self,
        action: str,
        description: str,
        payload: Mapping[str, Any] | None = None,
        risk_level: str | None = None,
        session_key: str = "",
        timeout: int | None = None,
    ) -> ConfirmationRequest:
        """Asks without waiting. ``risk_level`` can raise the risk, never lower it.

        Nothing is raised: what cannot be asked is denied, and ``reason`` says why.
        """
        try:
            call = Call(
                tool=action,
                arguments=payload or {},
                description=description,
                risk_level=risk_level,
                session=session_key or None,
                # The original API knows no project.
                project="",
                timeout=min(timeout or self.default_timeout, _LONGEST),
            )
            request = self._client().submit(call)
        except Exception as error:
            _log.warning("DENIED %s: %s", action, error)
            return denied(action, description, payload, session_key, str(error))
        found = seen(request, call)
        if request.id is not None:
            self._asked[request.id] = call
        if request.state is State.PENDING and self.notify_callback is not None:
            try:
                self.notify_callback(found.to_dict())
            except Exception as error:
                _log.warning("the notify callback failed: %s", error)
        return found

    def respond(
        self,
        request_id: str,
        approved: bool,
        decided_by: str = "human",
        reason: str = "",
    ) -> ConfirmationRequest | None:
        """Decides a request; None if it is not found.

        This needs a person's token (``person_token`` or ``COUNTERSIGN_TOKEN``), which also says
        who decided; ``decided_by`` is ignored.
        """
        del decided_by
        endpoint = None if self._people is None else Endpoint.parse(self._people)
        try:
            person.respond(request_id, approved is True, reason, endpoint, self._person_token)
        except NotFound:
            return None
        except Problem as error:
            if error.status != 409:
                raise
        return self._get(request_id)

    def wait_for_decision(
        self, request_id: str, timeout: float | None = None
    ) -> ConfirmationRequest:
        """Waits for the decision. After the timeout the request is cancelled, because nothing
        would use a later approval."""
        until = time.monotonic() + (timeout or self.default_timeout)
        try:
            client = self._client()
            while (left := until - time.monotonic()) > 0:
                found = client.wait(request_id, max(1, min(25, int(left))))
                if found.state is not State.PENDING:
                    return seen(found, self._asked.get(request_id))
            with contextlib.suppress(Problem):
                client.cancel(request_id)
            found = client.get(request_id)
            late = seen(found, self._asked.get(request_id))
            if found.state in (State.PENDING, State.CANCELLED):
                late.status = ConfirmationStatus.EXPIRED.value
            return late
        except CountersignError as error:
            lost = denied("unknown", "Request not found", {}, "", str(error), request_id)
            lost.status = ConfirmationStatus.EXPIRED.value
            return lost

    def get_pending(self) -> list[dict[str, Any]]:
        """The pending requests."""
        found = self._client().pending()
        for one in found:
            if isinstance(one.get("payload"), str):
                with contextlib.suppress(ValueError):
                    one["payload"] = json.loads(one["payload"])
        return found

    def get_history(self, limit: int = 50) -> list[dict[str, Any]]:
        """The decided requests, newest last."""
        found = [
            one for one in self._client().requests(limit=500) if one.state is not State.PENDING
        ]
        listed = [seen(one, self._asked.get(one.id or "")).to_dict() for one in found[:limit]]
        return listed[::-1]

    def start(self) -> None:
        """Starts the daemon, unless one is running, and waits until it listens."""
        if self.port == 0:
            self.port = _free_port(self.host)
        if self._listens():
            return
        words = [program.program(), "serve", "--agents", f"{self.host}:{self.port}"]
        for name, value in (
            ("people", self._people),
            ("state", self._state),
            ("config", self._config),
        ):
            if value is not None:
                words += [f"--{name}", value]
        # The output goes to the terminal, not to this process: it may contain the passphrase.
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        atexit.register(self.stop)
        until = time.monotonic() + _OPENING
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise CountersignError("the daemon did not start; see its output")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stops the daemon that was started here."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.wait(_OPENING)
            atexit.unregister(self.stop)

    async def start_async(self) -> None:
        """Starts the daemon while other tasks run."""
        await asyncio.to_thread(self.start)

    async def stop_async(self) -> None:
        """Stops the daemon while other tasks run."""
        await asyncio.to_thread(self.stop)

    def start_blocking(self) -> None:
        """Starts the daemon and waits until it ends."""
        self.start()
        try:
            if self._process is not None:
                self._process.wait()
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    def approved(self, request: ConfirmationRequest) -> bool:
        """Whether the action of a request may run; uses the approval, so it is True once."""
        try:
            call, client = self._asked[request.request_id], self._client()
            found = client.get(request.request_id)
            if found.edited_arguments is not None:
                _log.warning("DENIED %s: a person approved an edited payload", request.action)
                return False
            client.use(call, found)
        except (CountersignError, KeyError) as error:
            _log.warning("DENIED %s: %s", request.action, error)
            return False
        return True

    def _client(self) -> Client:
        token = self._token or os.environ.get("COUNTERSIGN_AGENT_TOKEN")
        if token:
            endpoint = Endpoint(host=self.host, port=self.port)
            return Client(endpoint, token, daemon_key=self._daemon_key())
        # Over the socket the daemon identifies callers by their user, without a token.
        said = {name: text for name, text in os.environ.items() if name != "COUNTERSIGN_AGENTS"}
        if self._state is not None:
            said["COUNTERSIGN_STATE"] = str(Path(self._state).absolute())
        if self._config is not None:
            said["COUNTERSIGN_CONFIG"] = self._config
        endpoint = agent_endpoint(has_token=False, environ=said)
        return Client(endpoint, daemon_key=self._daemon_key())

    def _daemon_key(self) -> Path | None:
        """The key of a daemon whose state folder the program named."""
        return None if self._state is None else Path(self._state).absolute() / "daemon.pub"

    def _get(self, name: str) -> ConfirmationRequest:
        return seen(self._client().get(name), self._asked.get(name))

    def _listens(self) -> bool:
        try:
            Client(Endpoint(host=self.host, port=self.port)).health()
        except CountersignError:
            return False
        return True


def _free_port(host: str) -> int:
    with socket.create_server((host, 0)) as taken:
        return int(taken.getsockname()[1])


_daemon: ConfirmationDaemon | None = None


def get_daemon() -> ConfirmationDaemon | None:
    """The daemon of this process, if ``init_daemon`` was called."""
    return _daemon


def init_daemon(
    host: str = "127.0.0.1",
    port: int = 6000,
    notify_callback: Callable[[dict[str, Any]], object] | None = None,
) -> ConfirmationDaemon:
    """Makes the daemon of this process; ``start`` starts it."""
    global _daemon
    _daemon = ConfirmationDaemon(host=host, port=port, notify_callback=notify_callback)
    return _daemon


def request_confirmation(
    action: str,
    description: str,
    payload: Mapping[str, Any] | None = None,
    risk_level: str | None = None,
    session_key: str = "",
    timeout: int = 300,
) -> bool:
    """Asks whether an action may run, and waits for the decision.

    True only if it was approved, exactly as it was asked. False if it was denied, if nobody
    answered in time, and where no daemon runs.
    """
    daemon = get_daemon()
    if daemon is None:
        _log.warning("DENIED %s: no confirmation daemon (call init_daemon first)", action)
        return False
    found = daemon.request(action, description, payload, risk_level, session_key, timeout)
    if found.status == ConfirmationStatus.PENDING.value:
        found = daemon.wait_for_decision(found.request_id, timeout)
    yes = (ConfirmationStatus.APPROVED.value, ConfirmationStatus.AUTO_APPROVED.value)
    return found.status in yes and daemon.approved(found)
