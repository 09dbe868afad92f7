"""A person in crisis gets the card with and without the daemon, and without the program."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import DaemonFixture

from countersign import AsyncClient, BadInput, Client, CountersignError, user_texts
from countersign.static_card import STATIC_CARD

SIGN = "I want to kill myself tonight"
CALM = "please sort my photos"


def screened(client: Client, text: str) -> list[dict[str, Any]]:
    """By both clients."""
    other = AsyncClient(client.endpoint, client._token, daemon_key=client._daemon_key)
    return [client.screen(text, "s"), asyncio.run(other.screen(text, "s"))]


@pytest.fixture
def deaf(tmp_path: Path) -> Iterator[Client]:
    """A daemon that accepts connections and never answers."""
    path = tmp_path / "agents.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(16)
        yield Client(f"unix:{path}", "csa_x")


def test_the_card_comes_without_a_daemon(no_daemon: None) -> None:
    for found in screened(Client(), SIGN):
        assert found["concern"] == "likely"
        assert found["decision"] == "help"
        assert "988" in found["card"]["text"]
        assert found["offline"]
    for found in screened(Client(), CALM):
        assert (found["card"], found["decision"], found["concern"]) == (None, "pass", "none")


def test_a_daemon_that_never_answers_does_not_hold_back_the_card(deaf: Client) -> None:
    # The exchange itself would wait for half a minute.
    began = time.monotonic()
    found = deaf.screen(SIGN, "s")
    assert time.monotonic() - began < 20
    assert found["concern"] == "likely"
    assert "988" in found["card"]["text"]


def test_a_task_is_not_held_back_either(deaf: Client) -> None:
    began = time.monotonic()

    async def main() -> dict[str, Any]:
        return await AsyncClient(deaf.endpoint, "csa_x").screen(SIGN, "s")

    assert "988" in asyncio.run(main())["card"]["text"]
    assert time.monotonic() - began < 20


def test_without_the_program_there_is_a_fixed_card(
    no_daemon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTERSIGN_BINARY", "/nowhere/countersign")
    for text in (SIGN, CALM):
        for found in screened(Client(), text):
            assert found["card"]["text"] == STATIC_CARD
            assert (found["concern"], found["decision"]) == ("unknown", "help")


def test_a_text_of_the_agent_needs_the_daemon(no_daemon: None) -> None:
    with pytest.raises(CountersignError):
        Client().screen(CALM, "s", role="agent")
    with pytest.raises(CountersignError):
        asyncio.run(AsyncClient().screen(CALM, "s", role="agent"))
    with pytest.raises(BadInput):
        Client().screen(CALM, "s", ask=True)


def test_the_daemon_answers_where_it_can(running_daemon: DaemonFixture) -> None:
    for found in screened(running_daemon.client(), CALM):
        assert "offline" not in found
        assert found["guard"]["state"] == "off"


def test_what_the_user_sees_is_read_from_an_answer() -> None:
    found = user_texts(
        {
            "card": {"text": "the card"},
            "notice": {"text": "no answer, the card"},
            "takeover": {
                "notice": "a person writes",
                "messages": [
                    {"number": 1, "text": "I am Ana."},
                    {"number": True, "text": "x"},
                    {"number": 2, "text": 5},
                    "text",
                    {"number": 2, "text": "Are you safe?"},
                ],
            },
        }
    )
    shown = ["no answer, the card", "a person writes", "I am Ana.", "Are you safe?"]
    assert found.texts() == shown
    assert (found.texts(after=1), found.last_message) == ([shown[0], shown[3]], 2)
    for other in (
        {},
        {"takeover": None, "notice": None, "card": None},
        {"takeover": {"messages": 1}},
    ):
        assert user_texts(other).texts() == []


def test_what_a_person_writes_after_a_takeover_reaches_the_caller(
    running_daemon: DaemonFixture,
) -> None:
    session = "taken & over"
    client = running_daemon.client()
    assert user_texts(client.screen(SIGN, session)).card
    taken = {"agent": "py", "session": session, "message": "I am Ana."}
    running_daemon._people("POST", "/v1/crises/take-over", taken)
    other = asyncio.run(running_daemon.async_client().takeover(session))
    for found in (client.screen(CALM, session), client.takeover(session), other):
        assert found["context"] == "crisis"
        assert user_texts(found).takeover
        assert user_texts(found).messages == ((1, "I am Ana."),)
    assert user_texts(client.takeover("another")).texts() == []
    running_daemon.calm()
