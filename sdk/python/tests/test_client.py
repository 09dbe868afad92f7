"""Asking a real daemon: what is a yes, and everything that is not."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import House

from countersign import (
    AsyncClient,
    BadInput,
    Call,
    Client,
    CountersignError,
    Door,
    NotApproved,
    Problem,
    Request,
    State,
    Unauthorized,
    Unexpected,
    Unreachable,
    request_confirmation,
    request_confirmation_async,
    secret_file,
)
from countersign.door import agents_door, people_door

MAIL = Call(tool="send_email", arguments={"to": "ana@example.com"}, description="The notes")

Ask = Callable[[Call], Request]


@pytest.fixture(params=["waiting", "on a loop", "over the socket"])
def ask(request: pytest.FixtureRequest, house: House) -> Ask:
    """The same conversation, by each client."""
    if request.param == "waiting":
        return house.client().ask
    if request.param == "on a loop":
        return lambda call: asyncio.run(house.async_client().ask(call))
    return lambda call: asyncio.run(AsyncClient(f"unix:{house.socket}").ask(call))


def test_what_is_harmless_passes_at_once(ask: Ask) -> None:
    found = ask(Call(command="ls"))
    assert found
    assert (found.tier, found.decided_by) == ("SAFE", "the rules")


def test_a_persons_yes_is_a_yes(ask: Ask, house: House) -> None:
    with house.answering("approve") as asked:
        found = ask(MAIL)
    assert found
    assert found.decided_by == "owner"
    assert found.permit is not None
    assert [one["description"] for one in asked] == ["The notes"]


def test_a_persons_no_is_a_no_and_says_why(ask: Ask, house: House) -> None:
    with house.answering("deny", reason="not today"):
        found = ask(MAIL)
    assert not found
    assert found.why() == "Denied by owner: not today"


def test_silence_is_a_no(ask: Ask) -> None:
    found = ask(Call(tool="send_email", arguments={"to": "a@b.c"}, timeout=1))
    assert not found
    assert found.state is State.EXPIRED


def test_a_claim_can_only_raise(ask: Ask, house: House) -> None:
    with house.answering("deny"):
        assert not ask(Call(tool="send_email", arguments={"to": "a@b.c"}, risk_level="low"))
        assert not ask(Call(command="ls", risk_level="critical"))


def test_a_wait_outlives_the_daemon(tmp_path: Path) -> None:
    house = House(tmp_path / "house")
    agents = house.agents
    answers: list[Request] = []
    thread = threading.Thread(target=lambda: answers.append(house.client().ask(MAIL)))
    thread.start()
    house.wait_until(lambda: bool(house.pending()))
    house.stop()
    house.start(agents)
    with house.answering("approve"):
        thread.join(120)
    assert answers
    assert answers[0]
    assert house.kept() == 1
    house.stop()


def test_who_stops_waiting_takes_the_question_back(house: House) -> None:
    async def hurried() -> None:
        task = asyncio.create_task(house.async_client().ask(MAIL))
        while not house.pending():
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(hurried())
    assert house.pending() == []
    assert house.latest()["state"] == "cancelled"


def test_many_may_wait_on_one_loop(house: House) -> None:
    async def many() -> list[Request]:
        client = house.async_client()
        calls = [Call(tool="send_email", arguments={"to": f"{n}@b.c"}) for n in range(20)]
        return await asyncio.gather(*map(client.ask, calls))

    with house.answering("approve"):
        assert all(asyncio.run(many()))


def test_requests_can_be_read_listed_and_taken_back(house: House) -> None:
    client = house.client()
    request = client.submit(MAIL)
    assert request.id is not None
    assert not request
    assert client.get(request.id).state is State.PENDING
    assert client.wait(request.id, 0).state is State.PENDING
    assert request.id in [one.id for one in client.requests(State.PENDING)]
    assert client.cancel(request.id).state is State.CANCELLED
    with pytest.raises(NotApproved, match="taken back"):
        client.use(MAIL, client.get(request.id))
    with pytest.raises(BadInput):
        client.get("../people")


def test_an_approval_is_for_one_call_and_one_use(house: House) -> None:
    client = house.client()
    with house.answering("approve"):
        request = client.ask(MAIL)
    other = Call(tool="send_email", arguments={"to": "eve@example.com"})
    with pytest.raises(Problem, match="another call"):
        client.use(other, request)
    assert client.use(MAIL, request).arguments == {"to": "ana@example.com"}
    with pytest.raises(Problem, match="was used at"):
        client.use(MAIL, request)
    with pytest.raises(NotApproved, match="used before"):
        client.use(MAIL, client.get(request.id or ""))


def test_the_other_questions(house: House) -> None:
    client = house.client()
    assert client.health() >= 0
    assert client.assess(Call(command="rm -rf /"))["tier"] == "CRITICAL"
    assert client.screen("I want to die", session="s1")["crisis"] is True
    assert json.loads(client.jwks())["keys"]


def test_no_daemon_no_token_no_yes(house: House, nobody: None) -> None:
    with pytest.raises(Unreachable):
        Client().ask(Call(command="ls"))
    with pytest.raises(Unreachable):
        asyncio.run(AsyncClient("unix:/nowhere/agents.sock", "x").ask(Call(command="ls")))
    with pytest.raises(Unauthorized):
        Client(house.agents, "csa_wrong").ask(Call(command="ls"))
    with pytest.raises(BadInput):
        Client(house.agents, "two\r\nX-Lines: 1").ask(Call(command="ls"))


def test_request_confirmation_is_yes_or_no(house: House) -> None:
    def confirmed(**more: Any) -> bool:
        payload = {"to": "a@b.c"}
        return request_confirmation("send_email", "Mail", payload, timeout=120, **more)

    with house.answering("approve"):
        assert confirmed() is True
        assert asyncio.run(request_confirmation_async("send_email", "Mail")) is True
    with house.answering("deny"):
        assert confirmed() is False
        assert confirmed(risk_level="low") is False
        assert asyncio.run(request_confirmation_async("send_email", "Mail")) is False
    # What a bare yes cannot say is a no.
    with house.answering("approve", edited_arguments={"to": "b@b.c"}):
        assert confirmed() is False
    assert request_confirmation("send_email", "Mail", {"to": object()}) is False
    assert request_confirmation("access_calendar", "Look") is True


def test_request_confirmation_denies_without_a_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    # With the patience that people get: a daemon that is just starting is waited for.
    monkeypatch.setenv("COUNTERSIGN_AGENTS", "127.0.0.1:1")
    start = time.monotonic()
    assert request_confirmation("access_calendar", "Look") is False
    assert time.monotonic() - start > 1
    assert asyncio.run(request_confirmation_async("access_calendar", "Look")) is False


def liar(says: Callable[[str], bytes]) -> str:
    """A stand-in for somebody at the daemon's door who answers each question as it is told."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            wire, _ = server.accept()
            with wire:
                head = wire.recv(65536).decode()
                wire.sendall(says(head))

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
        lambda door: Client(door, "t").ask(call),
        lambda door: asyncio.run(AsyncClient(door, "t").ask(call)),
    ]


