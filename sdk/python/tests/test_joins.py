"""Joined requests, outcomes, and batches across restarts of the daemon."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import DaemonFixture
from test_client import FAKE_KEY, WAITS, fake_daemon, http_answer

from countersign import (
    AsyncClient,
    BatchResult,
    Call,
    Clearance,
    Client,
    NotApproved,
    Outcome,
    Problem,
    State,
    StillWaiting,
    gate_batch,
    gate_batch_async,
    gated,
)
from countersign.adapters import refusal

Clear = Callable[..., Clearance]


def mail(**more: Any) -> Call:
    """A call that was not asked about before."""
    return Call(tool="send_email", arguments={"to": f"{uuid.uuid4()}@example.com"}, **more)


@pytest.fixture(params=["waiting", "on a loop"])
def clear(request: pytest.FixtureRequest, running_daemon: DaemonFixture) -> Clear:
    # A request without a decision must not block the test.
    if request.param == "waiting":
        return lambda call, patience=20.0: running_daemon.client().clear(call, patience=patience)
    return lambda call, patience=20.0: asyncio.run(
        running_daemon.async_client().clear(call, patience=patience)
    )


def test_a_retry_joins_the_request_that_is_still_pending(
    clear: Clear, running_daemon: DaemonFixture
) -> None:
    before, call = running_daemon.kept(), mail()
    with pytest.raises(StillWaiting) as caught:
        clear(call, patience=0.3)
    request = caught.value.request
    assert request is not None
    assert request.id is not None
    assert request.id in str(caught.value)
    told = refusal(caught.value)
    assert request.id in told
    assert "again to continue waiting" in told
    assert running_daemon.seen(request.id)["state"] == "pending"
    with running_daemon.answering("approve"):
        assert clear(call).request.id == request.id
    assert running_daemon.kept() == before + 1


def test_a_retry_uses_an_approval_given_meanwhile_once(
    clear: Clear, running_daemon: DaemonFixture
) -> None:
    call = mail()
    with pytest.raises(StillWaiting):
        clear(call, patience=0.2)
    (waiting,) = running_daemon.pending()
    running_daemon.decide(waiting, "approve")
    assert clear(call).request.id == waiting["id"]
    with pytest.raises(StillWaiting) as caught:
        clear(call, patience=0.2)
    assert caught.value.request is not None
    assert caught.value.request.id != waiting["id"]


def test_ask_joins_only_on_request(running_daemon: DaemonFixture) -> None:
    # One approval must not become two: only a caller that uses the permit may join.
    client, call = running_daemon.client(), mail()
    with running_daemon.answering("approve"):
        first, second = client.ask(call), client.ask(call)
        third = client.ask(call, join=True)
    assert first.id != second.id
    assert third.id in (first.id, second.id)


def test_the_call_id_finds_its_request(clear: Clear, running_daemon: DaemonFixture) -> None:
    call = mail(call_id=str(uuid.uuid4()))
    with running_daemon.answering("deny", reason="no"), pytest.raises(NotApproved):
        clear(call)
    before = running_daemon.kept()
    with pytest.raises(NotApproved, match="Denied by owner: no"):
        clear(call)
    assert running_daemon.kept() == before


def test_a_call_id_with_a_used_or_expired_request_is_asked_again(
    clear: Clear, running_daemon: DaemonFixture
) -> None:
    used = mail(call_id=str(uuid.uuid4()))
    with running_daemon.answering("approve"):
        assert clear(used).request.id != clear(used).request.id
    silent = mail(call_id=str(uuid.uuid4()), timeout=1)
    with pytest.raises(NotApproved, match="no person answered"):
        clear(silent)
    with running_daemon.answering("approve"):
        assert clear(silent).request


def test_two_identical_calls_need_two_approvals(running_daemon: DaemonFixture) -> None:
    async def both() -> tuple[Clearance, Clearance]:
        client, call = running_daemon.async_client(), mail()
        return await asyncio.gather(client.clear(call), client.clear(call))

    with running_daemon.answering("approve"):
        one, other = asyncio.run(both())
    assert one.request.id != other.request.id


def test_the_request_stays_pending_when_the_daemon_stops() -> None:
    asked = threading.Event()

    def vanishes(head: str) -> bytes:
        if asked.is_set():
            return b""
        asked.set()
        return http_answer(WAITS)

    with pytest.raises(StillWaiting) as caught:
        Client(fake_daemon(vanishes), "t", daemon_key=FAKE_KEY).clear(mail(), patience=1)
    assert str(WAITS["id"]) in str(caught.value)


def test_the_outcome_of_a_call_is_recorded(running_daemon: DaemonFixture) -> None:
    @gated(name="run_program")
    def run(script: str, check: bool) -> Any:
        words = [sys.executable, "-c", script]
        return subprocess.run(words, check=check)

    with running_daemon.answering("approve"):
        assert run("raise SystemExit(0)", check=False).returncode == 0
        assert running_daemon.latest()["reported"]["exit_code"] == 0
        assert running_daemon.latest()["reported"]["status"] == "ok"
        assert run("raise SystemExit(3)", check=False).returncode == 3
        assert running_daemon.latest()["reported"]["exit_code"] == 3
        assert running_daemon.latest()["reported"]["status"] == "error"
        with pytest.raises(subprocess.CalledProcessError):
            run("raise SystemExit(4)", check=True)
    reported = running_daemon.latest()["reported"]
    assert (reported["status"], reported["exit_code"]) == ("error", 4)
    assert reported["duration_ms"] > 0


def test_the_outcome_of_a_call_can_be_reported_without_its_request(
    running_daemon: DaemonFixture,
) -> None:
    client, call = running_daemon.client(), mail(call_id=str(uuid.uuid4()))
    with running_daemon.answering("approve"):
        name = client.clear(call).request.id
    digest = hashlib.sha256(b"sent").hexdigest()
    said = Outcome("error", "it broke", exit_code=2, duration_ms=7, result_digest=digest)
    assert client.report_outcome(call, said) == name
    assert running_daemon.seen(name or "")["reported"] == {
        "status": "error",
        "summary": "it broke",
        "exit_code": 2,
        "duration_ms": 7,
        "result_digest": digest,
    }
    assert asyncio.run(running_daemon.async_client().report_outcome(mail(), "ok")) is None
    with pytest.raises(Problem):
        client.report_outcome(call, Outcome("ok", result_digest="short"))


def test_reported_passes_are_assessed_again_and_counted(running_daemon: DaemonFixture) -> None:
    calls = [(Call(command="ls"), 1.5), (Call(command="rm -rf /"), 0)]
    assert running_daemon.client().report_passes("sdk", calls) == 1
    assert asyncio.run(running_daemon.async_client().report_passes("sdk", calls[:1])) == 0
    running_daemon.client().ready()


def test_annotations_can_only_raise_the_tier(running_daemon: DaemonFixture) -> None:
    client = running_daemon.client()
    reads = Call(tool="list_things")
    assert client.submit(reads).tier == "SAFE"
    worse = Call(tool="list_things", annotations={"destructiveHint": True})
    assert client.submit(worse).tier != "SAFE"
    better = Call(tool="send_email", arguments={"to": "a@b.c"}, annotations={"readOnlyHint": True})
    assert client.submit(better).state is State.PENDING


def test_a_batch_is_one_group_and_survives_a_restart(tmp_path: Path) -> None:
    running_daemon = DaemonFixture(tmp_path / "running_daemon")
    agents, client, ran = running_daemon.agents, running_daemon.client(), []

    def send_email(to: str) -> str:
        ran.append(to)
        if to == "b@b.c":
            raise LookupError(to)
        return to

    results: list[BatchResult] = []
    calls = [(send_email, {"to": to}) for to in ("a@b.c", "b@b.c", "c@b.c")]
    thread = threading.Thread(target=lambda: results.extend(gate_batch(calls, client=client)))
    thread.start()
    running_daemon.wait_until(lambda: len(running_daemon.pending()) == 3)
    assert len({one["group"] for one in running_daemon.pending()}) == 1
    running_daemon.stop()
    running_daemon.start(agents)
    for request in running_daemon.pending():
        running_daemon.decide(request, "deny" if "a@b.c" in request["brief"] else "approve")
    thread.join(60)
    assert running_daemon.kept() == 3
    running_daemon.stop()
    assert [result.value for result in results] == [None, None, "c@b.c"]
    assert isinstance(results[0].error, NotApproved)
    assert isinstance(results[1].error, LookupError)
    assert ran == ["b@b.c", "c@b.c"]


def test_cancelling_a_batch_cancels_all_its_requests(running_daemon: DaemonFixture) -> None:
    def send_email(to: str) -> str:
        raise AssertionError(to)

    async def hurried(waits: Any) -> None:
        task = asyncio.create_task(waits)
        while len(running_daemon.pending()) < 2:
            assert not task.done()
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    calls = [mail(), mail()]
    asyncio.run(hurried(running_daemon.async_client().batch(calls)))
    assert running_daemon.pending() == []
    planned = [(send_email, {"to": str(uuid.uuid4())}) for _ in range(2)]
    asyncio.run(hurried(gate_batch_async(planned, client=running_daemon.async_client())))
    assert running_daemon.pending() == []


def test_cancelling_during_the_submission_cancels_the_request() -> None:
    heads: list[str] = []
    arrived, cancelled = threading.Event(), threading.Event()

    def slow(head: str) -> bytes:
        heads.append(head.split(" HTTP")[0])
        if head.startswith(("POST /v1/requests?", "POST /v1/batches")):
            arrived.set()
            assert cancelled.wait(60)
        if head.startswith("POST /v1/batches"):
            return http_answer({"group": "g", "stages": [[0]], "requests": [WAITS]})
        return http_answer(WAITS)

    async def hurried(waits: Any) -> None:
        task = asyncio.create_task(waits)
        while not arrived.is_set():
            assert not task.done()
            await asyncio.sleep(0.01)
        task.cancel()
        # The task handles the cancellation before the response arrives.
        await asyncio.sleep(0)
        cancelled.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    client = AsyncClient(fake_daemon(slow), "t", daemon_key=FAKE_KEY)
    cancel = f"POST /v1/requests/{WAITS['id']}/cancel"
    asyncio.run(hurried(client.clear(mail())))
    assert heads == ["POST /v1/requests?wait=0", cancel]
    heads.clear()
    arrived.clear()
    cancelled.clear()
    asyncio.run(hurried(client.plan([mail()])))
    assert heads == ["POST /v1/batches", cancel]
