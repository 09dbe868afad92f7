"""A person's message is screened even if the daemon does not answer.

The ``countersign`` program screens it then, and without the program a fixed card is returned.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from . import program
from .errors import CountersignError
from .static_card import STATIC_CARD

#: How long a card waits for the daemon, in seconds.
CARD_WAIT = 0.3
_LATE = "the daemon has not answered yet"


def screen(daemon: Callable[[], dict[str, Any]], text: str) -> dict[str, Any]:
    """The daemon's answer, or an own one if the daemon is late and the text shows signs."""
    answers: queue.SimpleQueue[dict[str, Any] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(daemon())
        except Exception as error:  # It is raised in the thread of the caller.
            answers.put(error)

    threading.Thread(target=ask, name="countersign-screen", daemon=True).start()
    try:
        answer = answers.get(timeout=CARD_WAIT)
    except queue.Empty:
        own = offline(text, _LATE)
        if _shows_signs(own):
            return own
        answer = answers.get()
    if isinstance(answer, CountersignError):
        return offline(text, str(answer))
    if isinstance(answer, Exception):
        raise answer
    return answer


async def screen_async(daemon: Awaitable[dict[str, Any]], text: str) -> dict[str, Any]:
    """Like :func:`screen`."""
    asking = asyncio.ensure_future(daemon)
    try:
        await asyncio.wait({asking}, timeout=CARD_WAIT)
        if not asking.done():
            own = await asyncio.to_thread(offline, text, _LATE)
            if _shows_signs(own):
                # The daemon still learns of the message.
                asking.add_done_callback(_forget)
                return own
        return await asking
    except CountersignError as error:
        return await asyncio.to_thread(offline, text, str(error))
    except asyncio.CancelledError:
        asking.cancel()
        raise


def offline(text: str, why: str) -> dict[str, Any]:
    """What the program says about a text, in the form of the daemon's answer.

    Nobody can screen the text without the program; the answer is then a fixed card.
    """
    try:
        found = program.screen(text)
    except CountersignError:
        found = {
            "crisis": False,
            "concern": "unknown",
            "card": {"text": STATIC_CARD, "lang": "en", "country": None, "check_in": True},
        }
    helps = found.get("card") is not None
    return {
        **found,
        "context": "none",
        "role": "user",
        "guard": {"state": "unavailable", "categories": [], "reason": "daemon"},
        "session_concern": found.get("concern"),
        "decision": "help" if helps else "pass",
        "replacement": None,
        "request": None,
        "takeover": None,
        "notice": None,
        "offline": why,
    }


def _shows_signs(found: dict[str, Any]) -> bool:
    return found.get("concern") in ("possible", "likely")


def _forget(asking: asyncio.Future[dict[str, Any]]) -> None:
    """An error that nobody waits for any more is not reported."""
    if not asking.cancelled():
        asking.exception()
