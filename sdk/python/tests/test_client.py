"""The clients against a real daemon: only a valid approval lets a call run."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import DaemonFixture
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from countersign import (
    AsyncClient,
    BadInput,
    Call,
    Client,
    CountersignError,
    Endpoint,
    NotApproved,
    Problem,
    Request,
    State,
    Unauthorized,
    Unexpected,
    Unreachable,
    endpoint,
    request_confirmation,
    request_confirmation_async,
    secret_file,
)
from countersign.daemon_key import DaemonKey, SignedExchange
from countersign.endpoint import agent_endpoint, people_endpoint
from countersign.wire import Reading

MAIL = Call(tool="send_email", arguments={"to": "ana@example.com"}, description="The notes")

Ask = Callable[[Call], Request]


@pytest.fixture(params=["waiting", "on a loop", "over the socket"])
def ask(request: pytest.FixtureRequest, running_daemon: DaemonFixture) -> Ask:
    """The same operation, by each client."""
    if request.param == "waiting":
        return running_daemon.client().ask
    if request.param == "on a loop":
        return lambda call: asyncio.run(running_daemon.async_client().ask(call))
    return lambda call: asyncio.run(AsyncClient(f"unix:{running_daemon.socket}").ask(call))


def test_a_harmless_call_passes_at_once(ask: Ask) -> None:
    found = ask(Call(command="ls"))
    assert found
    assert (found.tier, found.decided_by) == ("SAFE", "the rules")


def test_a_person_approves(ask: Ask, running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("approve") as asked:
        found = ask(MAIL)
    assert found
    assert found.decided_by == "owner"
    assert found.permit is not None
    assert [one["description"] for one in asked] == ["The notes"]


def test_a_person_denies_with_a_reason(ask: Ask, running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("deny", reason="not today"):
        found = ask(MAIL)
    assert not found
    assert found.why() == "Denied by owner: not today"


def test_no_answer_is_a_denial(ask: Ask) -> None:
    found = ask(Call(tool="send_email", arguments={"to": "a@b.c"}, timeout=1))
    assert not found
    assert found.state is State.EXPIRED


def test_a_claimed_risk_can_only_raise_the_tier(ask: Ask, running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("deny"):
        assert not ask(Call(tool="send_email", arguments={"to": "a@b.c"}, risk_level="low"))
        assert not ask(Call(command="ls", risk_level="critical"))


def test_a_wait_survives_a_restart_of_the_daemon(tmp_path: Path) -> None:
    running_daemon = DaemonFixture(tmp_path / "running_daemon")
    agents = running_daemon.agents
    answers: list[Request] = []
    thread = threading.Thread(target=lambda: answers.append(running_daemon.client().ask(MAIL)))
    thread.start()
    running_daemon.wait_until(lambda: bool(running_daemon.pending()))
    running_daemon.stop()
    running_daemon.start(agents)
    with running_daemon.answering("approve"):
        thread.join(120)
    assert answers
    assert answers[0]
    assert running_daemon.kept() == 1
    running_daemon.stop()


def test_cancelling_the_wait_cancels_the_request(running_daemon: DaemonFixture) -> None:
    async def hurried() -> None:
        task = asyncio.create_task(running_daemon.async_client().ask(MAIL))
        while not running_daemon.pending():
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(hurried())
    assert running_daemon.pending() == []
    assert running_daemon.latest()["state"] == "cancelled"


def test_many_calls_wait_on_one_event_loop(running_daemon: DaemonFixture) -> None:
    async def many() -> list[Request]:
        client = running_daemon.async_client()
        calls = [Call(tool="send_email", arguments={"to": f"{n}@b.c"}) for n in range(20)]
        return await asyncio.gather(*map(client.ask, calls))

    with running_daemon.answering("approve"):
        assert all(asyncio.run(many()))


def test_requests_can_be_read_listed_and_cancelled(running_daemon: DaemonFixture) -> None:
    client = running_daemon.client()
    request = client.submit(MAIL)
    assert request.id is not None
    assert not request
    assert client.get(request.id).state is State.PENDING
    assert client.wait(request.id, 0).state is State.PENDING
    assert request.id in [one.id for one in client.requests(State.PENDING)]
    assert client.cancel(request.id).state is State.CANCELLED
    with pytest.raises(NotApproved, match="was cancelled"):
        client.use(MAIL, client.get(request.id))
    with pytest.raises(BadInput):
        client.get("../people")


def test_an_approval_is_for_one_call_and_one_use(running_daemon: DaemonFixture) -> None:
    client = running_daemon.client()
    with running_daemon.answering("approve"):
        request = client.ask(MAIL)
    other = Call(tool="send_email", arguments={"to": "eve@example.com"})
    with pytest.raises(Problem, match="another call"):
        client.use(other, request)
    assert client.use(MAIL, request).arguments == {"to": "ana@example.com"}
    with pytest.raises(Problem, match="was used at"):
        client.use(MAIL, request)
    with pytest.raises(NotApproved, match="already used"):
        client.use(MAIL, client.get(request.id or ""))


def test_assess_screen_and_health(running_daemon: DaemonFixture) -> None:
    client = running_daemon.client()
    assert client.health() >= 0
    assert client.assess(Call(command="rm -rf /"))["tier"] == "CRITICAL"
    assert client.screen("I want to die", session="s1")["crisis"] is True
    assert json.loads(client.jwks())["keys"]


def test_nothing_is_approved_without_daemon_or_token(
    running_daemon: DaemonFixture, no_daemon: None
) -> None:
    with pytest.raises(Unreachable):
        Client().ask(Call(command="ls"))
    with pytest.raises(Unreachable):
        asyncio.run(AsyncClient("unix:/nowhere/agents.sock", "x").ask(Call(command="ls")))
    with pytest.raises(Unauthorized):
        Client(running_daemon.agents, "csa_wrong").ask(Call(command="ls"))
    with pytest.raises(BadInput):
        Client(running_daemon.agents, "two\r\nX-Lines: 1").ask(Call(command="ls"))


def test_request_confirmation_returns_a_bool(running_daemon: DaemonFixture) -> None:
    def confirmed(**more: Any) -> bool:
        payload = {"to": "a@b.c"}
        return request_confirmation("send_email", "Mail", payload, timeout=120, **more)

    with running_daemon.answering("approve"):
        assert confirmed() is True
        assert asyncio.run(request_confirmation_async("send_email", "Mail")) is True
    with running_daemon.answering("deny"):
        assert confirmed() is False
        assert confirmed(risk_level="low") is False
        assert asyncio.run(request_confirmation_async("send_email", "Mail")) is False
    # An edited payload cannot be returned as True.
    with running_daemon.answering("approve", edited_arguments={"to": "b@b.c"}):
        assert confirmed() is False
    assert request_confirmation("send_email", "Mail", {"to": object()}) is False
    assert request_confirmation("access_calendar", "Look") is True


def test_request_confirmation_denies_without_a_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    # With the default timeout: a daemon that is starting is waited for.
    monkeypatch.setenv("COUNTERSIGN_AGENTS", "127.0.0.1:1")
    start = time.monotonic()
    assert request_confirmation("access_calendar", "Look") is False
    assert time.monotonic() - start > 1
    assert asyncio.run(request_confirmation_async("access_calendar", "Look")) is False


_SIGNER = Ed25519PrivateKey.from_private_bytes(b"\x09" * 32)
#: The key of the fake daemon, for the clients that are to believe it.
FAKE_KEY = DaemonKey(_SIGNER.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))


def sign(request: str, response: bytes) -> bytes:
    """The response with a signature, as the daemon signs it; one that is not valid stays as is."""
    try:
        answer = Reading().feed(response)
    except (CountersignError, ConnectionError):
        return response
    if answer is None:
        return response
    head, _, body = request.partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    method, target, _ = first.split(" ")
    exchange = SignedExchange(
        nonce=headers["countersign-nonce"],
        method=method,
        target=target,
        credential=headers.get("authorization", ""),
        request=body.encode(),
        status=answer.status,
        response=answer.text.encode(),
    )
    signature = base64.urlsafe_b64encode(_SIGNER.sign(exchange.text())).rstrip(b"=")
    status, _, rest = response.partition(b"\r\n")
    return status + b"\r\nCountersign-Signature: " + signature + b"\r\n" + rest


def fake_daemon(respond: Callable[[str], bytes]) -> str:
    """A server that sends these responses, signed with `FAKE_KEY`."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            wire, _ = server.accept()
            with wire:
                head = wire.recv(65536).decode()
                wire.sendall(sign(head, respond(head)))

    threading.Thread(target=serve, daemon=True).start()
    return f"127.0.0.1:{server.getsockname()[1]}"


