"""The interface of the original approval router, backed by the real daemon."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from typing import Any

from .. import program
from ..client import Client
from ..endpoint import Endpoint
from ..errors import CountersignError
from ..request import Request, State
from . import person
from .tiers import ApprovalTier, call_of

_SHOWN = 200
#: Shown where the country of the person is not known.
_ANYWHERE = {
    "lifeline": "findahelpline.com lists the helplines of your country; US: call or text 988",
    "crisis_text": "findahelpline.com lists chats and text lines; US: text HOME to 741741",
    "emergency": "your local emergency number",
}


class ApprovalRouter:
    """Routes the actions of one session: approved at once, pending, or answered with helplines.

    Every action goes to the daemon, and without a daemon nothing is approved. ``approve`` and
    ``deny`` need a person's token (``person_token`` or ``COUNTERSIGN_TOKEN``); people can also
    decide in the inbox or a channel, and ``wait`` returns that decision.
    """

    def __init__(
        self,
        session_key: str = "default",
        *,
        client: Client | None = None,
        people: str | None = None,
        person_token: str | None = None,
    ) -> None:
        self._session_key = session_key
        self._client = client
        self._people = None if people is None else Endpoint.parse(people)
        self._person_token = person_token
        self._pending: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def route(
        self, action: str, description: str = "", context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Routes an action. It may run only if the result is ``{"approved": True, …}``.

        Otherwise ``status`` is ``approval_required``, ``crisis`` or ``denied``.
        """
        try:
            if not action:
                return {"approved": True, "tier": "SAFE", "reason": "the action is empty"}
            screened = self._screened(action)
            if screened.get("crisis") is not False:
                return _help(screened.get("card"))
            call = call_of(
                action, context, session=self._session_key, description=description or None
            )
            request = self._speaker().submit(call)
            if request.approved:
                self._speaker().use(call, request)
        except Exception as error:
            return _refused(ApprovalTier.CRITICAL, str(error))
        tier, reason = _tier(request), request.brief or request.why()
        if request.approved:
            found = {"approved": True, "tier": tier.label, "reason": reason}
            return {**found, "smart_approved": True} if tier is ApprovalTier.LOW else found
        if request.state is not State.PENDING or request.id is None:
            return _refused(tier, request.why())
        timeout = tier.timeout_seconds or ApprovalTier.MEDIUM.timeout_seconds
        with self._lock:
            self._pending[request.id] = {
                "action": action,
                "description": description,
                "tier": tier,
                "reason": reason,
                "created_at": time.time(),
                "timeout": timeout,
                "call": call,
            }
        return {
            "approved": False,
            "status": "approval_required",
            "approval_id": request.id,
            "tier": tier.label,
            "tier_emoji": tier.emoji,
            "reason": reason,
            "timeout_seconds": timeout,
            "message": _message(tier, action, reason, timeout),
        }

    def approve(
        self, approval_id: str, approver: str = "user", *, reason: str = ""
    ) -> dict[str, Any]:
        """Approves an action up to HIGH; what is CRITICAL is approved in the inbox.

        The token says who approved; ``approver`` is ignored.
        """
        del approver
        return self._answer(approval_id, True, reason)

    def deny(self, approval_id: str, denier: str = "user", reason: str = "") -> dict[str, Any]:
        """Denies an action."""
        del denier
        return self._answer(approval_id, False, reason)

    def wait(self, approval_id: str, seconds: int = 25) -> dict[str, Any]:
        """The state of an action, when it is decided or after this many seconds."""
        with self._lock:
            entry = self._pending.get(approval_id)
        if entry is None:
            return _unknown(approval_id)
        try:
            return self._ended(approval_id, entry, self._speaker().wait(approval_id, seconds))
        except CountersignError as error:
            return {"approved": False, "error": str(error)}

    def check_timeouts(self) -> list[dict[str, Any]]:
        """Cancels and returns the actions that no person answered in time."""
        now = time.time()
        with self._lock:
            late = {
                name: entry
                for name, entry in self._pending.items()
                if now - entry["created_at"] > entry["timeout"]
            }
            for name in late:
                del self._pending[name]
        for name in late:
            with contextlib.suppress(CountersignError):
                self._speaker().cancel(name)
        return [
            {
                "approval_id": name,
                "action": entry["action"],
                "tier": entry["tier"].label,
                "elapsed": now - entry["created_at"],
                "timeout": entry["timeout"],
            }
            for name, entry in late.items()
        ]

    @property
    def pending_count(self) -> int:
        """The number of pending actions."""
        with self._lock:
            return len(self._pending)

    def _answer(self, name: str, approved: bool, reason: str) -> dict[str, Any]:
        with self._lock:
            entry = self._pending.get(name)
        if entry is None:
            return _unknown(name)
        try:
            person.respond(name, approved, reason, self._people, self._person_token)
            return self._ended(name, entry, self._speaker().get(name))
        except CountersignError as error:
            return {"approved": False, "error": str(error)}

    def _ended(self, name: str, entry: dict[str, Any], request: Request) -> dict[str, Any]:
        found = {"tier": entry["tier"].label, "action": entry["action"]}
        if request.state is State.PENDING:
            return {**found, "approved": False, "status": "pending"}
        with self._lock:
            mine = self._pending.pop(name, None)
        if mine is None:
            return _unknown(name)
        if not request.approved:
            ended = {"denier": request.decided_by, "reason": request.reason}
            return {**found, "approved": False, **ended}
        if request.edited_arguments is not None:
            return {**found, "approved": False, "error": "a person approved an edited action"}
        self._speaker().use(entry["call"], request)
        return {**found, "approved": True, "approver": request.decided_by}

    def _screened(self, action: str) -> dict[str, Any]:
        """Without a daemon the program itself screens the text, so helplines are always shown."""
        try:
            return self._speaker().screen(action, self._session_key)
        except CountersignError:
            return program.screen(action)

    def _speaker(self) -> Client:
        return self._client or Client()


