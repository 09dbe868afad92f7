"""The cases of the original task delegation, with a person's approval in between."""

from __future__ import annotations

import argparse
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from conftest import DaemonFixture, binary

from countersign.compat import (
    A2AMTLSClient,
    A2AMTLSServer,
    A2ATaskClient,
    A2ATaskServer,
    cmd_a2a,
    resolve_agent_url,
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonFixture]:
    daemon = DaemonFixture(tmp_path_factory.mktemp("fleet"))
    secret = daemon.folder / "passphrase"
    secret.write_text(daemon.passphrase)
    secret.chmod(0o600)
    person = ["--people", daemon.people, "--passphrase-file", str(secret)]
    subprocess.run([binary(), "pki", "init", *person], check=True)
    for name in ("timmy", "allegro", "mallory"):
        words = ["pki", "issue", name, "--out", str(daemon.folder / "pki"), *person]
        subprocess.run([binary(), *words], check=True)
    try:
        yield daemon
    finally:
        daemon.stop()


@pytest.fixture(autouse=True)
def environment(fleet: DaemonFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERSIGN_BINARY", str(binary()))
    monkeypatch.setenv("COUNTERSIGN_AGENTS", fleet.agents)
    monkeypatch.setenv("COUNTERSIGN_AGENT_TOKEN", fleet.token)
    monkeypatch.setenv("HOME", str(fleet.folder))
    monkeypatch.setenv("COUNTERSIGN_CONFIG", str(fleet.config))
    # The key of this daemon, where its clients look for it.
    state = fleet.folder / ".local/state/countersign"
    state.mkdir(parents=True, exist_ok=True)
    (state / "daemon.pub").write_text(fleet.key_file.read_text())


def files(fleet: DaemonFixture, name: str) -> dict[str, Any]:
    own = fleet.folder / "pki/agents" / name
    ca = fleet.folder / "pki/ca/fleet-ca.crt"
    return {"cert": own / f"{name}.crt", "key": own / f"{name}.key", "ca": ca}


def test_task_send_get_and_completion_flow(fleet: DaemonFixture) -> None:
    gate = threading.Event()

    def analyze(task: dict[str, Any]) -> dict[str, Any]:
        gate.wait(timeout=20)
        seen.append(task["metadata"])
        return {"text": f"analysis:{task['task']}", "metadata": {"tool": "stub"}}

    port, seen = free_port(), list[dict[str, Any]]()
    server = A2ATaskServer(
        **files(fleet, "timmy"),
        port=port,
        executor=analyze,
        card_factory=lambda: {"name": "somebody", "description": "Reads documents"},
    )
    client = A2ATaskClient(**files(fleet, "allegro"))
    base_url = f"https://127.0.0.1:{port}"
    with server, fleet.answering("approve", reason="fine"):
        card = client.discover_card(base_url)
        assert (card["name"], card["description"]) == ("timmy", "Reads documents")
        submitted = client.send_task(
            base_url, task="Analyze README.md", requester="timmy", metadata={"ticket": 7}
        )
        assert submitted["status"]["state"] in {"submitted", "auth-required", "working"}
        in_flight = client.get_task(base_url, submitted["taskId"])
        assert in_flight["status"]["state"] in {"submitted", "auth-required", "working"}
        gate.set()
        completed = client.wait_for_task(
            base_url, submitted["taskId"], timeout=30.0, poll_interval=0.05
        )
    assert completed["status"]["state"] == "completed"
    assert completed["artifacts"][0]["text"] == "analysis:Analyze README.md"
    assert seen[0]["ticket"] == 7


def test_failed_executor_marks_task_failed(fleet: DaemonFixture) -> None:
    def failing(task: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("boom")

    port = free_port()
    client = A2ATaskClient(**files(fleet, "allegro"))
    base_url = f"https://127.0.0.1:{port}"
    with (
        A2ATaskServer(**files(fleet, "timmy"), port=port, executor=failing),
        fleet.answering("approve", reason="fine"),
    ):
        submitted = client.send_task(base_url, task="explode", requester="timmy")
        failed = client.wait_for_task(base_url, submitted["taskId"], timeout=30.0)
    assert failed["status"]["state"] == "failed"
    assert "boom" in failed["status"]["message"]


def test_a_denied_task_is_not_sent(fleet: DaemonFixture) -> None:
    client = A2ATaskClient(**files(fleet, "allegro"))
    with (
        A2ATaskServer(**files(fleet, "timmy"), port=(port := free_port()), executor=lambda _: "x"),
        fleet.answering("deny", reason="not today"),
        pytest.raises(RuntimeError, match="not today"),
    ):
        client.send_task(f"https://127.0.0.1:{port}", task="send nothing")


def test_routes_are_served_over_mutual_tls_to_accepted_agents_only(
    fleet: DaemonFixture, tmp_path: Path
) -> None:
    server = A2AMTLSServer(**files(fleet, "timmy"), port=0)
    server.add_route("/echo", lambda payload, *, peer_cn: {"from": peer_cn, "said": payload})
    with server:
        url = f"https://127.0.0.1:{server.port}/echo"
        client = A2AMTLSClient(**files(fleet, "allegro"))
        assert client.post(url, json={"x": 1}) == {"from": "allegro", "said": {"x": 1}}
        assert client.get(url) == {"from": "allegro", "said": {}}
        with pytest.raises(urllib.error.HTTPError, match="404"):
            client.get(f"https://127.0.0.1:{server.port}/other")
        with pytest.raises(ValueError, match="https"):
            client.get("http://127.0.0.1:1/")
        # Without a certificate, and with a revoked one.
        context = ssl.create_default_context(cafile=files(fleet, "timmy")["ca"])
        with pytest.raises(OSError):
            urllib.request.urlopen(url, context=context, timeout=20)
        mallory = files(fleet, "mallory")
        assert A2AMTLSClient(**mallory).get(url)["from"] == "mallory"
        secret = str(fleet.folder / "passphrase")
        words = ["--people", fleet.people, "--passphrase-file", secret]
        subprocess.run([binary(), "pki", "revoke", "mallory", *words], check=True)
        server._trust._at = 0.0
        with pytest.raises(OSError):
            A2AMTLSClient(**mallory).get(url)
        assert client.get(url)["from"] == "allegro"


def test_cmd_serve_runs_tasks_with_the_agent_of_this_machine(
    fleet: DaemonFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    args = argparse.Namespace(
        a2a_command="serve", host="127.0.0.1", port=port, **files(fleet, "timmy")
    )
    with pytest.raises(SystemExit, match="countersign a2a serve"):
        cmd_a2a(args)
    agent = "class AIAgent:\n    def __init__(self, quiet_mode): pass\n"
    agent += "    def chat(self, text): return 'did ' + text\n"
    (tmp_path / "run_agent.py").write_text(agent)
    settings = {key: str(value) for key, value in vars(args).items()}
    words = [
        "from argparse import Namespace",
        "from countersign.compat import cmd_serve",
        f"cmd_serve(Namespace(**{settings!r}))",
    ]
    source = Path(__file__).parents[2] / "src"
    env = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{tmp_path}"}
    serving = subprocess.Popen([sys.executable, "-c", "; ".join(words)], stdout=-1, env=env)
    try:
        assert serving.stdout is not None
        assert b"listening on" in serving.stdout.readline()
        client = A2ATaskClient(**files(fleet, "allegro"))
        base_url = f"https://127.0.0.1:{port}"
        with fleet.answering("approve", reason="fine"):
            sent = client.send_task(base_url, task="serve me")
            done = client.wait_for_task(base_url, sent["taskId"], timeout=30.0, poll_interval=0.1)
        assert done["artifacts"][0]["text"] == "did serve me"
    finally:
        serving.terminate()
        serving.wait(30)
        if serving.stdout is not None:
            serving.stdout.close()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "the server is left behind"


class FakeClient:
    def __init__(self, **kwargs: Any) -> None:
        self.kwargs = kwargs

    def discover_card(self, base_url: str) -> dict[str, Any]:
        assert base_url == "https://127.0.0.1:9443"
        return {"name": "allegro", "url": base_url}

    def send_task(self, base_url: str, *, task: str, **_: Any) -> dict[str, Any]:
        assert task == "analyze README"
        return {"taskId": "task-123", "status": {"state": "submitted"}}

    def wait_for_task(self, base_url: str, task_id: str, **_: Any) -> dict[str, Any]:
        artifacts = [{"text": "README looks healthy"}]
        return {"taskId": task_id, "status": {"state": "completed"}, "artifacts": artifacts}


def arguments(agent: str) -> argparse.Namespace:
    return argparse.Namespace(
        a2a_command="send",
        agent=agent,
        task="analyze README",
        url=None,
        wait=True,
        timeout=5.0,
        poll_interval=0.01,
        requester="timmy",
        cert="cert.pem",
        key="key.pem",
        ca="ca.pem",
    )


def test_cmd_send_uses_registry_and_waits_for_terminal_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = {"allegro": {"url": "https://127.0.0.1:9443"}}
    (tmp_path / "a2a_agents.json").write_text(json.dumps(entry), encoding="utf-8")
    monkeypatch.setenv("COUNTERSIGN_CONFIG", str(tmp_path / "countersign.toml"))
    with patch("countersign.compat.delegation.A2ATaskClient", FakeClient):
        cmd_a2a(arguments("allegro"))
    result = json.loads(capsys.readouterr().out)
    assert result["agent"] == "allegro"
    assert result["card"]["name"] == "allegro"
    assert result["task"]["status"]["state"] == "completed"
    assert result["task"]["artifacts"][0]["text"] == "README looks healthy"


def test_resolve_agent_url_supports_env_override(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_A2A_ALLEGRO_URL", "https://fleet-allegro:9443")
    assert resolve_agent_url("allegro") == "https://fleet-allegro:9443"
    monkeypatch.setenv("COUNTERSIGN_A2A_ALLEGRO_URL", "https://other:9443")
    assert resolve_agent_url("allegro") == "https://other:9443"


def test_cmd_send_requires_known_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERSIGN_CONFIG", os.fspath(tmp_path / "countersign.toml"))
    with pytest.raises(SystemExit, match="COUNTERSIGN_A2A_UNKNOWN_URL"):
        cmd_a2a(arguments("unknown"))