def http_answer(body: object, status: str = "200 OK", kind: str = "application/json") -> bytes:
    text = body if isinstance(body, str) else json.dumps(body)
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(text.encode())}"
    return f"{head}\r\n\r\n{text}".encode()


GOOD: dict[str, Any] = {
    "id": None,
    "state": "approved",
    "decision": {"result": "approved", "by": {"kind": "policy"}, "at": "2026-01-01T00:00:00Z"},
    "tool": "shell",
    "tier": "SAFE",
    "phrase": "a-b",
    "digest": "0" * 64,
    "agent": "py",
    "deadline": "2026-01-01T00:00:00Z",
    "crisis": False,
}
WAITS = {**GOOD, "state": "pending", "decision": None, "id": "x" * 26}


def clients() -> list[Callable[[str], Request]]:
    call = Call(command="ls", timeout=0.1)
    return [
        lambda endpoint: Client(endpoint, "t", daemon_key=FAKE_KEY).ask(call),
        lambda endpoint: asyncio.run(AsyncClient(endpoint, "t", daemon_key=FAKE_KEY).ask(call)),
    ]


@pytest.mark.parametrize("ask_at", clients(), ids=["waiting", "on a loop"])
def test_only_a_valid_response_can_approve(ask_at: Callable[[str], Request]) -> None:
    assert ask_at(fake_daemon(lambda _: http_answer(GOOD)))
    bad: list[bytes] = [
        http_answer({**GOOD, "state": "aproved"}),
        http_answer({**GOOD, "state": True}),
        http_answer({**GOOD, "state": "Approved"}),
        http_answer({**GOOD, "decision": None}),
        http_answer({**GOOD, "decision": {**GOOD["decision"], "result": "denied"}}),
        http_answer({**GOOD, "digest": ""}),
        http_answer({**GOOD, "edited_arguments": "rm"}),
        http_answer({key: value for key, value in GOOD.items() if key != "tool"}),
        http_answer(json.dumps(GOOD)[:-1] + ',"state":"approved"}'),
        http_answer([GOOD]),
        http_answer("yes"),
        http_answer("true"),
        http_answer(""),
        http_answer(GOOD, "302 Found"),
        http_answer(GOOD, "500 Oh"),
        http_answer(GOOD).replace(b"HTTP/1.1", b"HTTP/1.0"),
        http_answer(GOOD)[:-1].replace(b"Content-Length: ", b"Content-Length: +"),
        http_answer(GOOD).replace(b"Content-Length", b"X-Length"),
        http_answer(GOOD) + b"more",
        http_answer(GOOD).replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n"),
        http_answer({**WAITS, "id": None}),
    ]
    for answer in bad:
        with pytest.raises(Unexpected):
            ask_at(fake_daemon(lambda _, answer=answer: answer))  # type: ignore[misc]
    problem = {"type": "urn:countersign:problem:x", "title": "x", "status": 409, "detail": "no"}
    with pytest.raises(Problem, match="no"):
        ask_at(fake_daemon(lambda _: http_answer(problem, "409 C", "application/problem+json")))


