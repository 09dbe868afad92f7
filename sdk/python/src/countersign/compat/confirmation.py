"""A request in the format of the first system."""

from __future__ import annotations

import datetime
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from ..call import Call
from ..request import Request, State
from .actions import RiskLevel


class ConfirmationStatus(Enum):
    """The status of a request."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    AUTO_APPROVED = "auto_approved"


@dataclass
class ConfirmationRequest:
    """A request for a person's decision."""

    request_id: str
    action: str
    description: str
    risk_level: str
    payload: dict[str, Any]
    session_key: str = ""
    created_at: float = 0.0
    expires_at: float = 0.0
    status: str = ConfirmationStatus.PENDING.value
    decided_at: float = 0.0
    decided_by: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        self.request_id = self.request_id or secrets.token_hex(13)
        self.created_at = self.created_at or time.time()
        self.expires_at = self.expires_at or self.created_at + 300

    @property
    def is_expired(self) -> bool:
        """Whether the deadline has passed."""
        return time.time() > self.expires_at

    @property
    def is_pending(self) -> bool:
        """Whether the request can still be decided."""
        return self.status == ConfirmationStatus.PENDING.value and not self.is_expired

    def to_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return {**asdict(self), "is_expired": self.is_expired, "is_pending": self.is_pending}


def denied(
    action: str,
    description: str,
    payload: Mapping[str, Any] | None,
    session_key: str,
    reason: str,
    name: str = "",
) -> ConfirmationRequest:
    return ConfirmationRequest(
        request_id=name,
        action=action,
        description=description,
        risk_level=RiskLevel.HIGH.value,
        payload=dict(payload or {}),
        session_key=session_key,
        status=ConfirmationStatus.DENIED.value,
        decided_at=time.time(),
        decided_by="error",
        reason=reason,
    )


def seen(request: Request, call: Call | None) -> ConfirmationRequest:
    """Converts a request to the format of the first system."""
    decision = request.decision
    by_rules = decision is not None and decision.kind in ("policy", "grant", "judge")
    status = {
        State.PENDING: ConfirmationStatus.PENDING,
        State.APPROVED: (
            ConfirmationStatus.AUTO_APPROVED if by_rules else ConfirmationStatus.APPROVED
        ),
        State.DENIED: ConfirmationStatus.DENIED,
        State.CANCELLED: ConfirmationStatus.DENIED,
        State.EXPIRED: ConfirmationStatus.EXPIRED,
    }[request.state]
    tier = request.tier.lower()
    return ConfirmationRequest(
        request_id=request.id or "",
        action=request.tool,
        description=(call.description if call else None) or request.brief or "",
        risk_level="low" if tier == "safe" else tier,
        payload=dict(call.arguments) if call else {},
        session_key=request.session,
        created_at=_seconds(str(request.document.get("created", ""))),
        expires_at=_seconds(request.deadline),
        status=status.value,
        decided_at=_seconds(decision.at) if decision else 0.0,
        decided_by="" if decision is None else "whitelist" if by_rules else decision.by,
        reason=request.reason,
    )


def _seconds(at: str) -> float:
    try:
        return datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0
