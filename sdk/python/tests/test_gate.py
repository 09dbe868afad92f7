"""Gated functions and batches: what runs, with which arguments, how often, and what is reported."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import DaemonFixture
from test_client import FAKE_KEY, GOOD, fake_daemon, http_answer

from countersign import (
    BadInput,
    Client,
    CountersignError,
    NotApproved,
    Unexpected,
    Unreachable,
    gate_batch,
    gate_batch_async,
    gated,
)

ran: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@gated
def send_email(to: str, copies: int = 1) -> str:
    """Sends."""
    ran.append((to, copies))
    return f"sent to {to}"


@gated(name="send_email")
async def send_email_later(to: str) -> str:
    ran.append(to)
    return f"sent to {to}"


def test_an_approved_call_runs_once_with_its_arguments(running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("approve") as asked:
        assert send_email("ana@example.com") == "sent to ana@example.com"
    assert ran == [("ana@example.com", 1)]
    seen = running_daemon.seen(asked[0]["id"])
    assert seen["card"]["arguments"] == '{"copies":1,"to":"ana@example.com"}'
    assert seen["redeemed"] is not None
    assert seen["reported"]["status"] == "ok"
    digest = hashlib.sha256(b"sent to ana@example.com").hexdigest()
    assert seen["reported"]["result_digest"] == digest
    assert 0 <= seen["reported"]["duration_ms"] < 60_000
    assert send_email.__doc__ == "Sends."


def test_a_denied_call_does_not_run_and_raises(running_daemon: DaemonFixture) -> None:
    with (
        running_daemon.answering("deny", reason="wrong list"),
        pytest.raises(NotApproved) as caught,
    ):
        send_email("ana@example.com")
    assert str(caught.value) == "Denied by owner: wrong list"
    assert caught.value.request is not None
    assert ran == []


def test_async_functions_are_gated(running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("approve"):
        assert asyncio.run(send_email_later("ana@example.com")) == "sent to ana@example.com"
    with running_daemon.answering("deny"), pytest.raises(NotApproved):
        asyncio.run(send_email_later("eve@example.com"))
    assert ran == ["ana@example.com"]


def test_an_edited_function_runs_with_the_edited_arguments(running_daemon: DaemonFixture) -> None:
    edited = {"to": "bob@example.com", "copies": 2}
    with running_daemon.answering("approve", edited_arguments=edited):
        assert send_email("ana@example.com") == "sent to bob@example.com"
    assert ran == [("bob@example.com", 2)]
    misfit = running_daemon.answering("approve", edited_arguments={"whom": "bob"})
    with misfit, pytest.raises(NotApproved, match="are invalid"):
        send_email("ana@example.com")
    assert len(ran) == 1
    assert running_daemon.latest()["reported"]["status"] == "skipped"


def test_without_a_daemon_nothing_runs(no_daemon: None) -> None:
    with pytest.raises(Unreachable):
        send_email("ana@example.com")
    with pytest.raises(CountersignError):
        asyncio.run(send_email_later("ana@example.com"))
    with pytest.raises(CountersignError):
        gate_batch([(send_email, {"to": "a@b.c"})])
    assert ran == []


def test_arguments_changed_during_the_wait_have_no_effect(running_daemon: DaemonFixture) -> None:
    @gated(name="send_email")
    def send(to: list[str]) -> None:
        ran.extend(to)

    to = ["ana@example.com"]
    thread = threading.Thread(target=send, args=(to,))
    thread.start()
    running_daemon.wait_until(lambda: bool(running_daemon.pending()))
    to[0] = "eve@example.com"
    running_daemon.decide(running_daemon.pending()[0], "approve")
    thread.join()
    assert ran == ["ana@example.com"]


def test_a_failure_is_reported_and_raised(running_daemon: DaemonFixture) -> None:
    @gated(name="send_email")
    def send(to: str) -> None:
        raise LookupError(to)

    with running_daemon.answering("approve"), pytest.raises(LookupError):
        send("ana@example.com")
    reported = running_daemon.latest()["reported"]
    assert reported["status"] == "error"
    assert "LookupError" in reported["summary"]
    # The message of an exception may contain secrets; only its type is reported.
    assert "ana@example.com" not in reported["summary"]


def test_every_kind_of_parameter_is_supported(running_daemon: DaemonFixture) -> None:
    @gated(name="read_file")
    def read(first: int, /, second: float = 0.5, *rest: Any, key: Any = None, **more: Any) -> Any:
        return first, second, rest, key, more

    assert read(1, 2.5, "a", ["b"], key={"c": None}, d=True) == (
        (1, 2.5, ("a", ["b"]), {"c": None}, {"d": True})
    )
    assert read(1) == (1, 0.5, (), None, {})
    with pytest.raises(BadInput, match="not plain JSON"):
        read(1, key=Path("x"))
    with pytest.raises(TypeError):
        read()  # type: ignore[call-arg]


def test_methods_exclude_self() -> None:
    class Mailbox:
        def __init__(self) -> None:
            self.found: list[str] = []

        @gated(name="read_file")
        def read(self, path: str) -> str:
            self.found.append(path)
            return path

    mailbox = Mailbox()
    assert mailbox.read("notes.txt") == "notes.txt"
    assert gate_batch([(mailbox.read, {"path": "b"})])[0].unwrap() == "b"
    assert mailbox.found == ["notes.txt", "b"]


def test_generators_are_rejected() -> None:
    def later() -> Any:
        yield 1

    with pytest.raises(TypeError, match="generator"):
        gated(later)


def read_file(path: str) -> str:
    if path == "missing":
        raise FileNotFoundError(path)
    ran.append(f"read {path}")
    return path


def write_file(path: str, content: str) -> str:
    ran.append(f"wrote {path}")
    return content


async def fetch(url: str) -> str:
    await asyncio.sleep(0)
    return url


def test_a_batch_keeps_its_order_after_a_failure(running_daemon: DaemonFixture) -> None:
    with running_daemon.answering("deny", reason="no mail"):
        results = gate_batch(
            [
                (read_file, {"path": "a"}),
                (read_file, {"path": "missing"}),
                (send_email, {"to": "ana@example.com"}),
                (read_file, {"path": "b"}),
            ],
            timeout=120,
        )
    assert [one.ok for one in results] == [True, False, False, True]
    assert (results[0].value, results[3].value) == ("a", "b")
    assert isinstance(results[1].error, FileNotFoundError)
    assert "no mail" in str(results[2].error)
    with pytest.raises(NotApproved):
        results[2].unwrap()
    assert sorted(ran) == ["read a", "read b"]


def test_a_batch_runs_reads_in_parallel() -> None:
    # The barrier opens only if all eight run in parallel.
    together = threading.Barrier(8, timeout=60)

    @gated(name="read_file")
    def meet(path: str) -> str:
        together.wait()
        return path

    results = gate_batch([(meet, {"path": str(n)}) for n in range(8)])
    assert [one.value for one in results] == [str(n) for n in range(8)]
    ran.clear()
    calls: list[Any] = [
        (read_file, {"path": "a"}),
        (write_file, {"path": "a", "content": "x"}),
        (read_file, {"path": "b"}),
    ]
    assert [one.value for one in gate_batch(calls)] == ["a", "x", "b"]
    assert ran == ["read a", "wrote a", "read b"]


def test_a_batch_on_an_event_loop(running_daemon: DaemonFixture) -> None:
    calls: list[Any] = [
        (fetch, {"url": "https://example.com"}),
        (read_file, {"path": "a"}),
        (send_email_later, {"to": "ana@example.com"}),
        (read_file, {"path": "missing"}),
    ]
    with running_daemon.answering("approve"):
        results = asyncio.run(gate_batch_async(calls))
    assert [one.value for one in results[:3]] == [
        "https://example.com",
        "a",
        "sent to ana@example.com",
    ]
    assert isinstance(results[3].error, FileNotFoundError)
    assert asyncio.run(gate_batch_async([])) == gate_batch([]) == []


def test_an_expired_call_does_not_affect_the_others() -> None:
    unknown = gated(name="frobnicate")(write_file)
    calls: list[Any] = [(read_file, {"path": "a"}), (unknown, {"path": "b", "content": ""})]
    results = gate_batch(calls, timeout=1)
    assert results[0].ok
    assert "no person answered" in str(results[1].error)
    assert ran == ["read a"]


def test_a_rejected_call_does_not_affect_the_others() -> None:
    refused = {"type": "x:flood", "title": "Too many", "status": 429, "detail": "slow down"}
    passed = {**GOOD, "tool": "read_file"}
    answer = {"group": None, "stages": [[0], [1]], "requests": [{"problem": refused}, passed]}
    calls: list[Any] = [(read_file, {"path": "a"}), (read_file, {"path": "b"})]
    address = fake_daemon(lambda _: http_answer(answer))
    results = gate_batch(calls, client=Client(address, "t", daemon_key=FAKE_KEY))
    assert str(results[0].error) == "slow down"
    assert results[1].value == "b"
    assert ran == ["read b"]
    for stages in ([[0]], [[0, 0], [1]], [[0, 1, 2]], [["0"], [1]], None, [0, 1]):
        bad = {**answer, "stages": stages}
        with pytest.raises(Unexpected):
            address = fake_daemon(lambda _, bad=bad: http_answer(bad))  # type: ignore[misc]
            gate_batch(calls, client=Client(address, "t", daemon_key=FAKE_KEY))
    assert ran == ["read b"]


def test_a_freeze_refuses_every_call_with_its_reason(running_daemon: DaemonFixture) -> None:
    people = running_daemon._people
    people("POST", "/v1/freeze", {})
    try:
        with pytest.raises(CountersignError, match="frozen by owner"):
            send_email("ana@example.com")
        with pytest.raises(CountersignError, match="frozen by owner"):
            asyncio.run(send_email_later("ana@example.com"))
        assert ran == []
    finally:
        people("POST", "/v1/thaw", {"resume": "people"})
        people("POST", "/v1/thaw", {"resume": "grants"})
    with running_daemon.answering("approve"):
        assert send_email("bo@example.com") == "sent to bo@example.com"
