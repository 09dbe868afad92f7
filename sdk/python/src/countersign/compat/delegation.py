"""The original names for delegation between agents, backed by ``countersign a2a``.

The program does the work: mutual TLS, revoked certificates, and both gates. A task that is sent
passes the sender's gate, and the receiver's person approves it before it runs.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .. import program
from ..errors import CountersignError

_TERMINAL = {"completed", "failed", "canceled", "rejected"}
#: Runs as the server's program: passes the task to this process and prints its result.
_BRIDGE = """
import json, socket, sys
at = socket.socket(socket.AF_UNIX)
at.connect(sys.argv[1])
at.sendall(sys.stdin.buffer.read())
at.shutdown(socket.SHUT_WR)
said = json.loads(b"".join(iter(lambda: at.recv(65536), b"")))
if "error" in said:
    sys.exit(said["error"])
print(json.dumps(said["result"]))
"""


def _config_folder() -> Path:
    named = os.environ.get("COUNTERSIGN_CONFIG")
    if named:
        return Path(named).parent
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "countersign"


def _registry_path() -> Path:
    return _config_folder() / "a2a_agents.json"


def load_agent_registry(path: Path | None = None) -> dict[str, Any]:
    """The agents in the registry file; empty without a file."""
    file = path or _registry_path()
    if not file.exists():
        return {}
    found = json.loads(file.read_text(encoding="utf-8"))
    return found if isinstance(found, dict) else {}


def resolve_agent_url(agent: str, *, registry_path: Path | None = None) -> str:
    """The address of an agent: by the environment, the registry, or the address itself."""
    key = re.sub(r"[^A-Za-z0-9]+", "_", agent).upper()
    for variable in (f"COUNTERSIGN_A2A_{key}_URL", f"HERMES_A2A_{key}_URL"):
        if value := os.environ.get(variable):
            return value
    entry = load_agent_registry(registry_path).get(agent)
    if isinstance(entry, str) and entry:
        return entry
    if isinstance(entry, dict):
        url = entry.get("url") or entry.get("base_url") or entry.get("card_url")
        if url:
            return str(url)
    if agent.startswith(("https://", "http://")):
        return agent
    raise SystemExit(
        f"Unknown A2A agent '{agent}'. Set COUNTERSIGN_A2A_{key}_URL or add it to "
        f"{registry_path or _registry_path()}."
    )


def _identity(cert: str | Path | None, key: str | Path | None, ca: str | Path | None) -> list[str]:
    words: list[str] = []
    for flag, value in (("--cert", cert), ("--key", key), ("--ca", ca)):
        if value:
            words += [flag, os.fspath(value)]
    return words


def _original(task: Mapping[str, Any]) -> dict[str, Any]:
    """A task of version 1.0 with the original members."""
    status = task.get("status") or {}
    state = str(status.get("state", "")).removeprefix("TASK_STATE_").lower().replace("_", "-")
    parts = (status.get("message") or {}).get("parts") or []
    message = "\n".join(str(part.get("text", "")) for part in parts)
    artifacts = [
        {key: value for part in one.get("parts", []) for key, value in part.items()}
        for one in task.get("artifacts", [])
    ]
    told = {"state": state, "message": message, "timestamp": status.get("timestamp")}
    return {"taskId": task.get("id"), "status": told, "artifacts": artifacts}


class A2ATaskClient:
    """Sends tasks to other agents and reads what became of them."""

    def __init__(self, cert: str | Path, key: str | Path, ca: str | Path) -> None:
        self._files = _identity(cert, key, ca)

    def _run(self, words: list[str]) -> dict[str, Any]:
        done = subprocess.run(
            [program.program(), "a2a", *words, *self._files],
            capture_output=True,
            check=False,
        )
        if done.returncode != 0 or not done.stdout:
            said = done.stderr.decode(errors="replace").strip()
            raise RuntimeError(said or "`countersign a2a` failed")
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def discover_card(self, base_url: str) -> dict[str, Any]:
        """The agent's card."""
        card = self._run(["card", "--agent", base_url.rstrip("/")])["card"]
        return dict(card)

    def send_task(
        self,
        base_url: str,
        *,
        task: str,
        requester: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Sends a task, after the own gate has approved it and its metadata."""
        words = ["send", "--agent", base_url.rstrip("/"), "--task", task]
        if metadata:
            words += ["--metadata", json.dumps(dict(metadata))]
        if requester:
            words += ["--requester", requester]
        return _original(self._run(words)["task"])

    def get_task(self, base_url: str, task_id: str) -> dict[str, Any]:
        """The task as it is now."""
        words = ["status", "--agent", base_url.rstrip("/"), "--task-id", task_id]
        return _original(self._run(words)["task"])

    def wait_for_task(
        self, base_url: str, task_id: str, *, timeout: float = 30.0, poll_interval: float = 0.5
    ) -> dict[str, Any]:
        """The task after it has ended."""
        deadline = time.monotonic() + timeout
        while True:
            task = self.get_task(base_url, task_id)
            if task["status"]["state"] in _TERMINAL:
                return task
            if time.monotonic() >= deadline:
                raise TimeoutError(f"Timed out waiting for task {task_id}")
            time.sleep(poll_interval)


def _local_agent(task: dict[str, Any]) -> dict[str, Any]:
    """Runs a task with the agent of this machine, as the original server did by default."""
    text = str(task.get("task", "")).strip()
    if not text:
        return {"text": ""}
    agent = importlib.import_module("run_agent").AIAgent(quiet_mode=True)
    return {"text": agent.chat(text), "metadata": {"executor": "local-hermes"}}


class A2ATaskServer:
    """Takes tasks of other agents: ``countersign a2a serve``, with a Python function that runs
    them in this process."""

    def __init__(
        self,
        cert: str | Path,
        key: str | Path,
        ca: str | Path,
        host: str = "127.0.0.1",
        port: int = 9443,
        executor: Callable[[dict[str, Any]], Any] | None = None,
        card_factory: Callable[[], dict[str, Any]] | None = None,
    ) -> None:
        """``card_factory``: the description of its card is served. The name is always the one in
        the certificate, and addresses are those of the server."""
        self.host, self.port = host, port
        self._files = _identity(cert, key, ca)
        self._executor = executor or _local_agent
        self._card_factory = card_factory
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> A2ATaskServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the server and waits until it listens."""
        self._folder = tempfile.TemporaryDirectory(prefix="countersign-a2a-")
        folder = Path(self._folder.name)
        place = str(folder / "executor")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(place)
        listener.listen()
        threading.Thread(target=self._serve, args=(listener,), daemon=True).start()
        tasks = str(folder / "tasks.db")
        words = ["a2a", "serve", "--host", self.host, "--port", str(self.port), "--tasks", tasks]
        card = self._card_factory() if self._card_factory else {}
        if description := card.get("description"):
            words += ["--description", str(description)]
        bridge = ["--", sys.executable, "-c", _BRIDGE, place]
        self._process = subprocess.Popen(
            [program.program(), *words, *self._files, *bridge], stdout=subprocess.PIPE
        )
        out = self._process.stdout
        line = "" if out is None else out.readline().decode()
        if "listening on" not in line:
            self.stop()
            raise CountersignError("`countersign a2a serve` did not start")

    def stop(self) -> None:
        """Stops the server."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            said: dict[str, Any]
            try:
                task = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))
                said = {"result": self._executor(task)}
                text = json.dumps(said)
            except Exception as error:
                text = json.dumps({"error": str(error)})
            connection.sendall(text.encode())


def _print(data: Mapping[str, Any]) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False))


def _client(args: Any) -> tuple[str, A2ATaskClient]:
    url = args.url or resolve_agent_url(args.agent)
    return url, A2ATaskClient(cert=args.cert, key=args.key, ca=args.ca)


def cmd_send(args: Any) -> None:
    """Sends a task and prints it."""
    url, client = _client(args)
    card = client.discover_card(url)
    task = client.send_task(url, task=args.task, requester=args.requester)
    if args.wait:
        task = client.wait_for_task(
            url, task["taskId"], timeout=args.timeout, poll_interval=args.poll_interval
        )
    _print({"agent": args.agent, "url": url, "card": card, "task": task})


def cmd_status(args: Any) -> None:
    """Prints a task."""
    url, client = _client(args)
    _print({"agent": args.agent, "url": url, "task": client.get_task(url, args.task_id)})


def cmd_serve(args: Any) -> None:
    """Takes tasks until it is interrupted, and runs them with the agent of this machine."""
    if importlib.util.find_spec("run_agent") is None:
        raise SystemExit(
            "The module run_agent was not found, so no agent runs the tasks. "
            "Use `countersign a2a serve -- PROGRAM`, or A2ATaskServer with an executor."
        )
    # Without this, SIGTERM would end this process and leave the server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    files = {"cert": args.cert, "key": args.key, "ca": args.ca}
    with A2ATaskServer(**files, host=args.host, port=args.port):
        print(f"A2A task server listening on https://{args.host}:{args.port}", flush=True)
        try:
            while True:
                time.sleep(1)
        except KeyboardInterrupt:
            return


def cmd_a2a(args: Any) -> None:
    """Runs the command that the arguments name."""
    command = getattr(args, "a2a_command", None) or "send"
    commands = {"send": cmd_send, "status": cmd_status, "serve": cmd_serve}
    if command not in commands:
        raise SystemExit(f"Unknown a2a command: {command}")
    commands[command](args)
