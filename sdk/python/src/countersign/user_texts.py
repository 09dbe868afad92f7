"""What an application shows to the user after a text was screened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class UserTexts:
    """The parts of an answer of ``screen`` or ``takeover`` that are for the user."""

    #: The card that answers signs of a crisis.
    card: str | None
    #: Says that no person has answered, with the whole card again.
    unanswered: str | None
    #: Says that a person has taken over the conversation. Nothing of the agent is shown then.
    takeover: str | None
    #: What that person wrote, with numbers from 1.
    messages: tuple[tuple[int, str], ...]

    @property
    def last_message(self) -> int:
        """The number of the newest message; 0 if there is none."""
        return max((number for number, _ in self.messages), default=0)

    def texts(self, after: int = 0) -> list[str]:
        """What to show, in this order. ``after`` is the newest message that was shown before."""
        found = [self.unanswered or self.card]
        if after == 0:
            found.append(self.takeover)
        found += [text for number, text in self.messages if number > after]
        return [text for text in found if text]


def user_texts(answer: dict[str, Any]) -> UserTexts:
    """Reads an answer of ``screen`` or ``takeover``. What has another form is left out."""
    takeover = answer.get("takeover")
    taken = takeover if isinstance(takeover, dict) else {}
    listed = taken.get("messages")
    messages = []
    for one in listed if isinstance(listed, list) else []:
        number = one.get("number") if isinstance(one, dict) else None
        text = _text(one, "text")
        if isinstance(number, int) and not isinstance(number, bool) and text is not None:
            messages.append((number, text))
    return UserTexts(
        card=_text(answer.get("card"), "text"),
        unanswered=_text(answer.get("notice"), "text"),
        takeover=_text(taken, "notice"),
        messages=tuple(messages),
    )


def _text(found: Any, member: str) -> str | None:
    text = found.get(member) if isinstance(found, dict) else None
    return text if isinstance(text, str) else None