@pytest.mark.parametrize("ask_at", clients(), ids=["waiting", "on a loop"])
def test_only_what_is_understood_can_be_a_yes(ask_at: Callable[[str], Request]) -> None:
    assert ask_at(liar(lambda _: http_answer(GOOD)))
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
            ask_at(liar(lambda _, answer=answer: answer))  # type: ignore[misc]
    problem = {"type": "urn:countersign:problem:x", "title": "x", "status": 409, "detail": "no"}
    with pytest.raises(Problem, match="no"):
        ask_at(liar(lambda _: http_answer(problem, "409 C", "application/problem+json")))


@pytest.mark.parametrize("ask_at", clients(), ids=["waiting", "on a loop"])
def test_an_answer_to_another_question_is_none(ask_at: Callable[[str], Request]) -> None:
    def swaps(later: dict[str, Any]) -> Callable[[str], bytes]:
        return lambda head: http_answer(WAITS if head.startswith("POST") else later)

    yes = {**GOOD, "id": WAITS["id"]}
    assert ask_at(liar(swaps(yes)))
    for later in [{**yes, "digest": "1" * 64}, {**yes, "id": "y" * 26}, {**yes, "id": None}]:
        with pytest.raises(CountersignError):
            ask_at(liar(swaps(later)))


def test_pieces_are_put_together() -> None:
    text = json.dumps(GOOD).encode()
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    pieces = b"".join(b"%x\r\n%s\r\n" % (1, text[n : n + 1]) for n in range(len(text)))
    assert Client(liar(lambda _: head + pieces + b"0\r\n\r\n"), "t").ask(Call(command="ls"))


def test_doors_are_found_as_the_program_finds_them(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    state = tmp_path / ".local/state/countersign"
    assert agents_door(has_token=False, environ=home) == Door(path=f"{state}/agents.sock")
    assert agents_door(has_token=True, environ=home) == Door("127.0.0.1", 6000)
    assert people_door(home) == Door("127.0.0.1", 6001)
    run = {**home, "XDG_RUNTIME_DIR": "/run/user/1"}
    assert str(agents_door(has_token=False, environ=run)) == (
        "unix:/run/user/1/countersign/agents.sock"
    )
    named = {**run, "COUNTERSIGN_STATE": "/srv/cs"}
    assert str(agents_door(has_token=False, environ=named)) == "unix:/srv/cs/agents.sock"
    config = tmp_path / "c.toml"
    said = {**home, "COUNTERSIGN_CONFIG": str(config)}
    config.write_text('[listen]\nagents = "0.0.0.0:7000"\npeople = "[::]:7001"\nsocket = ""\n')
    assert str(agents_door(has_token=False, environ=said)) == "http://127.0.0.1:7000"
    assert str(people_door(said)) == "http://[::1]:7001"
    empty = '[listen]\nagents = "127.0.0.1:0"\nsocket = ""'
    for bad in [empty, "listen = 3", "[listen]\nsocket = 3"]:
        config.write_text(bad)
        with pytest.raises(BadInput):
            agents_door(has_token=False, environ=said)
    for bad in ["", "6001", "host:", "host:x", "https://a:1", "unix:x", ":1", "a b:1", "a\r\nb:1"]:
        with pytest.raises(BadInput):
            Door.parse(bad)


def test_tokens_come_from_files_that_are_secret(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("csa_x\n")
    file.chmod(0o644)
    with pytest.raises(BadInput, match="chmod 600"):
        secret_file(file)
    file.chmod(0o600)
    assert secret_file(file) == "csa_x"
    file.write_text("two words")
    with pytest.raises(BadInput, match="no token"):
        secret_file(file)


def test_a_call_is_fixed_when_it_is_made() -> None:
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
