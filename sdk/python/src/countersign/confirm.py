"""Asks about one action and returns whether it was approved."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from .call import Call
from .client import AsyncClient, Client, async_of, sync_of

_log = logging.getLogger("countersign")


def request_confirmation(
    action: str,
    description: str,
    payload: Mapping[str, Any] | None = None,
    risk_level: str | None = None,
    session_key: str = "",
    timeout: int = 300,
    *,
    client: Client | AsyncClient | None = None,
) -> bool:
    """Asks whether an action may run, and waits for the decision.

    True only if a person or the rules approved it, with this payload. A missing daemon, the
    deadline, an error and an edited payload are False. ``risk_level`` can raise the risk, never
    lower it.
    """
    try:
        call = _call(action, description, payload, risk_level, session_key, timeout)
        clearance = sync_of(client).clear(call)
        return _as_asked(action, clearance.edited)
    except Exception as error:
        _log.warning("DENIED %s: %s", action, error)
        return False


async def request_confirmation_async(
    action: str,
    description: str,
    payload: Mapping[str, Any] | None = None,
    risk_level: str | None = None,
    session_key: str = "",
    timeout: int = 300,
    *,
    client: Client | AsyncClient | None = None,
) -> bool:
    """The same for an event loop."""
    try:
        call = _call(action, description, payload, risk_level, session_key, timeout)
        clearance = await async_of(client).clear(call)
        return _as_asked(action, clearance.edited)
    except Exception as error:
        _log.warning("DENIED %s: %s", action, error)
        return False


def _call(
    action: str,
    description: str,
    payload: Mapping[str, Any] | None,
    risk_level: str | None,
    session_key: str,
    timeout: float,
) -> Call:
    return Call(
        tool=action,
        arguments=payload or {},
        description=description,
        risk_level=risk_level,
        session=session_key or None,
        timeout=timeout,
    )


def _as_asked(action: str, edited: bool) -> bool:
    if edited:
        # A bool cannot carry edited arguments, so the original payload was not approved.
        _log.warning("DENIED %s: a person approved an edited payload, not this one", action)
    return not edited
