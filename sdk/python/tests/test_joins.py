"""One call, asked about more than once; what came of calls; lists of calls through restarts."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import House
from test_client import WAITS, http_answer, liar

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
    """A call that nobody asked about before."""
    return Call(tool="send_email", arguments={"to": f"{uuid.uuid4()}@example.com"}, **more)


@pytest.fixture(params=["waiting", "on a loop"])
def clear(request: pytest.FixtureRequest, house: House) -> Clear:
    # A question that nobody answers ends the test, not the day.
    if request.param == "waiting":
        return lambda call, patience=20.0: house.client().clear(call, patience=patience)
    return lambda call, patience=20.0: asyncio.run(
        house.async_client().clear(call, patience=patience)
    )


def test_who_runs_out_of_patience_is_told_the_request_and_a_retry_joins_it(
    clear: Clear, house: House
) -> None:
    before, call = house.kept(), mail()
    with pytest.raises(StillWaiting) as caught:
        clear(call, patience=0.3)
    request = caught.value.request
    assert request is not None
    assert request.id is not None
    assert request.id in str(caught.value)
    told = refusal(caught.value)
    assert request.id in told
    assert "again to go on waiting" in told
    assert house.seen(request.id)["state"] == "pending"
    with house.answering("approve"):
        assert clear(call).request.id == request.id
    assert house.kept() == before + 1


def test_a_retry_finds_what_was_approved_meanwhile_and_uses_it_once(
    clear: Clear, house: House
) -> None:
    call = mail()
    with pytest.raises(StillWaiting):
        clear(call, patience=0.2)
    (waiting,) = house.pending()
    house.decide(waiting, "approve")
    assert clear(call).request.id == waiting["id"]
    with pytest.raises(StillWaiting) as caught:
        clear(call, patience=0.2)
    assert caught.value.request is not None
    assert caught.value.request.id != waiting["id"]


def test_a_question_that_is_only_asked_does_not_join_unless_it_says_so(house: House) -> None:
    # One yes must not be two: only who uses the permit may share it.
    client, call = house.client(), mail()
    with house.answering("approve"):
        first, second = client.ask(call), client.ask(call)
        third = client.ask(call, join=True)
    assert first.id != second.id
    assert third.id in (first.id, second.id)


def test_the_hosts_name_for_a_call_finds_its_request(clear: Clear, house: House) -> None:
    call = mail(call_id=str(uuid.uuid4()))
    with house.answering("deny", reason="no"), pytest.raises(NotApproved):
        clear(call)
    before = house.kept()
    with pytest.raises(NotApproved, match="Denied by owner: no"):
        clear(call)
    assert house.kept() == before


def test_a_name_whose_approval_was_used_or_that_nobody_answered_is_asked_about_anew(
    clear: Clear, house: House
) -> None:
    used = mail(call_id=str(uuid.uuid4()))
    with house.answering("approve"):
        assert clear(used).request.id != clear(used).request.id
    silent = mail(call_id=str(uuid.uuid4()), timeout=1)
    with pytest.raises(NotApproved, match="nobody answered"):
        clear(silent)
    with house.answering("approve"):
        assert clear(silent).request


def test_the_same_call_twice_at_once_takes_two_approvals(house: House) -> None:
    async def both() -> tuple[Clearance, Clearance]:
        client, call = house.async_client(), mail()
        return await asyncio.gather(client.clear(call), client.clear(call))

    with house.answering("approve"):
        one, other = asyncio.run(both())
    assert one.request.id != other.request.id


def test_a_daemon_that_went_away_leaves_the_request_open() -> None:
    asked = threading.Event()

    def vanishes(head: str) -> bytes:
        if asked.is_set():
            return b""
        asked.set()
        return http_answer(WAITS)

    with pytest.raises(StillWaiting) as caught:
        Client(liar(vanishes), "t").clear(mail(), patience=1)
    assert str(WAITS["id"]) in str(caught.value)


def test_what_came_of_a_call_is_kept_in_figures(house: House) -> None:
    @gated(name="run_program")
    def run(script: str, check: bool) -> Any:
        words = [sys.executable, "-c", script]
        return subprocess.run(words, check=check)

    with house.answering("approve"):
        assert run("raise SystemExit(0)", check=False).returncode == 0
        assert house.latest()["reported"]["exit_code"] == 0
        assert house.latest()["reported"]["status"] == "ok"
        assert run("raise SystemExit(3)", check=False).returncode == 3
        assert house.latest()["reported"]["exit_code"] == 3
        assert house.latest()["reported"]["status"] == "error"
        with pytest.raises(subprocess.CalledProcessError):
            run("raise SystemExit(4)", check=True)
    reported = house.latest()["reported"]
    assert (reported["status"], reported["exit_code"]) == ("error", 4)
    assert reported["duration_ms"] > 0


def test_what_came_of_a_call_can_be_said_without_its_request(house: House) -> None:
    client, call = house.client(), mail(call_id=str(uuid.uuid4()))
    with house.answering("approve"):
        name = client.clear(call).request.id
    digest = hashlib.sha256(b"sent").hexdigest()
    said = Outcome("error", "it broke", exit_code=2, duration_ms=7, result_digest=digest)
    assert client.came_of(call, said) == name
    assert house.seen(name or "")["reported"] == {
        "status": "error",
        "summary": "it broke",
        "exit_code": 2,
        "duration_ms": 7,
        "result_digest": digest,
    }
    assert asyncio.run(house.async_client().came_of(mail(), "ok")) is None
    with pytest.raises(Problem):
        client.came_of(call, Outcome("ok", result_digest="short"))


def test_what_passed_elsewhere_is_judged_again_and_counted(house: House) -> None:
    calls = [(Call(command="ls"), 1.5), (Call(command="rm -rf /"), 0)]
    assert house.client().passed("sdk", calls) == 1
    assert asyncio.run(house.async_client().passed("sdk", calls[:1])) == 0
    house.client().ready()


def test_what_a_server_says_of_its_tool_can_only_raise(house: House) -> None:
    client = house.client()
    reads = Call(tool="list_things")
    assert client.submit(reads).tier == "SAFE"
    worse = Call(tool="list_things", annotations={"destructiveHint": True})
    assert client.submit(worse).tier != "SAFE"
    better = Call(tool="send_email", arguments={"to": "a@b.c"}, annotations={"readOnlyHint": True})
    assert client.submit(better).state is State.PENDING


def test_a_list_of_calls_is_one_group_and_outlives_the_daemon(tmp_path: Path) -> None:
    house = House(tmp_path / "house")
    agents, client, ran = house.agents, house.client(), []

    def send_email(to: str) -> str:
        ran.append(to)
        if to == "b@b.c":
            raise LookupError(to)
        return to

    results: list[BatchResult] = []
    calls = [(send_email, {"to": to}) for to in ("a@b.c", "b@b.c", "c@b.c")]
    thread = threading.Thread(target=lambda: results.extend(gate_batch(calls, client=client)))
    thread.start()
    house.wait_until(lambda: len(house.pending()) == 3)
    assert len({one["group"] for one in house.pending()}) == 1
    house.stop()
    house.start(agents)
    for request in house.pending():
        house.decide(request, "deny" if "a@b.c" in request["brief"] else "approve")
    thread.join(60)
    assert house.kept() == 3
    house.stop()
    assert [result.value for result in results] == [None, None, "c@b.c"]
    assert isinstance(results[0].error, NotApproved)
    assert isinstance(results[1].error, LookupError)
    assert ran == ["b@b.c", "c@b.c"]


def test_who_stops_waiting_for_a_list_takes_all_of_it_back(house: House) -> None:
    def send_email(to: str) -> str:
        raise AssertionError(to)

    async def hurried(waits: Any) -> None:
        task = asyncio.create_task(waits)
        while len(house.pending()) < 2:
            assert not task.done()
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    calls = [mail(), mail()]
    asyncio.run(hurried(house.async_client().batch(calls)))
    assert house.pending() == []
    planned = [(send_email, {"to": str(uuid.uuid4())}) for _ in range(2)]
    asyncio.run(hurried(gate_batch_async(planned, client=house.async_client())))
    assert house.pending() == []


def test_who_gives_up_while_the_question_is_on_its_way_takes_it_back_too() -> None:
    heads: list[str] = []

    def slow(head: str) -> bytes:
        heads.append(head.split(" HTTP")[0])
        if head.startswith(("POST /v1/requests?", "POST /v1/batches")):
            time.sleep(0.3)
        if head.startswith("POST /v1/batches"):
            return http_answer({"group": "g", "stages": [[0]], "requests": [WAITS]})
        return http_answer(WAITS)

    async def hurried(waits: Any) -> None:
        task = asyncio.create_task(waits)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    client = AsyncClient(liar(slow), "t")
    cancelled = f"POST /v1/requests/{WAITS['id']}/cancel"
    asyncio.run(hurried(client.clear(mail())))
    assert heads == ["POST /v1/requests?wait=0", cancelled]
    heads.clear()
    asyncio.run(hurried(client.plan([mail()])))
    assert heads == ["POST /v1/batches", cancelled]