def _tier(request: Request) -> ApprovalTier:
    try:
        return ApprovalTier[request.tier]
    except KeyError:
        return ApprovalTier.CRITICAL


def _message(tier: ApprovalTier, action: str, reason: str, timeout: int | None) -> str:
    more = len(action) - _SHOWN
    shown = action[:_SHOWN] + (f"… ({more} more characters)" if more > 0 else "")
    return (
        f"{tier.emoji} **{tier.label}**: your approval is required.\n"
        f"**Action:** {shown}\n"
        f"**Reason:** {reason}\n"
        f"**Timeout:** {timeout}s, then the request is escalated; without an answer it is denied"
    )


def _help(card: Any) -> dict[str, Any]:
    return {
        "approved": False,
        "status": "crisis",
        "tier": ApprovalTier.CRITICAL.label,
        "reason": "crisis: a person may be in danger",
        "action_required": "crisis_intervention",
        "resources": _resources(card),
    }


def _resources(card: Any) -> dict[str, str]:
    """The helplines of the card, which are those of the configured country."""
    lines = card.get("lines") if isinstance(card, dict) else None
    if not isinstance(lines, list) or not lines:
        return dict(_ANYWHERE)
    shown = [f"{line['name']}: {line['number']} ({line['channel']})" for line in lines]
    texts = [one for one, line in zip(shown, lines, strict=True) if "text" in line["channel"]]
    emergency = card.get("emergency")
    return {
        "lifeline": shown[0],
        "crisis_text": texts[0] if texts else _ANYWHERE["crisis_text"],
        "emergency": str(emergency) if emergency else _ANYWHERE["emergency"],
    }


def _refused(tier: ApprovalTier, reason: str) -> dict[str, Any]:
    return {"approved": False, "status": "denied", "tier": tier.label, "reason": reason}


def _unknown(name: str) -> dict[str, Any]:
    return {"approved": False, "error": f"approval {name} not found or not pending"}


_routers: dict[str, ApprovalRouter] = {}
_routers_lock = threading.Lock()


def get_router(session_key: str = "default") -> ApprovalRouter:
    """The router of a session."""
    with _routers_lock:
        return _routers.setdefault(session_key, ApprovalRouter(session_key))


def route_action(
    action: str, description: str = "", context: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Routes an action of the session named in its context."""
    session = (context or {}).get("session_key", "default")
    return get_router(str(session)).route(action, description, context)
