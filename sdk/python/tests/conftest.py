"""A real daemon in a temporary folder, with a person and an agent."""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from countersign import AsyncClient, Client
from countersign.adapters.turns import TurnCall

REPOSITORY = Path(__file__).resolve().parents[3]
# Without rate limits, which other tests cover.
SETTINGS = """
[listen]
agents = "127.0.0.1:0"
people = "127.0.0.1:0"
# Clients of the original API send neither digest nor word.
respond_without_word = true
[flood]
open_per_agent = 100000
asks_per_minute = 100000
asks_per_hour = 100000
denials = 100000
"""


def binary() -> Path:
    """The program under test."""
    named = os.environ.get("COUNTERSIGN_BINARY")
    return Path(named) if named else REPOSITORY / "target/debug/countersign"


class DaemonFixture:
    """A running daemon, a signed-in owner and an agent with a token."""

    def __init__(self, folder: Path, settings: str = SETTINGS) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.config = folder / "countersign.toml"
        self.config.write_text(settings)
        self.key_file = folder / "state/daemon.pub"
        self.passphrase = ""
        self.start()
        said = {"name": "owner", "passphrase": self.passphrase, "channel": "terminal"}
        try:
            self.owner = str(self._people("POST", "/v1/login", said)["token"])
            self.token = str(self._people("POST", "/v1/agents", {"name": "py"})["token"])
        except BaseException:
            self.stop()
            raise

    def start(self, agents: str = "127.0.0.1:0") -> None:
        words = [binary(), "serve", "--json", "--print-passphrase", "--agents", agents]
        words += ["--config", self.config, "--state", self.folder / "state", "--log", "error"]
        self.process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        told = json.loads(self.process.stdout.readline())
        self.agents, self.people = str(told["agents"]), str(told["people"])
        self.socket = str(told["socket"])
        #: The pin of the TLS key, if TLS is on.
        self.pin = told.get("tls")
        self.passphrase = told.get("passphrase") or self.passphrase

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def client(self) -> Client:
        return Client(self.agents, self.token, daemon_key=self.key_file)

    def async_client(self) -> AsyncClient:
        return AsyncClient(self.agents, self.token, daemon_key=self.key_file)

    def _people(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        connection = http.client.HTTPConnection(self.people, timeout=120)
        if self.pin:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(self.folder / "state/tls.crt")
            connection = http.client.HTTPSConnection(self.people, timeout=120, context=context)
        headers = {"Content-Type": "application/json"}
        if hasattr(self, "owner"):
            headers["Authorization"] = f"Bearer {self.owner}"
            proof = base64.urlsafe_b64encode(self.passphrase.encode()).decode().rstrip("=")
            headers["X-Countersign-Step-Up"] = f"passphrase {proof}"
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, headers)
        answer = connection.getresponse()
        found = json.loads(answer.read())
        connection.close()
        assert answer.status < 300, found
        return dict(found)

    def pending(self) -> list[dict[str, Any]]:
        return list(self._people("GET", "/v1/requests?state=pending")["requests"])

    def decide(self, request: dict[str, Any], choice: str, **more: Any) -> None:
        body = {"choice": choice, "digest": request["digest"], "word": request["phrase"], **more}
        if "edited_arguments" in more:
            # Approving an edit needs the digest from checking it.
            edit = {"digest": request["digest"], "edited_arguments": more["edited_arguments"]}
            checked = self._people("POST", f"/v1/requests/{request['id']}/edit", edit)
            body["edited_digest"] = checked["digest"]
            body["word"] = checked["phrase"]
        self._people("POST", f"/v1/requests/{request['id']}/decision", body)

    def calm(self) -> None:
        """A person ends every crisis context."""
        for crisis in self._people("GET", "/v1/crises")["crises"]:
            which = {"agent": crisis["agent"], "session": crisis["session"]}
            self._people("POST", "/v1/crises/lift", {**which, "reason": "a test is over"})

    def seen(self, name: str) -> dict[str, Any]:
        """A request as people see it."""
        return self._people("GET", f"/v1/requests/{name}")

    def latest(self) -> dict[str, Any]:
        """The newest request as people see it."""
        listed = self._people("GET", "/v1/requests?limit=1")["requests"]
        return self.seen(listed[0]["id"])

    def kept(self) -> int:
        """The number of all requests."""
        return len(self._people("GET", "/v1/requests?limit=500")["requests"])

    @contextmanager
    def answering(self, choice: str = "approve", **more: Any) -> Iterator[list[dict[str, Any]]]:
        """Decides every request in the same way; yields the decided requests."""
        return_now = threading.Event()
        answered: list[dict[str, Any]] = []
        wrong: list[BaseException] = []

        def person() -> None:
            try:
                while not return_now.wait(0.02):
                    for request in self.pending():
                        answered.append(request)
                        self.decide(request, choice, **more)
            except BaseException as error:
                wrong.append(error)

        thread = threading.Thread(target=person)
        thread.start()
        try:
            yield answered
        finally:
            return_now.set()
            thread.join()
            assert not wrong, wrong

    @contextmanager
    def meanwhile(self, work: Callable[[], Any]) -> Iterator[list[Any]]:
        """Runs ``work`` in a thread; yields a list that receives its result."""
        results: list[Any] = []
        wrong: list[BaseException] = []

        def works() -> None:
            try:
                results.append(work())
            except BaseException as error:
                wrong.append(error)

        thread = threading.Thread(target=works, daemon=True)
        thread.start()
        try:
            yield results
        except BaseException:
            # The test failed: end the waits of its thread.
            with self.answering("deny"):
                thread.join(20)
            raise
        thread.join(30)
        assert not wrong, wrong
        assert results, "the work did not end"

    def waiting(self, *parts: str) -> list[dict[str, Any]]:
        """The pending requests that mention each of these parts, in this order."""

        def found() -> list[dict[str, Any]]:
            pending = self.pending()
            named = [[one for one in pending if part in one["brief"]] for part in parts]
            return [one[0] for one in named if one]

        self.wait_until(lambda: len(found()) == len(parts))
        return found()

    def wait_until(self, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < until, "the condition did not become true"
            time.sleep(0.02)


@pytest.fixture(scope="session")
def running_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonFixture]:
    fixture = DaemonFixture(tmp_path_factory.mktemp("daemon"))
    yield fixture
    fixture.stop()


