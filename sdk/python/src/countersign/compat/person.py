"""Decides a request with a person's credential, which an agent does not have."""

from __future__ import annotations

import os

from .. import steps
from ..endpoint import Endpoint, people_endpoint
from ..errors import CountersignError
from ..wire import Connection, drive


class NeedsPerson(CountersignError, PermissionError):
    """A decision needs a person's credential."""

    def __init__(self) -> None:
        super().__init__(
            "only a person can decide: run `countersign login` and give the token as "
            "person_token or in COUNTERSIGN_TOKEN, never to an agent"
        )


def respond(
    name: str, approved: bool, reason: str, endpoint: Endpoint | None, token: str | None
) -> str:
    """Decides a request; returns its new status."""
    token = token or os.environ.get("COUNTERSIGN_TOKEN")
    if not token:
        raise NeedsPerson
    connection = Connection(endpoint or people_endpoint(), token, signed=False)
    return drive(steps.respond(name, approved, reason), connection)