@pytest.mark.parametrize("ask_at", clients(), ids=["waiting", "on a loop"])
def test_a_response_for_another_request_is_rejected(ask_at: Callable[[str], Request]) -> None:
    def swaps(later: dict[str, Any]) -> Callable[[str], bytes]:
        return lambda head: http_answer(WAITS if head.startswith("POST") else later)

    yes = {**GOOD, "id": WAITS["id"]}
    assert ask_at(fake_daemon(swaps(yes)))
    for later in [{**yes, "digest": "1" * 64}, {**yes, "id": "y" * 26}, {**yes, "id": None}]:
        with pytest.raises(CountersignError):
            ask_at(fake_daemon(swaps(later)))


def test_chunks_are_joined() -> None:
    text = json.dumps(GOOD).encode()
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    pieces = b"".join(b"%x\r\n%s\r\n" % (1, text[n : n + 1]) for n in range(len(text)))
    address = fake_daemon(lambda _: head + pieces + b"0\r\n\r\n")
    assert Client(address, "t", daemon_key=FAKE_KEY).ask(Call(command="ls"))


def test_endpoints_are_found_as_the_program_finds_them(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    state = tmp_path / ".local/state/countersign"
    assert agent_endpoint(has_token=False, environ=home) == Endpoint(path=f"{state}/agents.sock")
    assert agent_endpoint(has_token=True, environ=home) == Endpoint("127.0.0.1", 6000)
    assert people_endpoint(home) == Endpoint("127.0.0.1", 6001)
    run = {**home, "XDG_RUNTIME_DIR": "/run/user/1"}
    assert str(agent_endpoint(has_token=False, environ=run)) == (
        "unix:/run/user/1/countersign/agents.sock"
    )
    named = {**run, "COUNTERSIGN_STATE": "/srv/cs"}
    assert str(agent_endpoint(has_token=False, environ=named)) == "unix:/srv/cs/agents.sock"
    config = tmp_path / "c.toml"
    said = {**home, "COUNTERSIGN_CONFIG": str(config)}
    config.write_text('[listen]\nagents = "0.0.0.0:7000"\npeople = "[::]:7001"\nsocket = ""\n')
    assert str(agent_endpoint(has_token=False, environ=said)) == "http://127.0.0.1:7000"
    assert str(people_endpoint(said)) == "http://[::1]:7001"
    for bad in [
        '[listen]\nagents = "127.0.0.1:0"\nsocket = ""',
        "listen = 3",
        "[listen]\nsocket = 3",
    ]:
        config.write_text(bad)
        with pytest.raises(BadInput):
            agent_endpoint(has_token=False, environ=said)
    for bad in ["", "6001", "host:", "host:x", "unix:x", ":1", "a b:1", "a\r\nb:1"]:
        with pytest.raises(BadInput):
            Endpoint.parse(bad)


def test_a_system_service_hides_every_other_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = {"HOME": str(tmp_path)}
    folder, service = tmp_path / "run/countersign", tmp_path / "etc/countersign.service"
    monkeypatch.setattr(endpoint, "_SYSTEM_FOLDER", folder)
    monkeypatch.setattr(endpoint, "_SYSTEM_SERVICE", service)
    for parent in (folder.parent, service.parent):
        parent.mkdir(mode=0o755)

    def found(**more: str) -> str:
        return agent_endpoint(has_token=False, environ={**home, **more}).path

    own = found()
    assert own.startswith(str(tmp_path / ".local"))
    service.write_text("")
    is_root = os.getuid() == 0
    # Installed, but not running: still no other socket.
    assert (found() == str(folder / "agents.sock")) == is_root
    assert found(COUNTERSIGN_STATE="/srv/cs") == "/srv/cs/agents.sock"
    service.unlink()
    folder.mkdir()
    assert (found() == str(folder / "agents.sock")) == is_root
    # A folder in which an agent could have created it proves nothing.
    folder.parent.chmod(0o777)
    assert found() == own


def test_the_socket_is_found_without_the_variables_that_hosts_strip(
    running_daemon: DaemonFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def accepting(path: Path) -> socket.socket:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(str(path))
        server.listen()
        return server

    expected, runtime, state = tmp_path / "expected", tmp_path / "runtime", tmp_path / "state"

    def found() -> Path:
        return endpoint._first_open(expected, [runtime, state])

    assert found() == expected
    runtime.write_text("not a socket")
    with accepting(state):
        assert found() == state
        runtime.unlink()
        with accepting(runtime):
            assert found() == runtime
            with accepting(expected):
                assert found() == expected
            # A crash leaves the file behind.
            assert found() == runtime
        # Another user could have put a socket there.
        monkeypatch.setattr("os.getuid", lambda: 4242)
        assert found() == expected

    # A daemon that was started without XDG_RUNTIME_DIR has its socket in the state folder.
    monkeypatch.undo()
    folder = tmp_path / "state-home/countersign"
    folder.mkdir(parents=True)
    (folder / "agents.sock").symlink_to(running_daemon.socket)
    environ = {
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state-home"),
        "XDG_RUNTIME_DIR": str(tmp_path),
    }
    client = Client(agent_endpoint(has_token=False, environ=environ))
    assert client.endpoint.path == str(folder / "agents.sock")
    assert client.health() >= 0
    named = agent_endpoint(has_token=False, environ={**environ, "COUNTERSIGN_STATE": "/srv/cs"})
    assert named.path == "/srv/cs/agents.sock"


def test_tokens_come_from_private_files(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("csa_x\n")
    file.chmod(0o644)
    with pytest.raises(BadInput, match="chmod 600"):
        secret_file(file)
    file.chmod(0o600)
    assert secret_file(file) == "csa_x"
    file.write_text("two words")
    with pytest.raises(BadInput, match="invalid token"):
        secret_file(file)


def test_a_call_is_immutable() -> None:
    to = ["a@b.c"]
    call = Call(tool="send_email", arguments={"to": to})
    to.append("eve@b.c")
    assert call.arguments == {"to": ["a@b.c"]}
    for bad in [object(), {1: 2}, ("a",), float("nan"), b"x", "\ud800", type("S", (str,), {})()]:
        with pytest.raises(BadInput):
            Call(tool="t", arguments={"x": bad})
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(BadInput, match="deeply"):
        Call(tool="t", arguments={"x": deep})
    for parts in [{}, {"tool": "t", "command": "ls"}, {"command": "ls", "arguments": {"a": 1}}]:
        with pytest.raises(BadInput):
            Call(**parts)  # type: ignore[arg-type]
