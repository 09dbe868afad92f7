"""With the real `countersign` and a real daemon: a person answers, and Hermes does as told."""

import base64
import json
import os
import subprocess
import threading
import time
import urllib.request
from types import SimpleNamespace

import pytest
from conftest import PLUGIN, results

BINARY = os.environ.get("COUNTERSIGN_TEST_BINARY", "")


def has_hook():
    """Whether the program can answer a plugin."""
    if not BINARY:
        return False
    helped = subprocess.run([BINARY, "hook", "--help"], capture_output=True, timeout=60)
    return helped.returncode == 0


pytestmark = pytest.mark.skipif(not has_hook(), reason="no built `countersign` with `hook`")


def post(address, path, said, token=None, proof=None):
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    if proof:
        headers["x-countersign-step-up"] = f"passphrase {proof}"
    sent = json.dumps(said).encode() if said is not None else None
    asked = urllib.request.Request(f"http://{address}{path}", sent, headers)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A daemon in a folder of its own, with an owner who is logged in and an agent."""
    folder = tmp_path_factory.mktemp("house")
    config = folder / "countersign.toml"
    config.write_text(
        '[listen]\nagents = "127.0.0.1:0"\npeople = "127.0.0.1:0"\n'
        f'socket = "{folder}/agents.sock"\n'
        "[flood]\nopen_per_agent = 1000\nasks_per_minute = 1000\nasks_per_hour = 1000\n"
        "denials = 1000\n"
    )
    words = [BINARY, "serve", "--json", "--print-passphrase", "--config", str(config)]
    words += ["--state", str(folder / "state")]
    daemon = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        told = json.loads(daemon.stdout.readline())
        login = {"name": "owner", "passphrase": told["passphrase"], "channel": "terminal"}
        owner = post(told["people"], "/v1/login", login)["token"]
        proof = base64.urlsafe_b64encode(told["passphrase"].encode()).decode().rstrip("=")
        agent = post(told["people"], "/v1/agents", {"name": "hermes"}, owner, proof)["token"]
        yield SimpleNamespace(
            people=told["people"],
            agents=told["agents"],
            owner=owner,
            agent=agent,
            daemon=daemon,
            key=folder / "state/daemon.pub",
        )
    finally:
        daemon.kill()
        daemon.wait()


@pytest.fixture
def person(house, monkeypatch):
    """A person who answers what waits, as a test tells them."""
    monkeypatch.setenv("COUNTERSIGN_BINARY", BINARY)
    monkeypatch.setenv("COUNTERSIGN_AGENTS", house.agents)
    monkeypatch.setenv("COUNTERSIGN_AGENT_TOKEN", house.agent)
    monkeypatch.setenv("COUNTERSIGN_WAIT_SECONDS", "60")
    # As the installer writes it.
    pinned = PLUGIN / "daemon_key"
    pinned.write_text(f"{house.key}\n")
    answered, done = [], threading.Event()

    def waiting():
        listed = post(house.people, "/v1/requests?state=pending", None, house.owner)
        return [listed_request["id"] for listed_request in listed["requests"]]

    def answers(choose):
        def look():
            while not done.wait(0.1):
                for request in waiting():
                    full = post(house.people, f"/v1/requests/{request}", None, house.owner)
                    said = {"digest": full["digest"], "word": full["phrase"], "reason": "a test"}
                    said.update(choose(full))
                    if "edited_arguments" in said:
                        # An edit is approved as it was checked.
                        edit = {key: said[key] for key in ("digest", "edited_arguments")}
                        path = f"/v1/requests/{request}/edit"
                        checked = post(house.people, path, edit, house.owner)
                        said["edited_digest"] = checked["digest"]
                        said["word"] = checked["phrase"]
                    path = f"/v1/requests/{request}/decision"
                    answered.append(full)
                    post(house.people, path, said, house.owner)

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        return answered

    yield SimpleNamespace(answers=answers, waiting=waiting)
    done.set()
    pinned.unlink()


def test_a_denied_command_does_not_run(person, call, keep):
    answered = person.answers(lambda _request: {"choice": "deny", "reason": "The only copy."})
    result = call("terminal", {"command": f"rm -rf {keep}"})
    assert (keep / "thesis.txt").exists()
    assert "The only copy." in result["error"]
    assert len(answered) == 1


def test_an_approved_command_runs_and_what_came_of_it_is_kept(person, house, call, keep):
    answered = person.answers(lambda _request: {"choice": "approve"})
    call("terminal", {"command": f"rm -rf {keep}; exit 3"})
    assert not keep.exists() and len(answered) == 1
    path = f"/v1/requests/{answered[0]['id']}"
    outcome = post(house.people, path, None, house.owner)["reported"]
    assert outcome["status"] == "ok" and outcome["exit_code"] == 3


def test_an_edited_command_runs_as_edited(person, call, keep):
    gentle = {"command": f"ls {keep}"}
    person.answers(lambda _request: {"choice": "approve", "edited_arguments": gentle})
    result = call("terminal", {"command": f"rm -rf {keep}"})
    assert (keep / "thesis.txt").exists()
    assert "thesis.txt" in result["output"] and "A person edited" in result["countersign"]


def test_harmless_calls_go_on_without_anybody(person, call, keep):
    answered = person.answers(lambda _request: {"choice": "deny"})
    assert "years" in call("terminal", {"command": f"cat {keep}/thesis.txt"})["output"]
    assert "years" in call("read_file", {"path": str(keep / "thesis.txt")})["content"]
    assert answered == []


def test_the_calls_of_one_turn_wait_together(person, turn, keep):
    together = []

    def choose(request):
        # The first is not answered before the second is there: asked one by one, it would never come.
        patience = time.monotonic() + 60
        while not together and len(person.waiting()) < 2 and time.monotonic() < patience:
            time.sleep(0.05)
        together.append(len(person.waiting()))
        denied = "thesis" in request["card"]["arguments"]
        return {"choice": "deny" if denied else "approve"}

    (keep / "old").mkdir()
    answered = person.answers(choose)
    calls = [
        ("c1", "read_file", {"path": str(keep / "thesis.txt")}),
        ("c2", "terminal", {"command": f"rm -rf {keep}/old"}),
        ("c3", "terminal", {"command": f"rm -rf {keep}/thesis.txt"}),
    ]
    given = results(turn("tidy up", calls))
    assert "years of work" in given["c1"]
    assert (keep / "thesis.txt").exists() and "denied" in given["c3"]
    assert not (keep / "old").exists(), given["c2"]
    assert together == [2, 1] and len(answered) == 2


def test_a_stopped_agent_leaves_nothing_approved(person, call, keep):
    from tools.interrupt import set_interrupt

    me = threading.get_ident()

    def stop_when_asked():
        until = time.monotonic() + 20
        while not person.waiting() and time.monotonic() < until:
            time.sleep(0.1)
        set_interrupt(True, me)

    threading.Thread(target=stop_when_asked, daemon=True).start()
    try:
        result = call("terminal", {"command": f"rm -rf {keep}"})
    finally:
        set_interrupt(False, me)
    assert "interrupted" in result["error"]
    # A hook that still waited would get its approval before a later call gets one.
    answered = person.answers(lambda _request: {"choice": "approve"})
    (keep / "old").mkdir()
    call("terminal", {"command": f"rm -rf {keep}/old"})
    assert not (keep / "old").exists() and len(answered) == 2
    assert (keep / "thesis.txt").exists()


def test_a_crisis_brings_the_card_and_holds_the_calls_of_that_session(person, turn, keep):
    calls = [("c1", "terminal", {"command": f"rm -rf {keep}"})]
    answered = person.answers(lambda _request: {"choice": "deny"})
    done = turn("I want to kill myself tonight", calls, "I am here.", platform="tui")
    card, _, rest = done.said.partition("\n\nI am here.")
    assert card.strip() and rest == "", done.said
    assert [request["crisis"] for request in answered] == [True]
    assert (keep / "thesis.txt").exists()


def test_without_a_daemon_nothing_runs(person, call, keep, monkeypatch):
    monkeypatch.setenv("COUNTERSIGN_AGENTS", "127.0.0.1:9")
    monkeypatch.setenv("COUNTERSIGN_WAIT_SECONDS", "20")
    result = call("terminal", {"command": f"rm -rf {keep}"})
    assert "no person could be asked" in result["error"] and "output" not in result
    assert (keep / "thesis.txt").exists()