@pytest.fixture(autouse=True)
def agent_environment(
    running_daemon: DaemonFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[None]:
    """The environment of an agent's process: its endpoint and its own token."""
    program = str(binary())
    for name in list(os.environ):
        if name.startswith(("COUNTERSIGN_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COUNTERSIGN_BINARY", program)
    monkeypatch.setenv("HOME", str(tmp_path))
    pinned = tmp_path / ".config/countersign/daemon.pub"
    pinned.parent.mkdir(parents=True, exist_ok=True)
    pinned.write_text(running_daemon.key_file.read_text())
    monkeypatch.setenv("COUNTERSIGN_AGENTS", running_daemon.agents)
    monkeypatch.setenv("COUNTERSIGN_AGENT_TOKEN", running_daemon.token)
    yield
    for request in running_daemon.pending():
        running_daemon.decide(request, "deny")
    running_daemon.calm()


@pytest.fixture
def no_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """No daemon listens, and the client gives up soon."""
    monkeypatch.setenv("COUNTERSIGN_AGENTS", "127.0.0.1:1")
    monkeypatch.setattr("countersign.steps._FIRST_CONTACT", 0.2)


@pytest.fixture
def turn_polls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The receiver of an e-mail, each time its call looked whether it may run in its turn."""
    polls: list[str] = []
    may_run = TurnCall._may_run

    def counted(self: TurnCall) -> bool:
        found = may_run(self)
        polls.append(str(self.call.arguments["to"]))
        return found

    monkeypatch.setattr(TurnCall, "_may_run", counted)
    return polls
