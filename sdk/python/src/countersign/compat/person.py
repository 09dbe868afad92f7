"""A person's answer: it takes a person's credential, which an agent does not have."""

from __future__ import annotations

import os

from .. import steps
from ..door import Door, people_door
from ..errors import CountersignError
from ..wire import drive


class NeedsPerson(CountersignError, PermissionError):
    """Only a person can answer: no person's credential was given."""

    def __init__(self) -> None:
        super().__init__(
            "only a person can answer: log in with `countersign login` and give the token as "
            "person_token or in COUNTERSIGN_TOKEN, never to an agent"
        )


def respond(name: str, approved: bool, reason: str, door: Door | None, token: str | None) -> str:
    """Answers a request: how it stands then."""
    token = token or os.environ.get("COUNTERSIGN_TOKEN")
    if not token:
        raise NeedsPerson
    return drive(steps.respond(name, approved, reason), door or people_door(), token)
