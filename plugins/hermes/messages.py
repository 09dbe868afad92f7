"""Screens people's messages for signs of a crisis and shows the card with helplines."""

import asyncio
import logging
import sys
import threading
import time

from . import host, program
from .bounded import BoundedMap

log = logging.getLogger(__name__)

SCREEN_SECONDS = 10.0
SEND_SECONDS = 5.0
# How long after a message its card is sent to the same chat, in seconds.
ROUTE_SECONDS = 600.0

FOR_THE_MODEL = (
    "Countersign has just shown this person a card with ways to get help, because their message "
    "may mean that they are in danger. Answer kindly and briefly, stay with what they said, and "
    "start no task: calls that reach other people or cannot be undone need another person."
)


class Messages:
    """Screens messages and sends the card to the person."""

    def __init__(self, root):
        self._root = root
        self._lock = threading.Lock()
        self._routes = []
        # Cards that could not be shown at once are put before the answer.
        self._pending_cards = BoundedMap(100)

    # Called by Hermes.

    def arrived(self, event=None, gateway=None, **_rest):
        """A message from a chat platform: remembers where it came from."""
        try:
            source = event.source
            route = Route(
                text=(event.text or "").strip(),
                platform=getattr(source.platform, "value", str(source.platform)),
                person=str(source.user_id or ""),
                adapter=gateway._adapter_for_source(source),
                chat=source.chat_id,
                thread=getattr(source, "thread_id", None),
                loop=asyncio.get_running_loop(),
            )
            with self._lock:
                self._routes = [*self._fresh(), route][-200:]
        except Exception as error:
            log.warning("Countersign: a card for this chat would be sent with the answer: %s", error)
        return None

    def said(self, user_message=None, session_id="", platform="", sender_id="", **_rest):
        """Before the model reads a message: screens it and shows the card first."""
        try:
            # The messages to a subagent are written by the model.
            text = "" if platform == "subagent" else written(user_message)
            card = self._screen(text, session_id) if text.strip() else None
            if card is None:
                return None
            if not self._show(card, text, platform, str(sender_id or "")):
                self._pending_cards.put(session_id, card)
            return {"context": FOR_THE_MODEL}
        except Exception as error:
            log.warning("Countersign could not screen a message: %s", error)
            return None

    def answer(self, response_text="", session_id="", **_rest):
        """Before an answer is shown: puts a pending card before it."""
        card = self._pending_cards.take(session_id)
        return f"{card}\n\n{response_text}" if card else None

    # Implementation.

    def _screen(self, text, session):
        question = {"event": "message", "text": text, "session": self._root(session)}
        card = program.ask(question, SCREEN_SECONDS).get("card")
        return card if isinstance(card, str) and card.strip() else None

    def _show(self, card, text, platform, person):
        """Shows the card; returns whether the person certainly sees it now."""
        route = self._route(text, platform, person)
        if route is not None:
            return route.send(card)
        if platform != "cli":
            return False
        if host.show(f"\n{card}\n"):
            return True
        # Standard error is visible at once; a program that reads only the answer gets it there.
        print(f"\n{card}\n", file=sys.stderr, flush=True)
        return False

    def _fresh(self):
        since = time.monotonic() - ROUTE_SECONDS
        return [route for route in self._routes if route.at > since]

    def _route(self, text, platform, person):
        with self._lock:
            routes = [route for route in self._fresh() if route.platform == platform]
        # Hermes may put a name before the text.
        routes = [route for route in routes if route.text and route.text in text]
        same = [route for route in routes if route.person == person]
        return (same or routes or [None])[-1]


class Route:
    """The chat of a message."""

    def __init__(self, text, platform, person, adapter, chat, thread, loop):
        self.text, self.platform, self.person = text, platform, person
        self.adapter, self.chat, self.thread, self.loop = adapter, chat, thread, loop
        self.at = time.monotonic()

    def send(self, card):
        """Sends the card; returns whether the platform accepted it."""
        try:
            more = {"metadata": {"thread_id": self.thread}} if self.thread else {}
            sending = self.adapter.send(self.chat, card, **more)
            sent = asyncio.run_coroutine_threadsafe(sending, self.loop).result(SEND_SECONDS)
            return bool(getattr(sent, "success", False))
        except Exception as error:
            log.warning("Countersign: the card is sent with the answer instead: %s", error)
            return False


def written(message):
    """The text of a message, which may have several parts."""
    if isinstance(message, str):
        return message
    parts = message if isinstance(message, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
