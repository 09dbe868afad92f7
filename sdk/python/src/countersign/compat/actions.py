"""The named actions and how risky they are."""

from __future__ import annotations

from enum import Enum

from .. import program
from ..call import Call
from ..errors import CountersignError


class RiskLevel(Enum):
    """How risky an action is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


_ACTIONS = {
    RiskLevel.LOW: "access_calendar",
    RiskLevel.MEDIUM: (
        "send_message send_telegram send_discord access_contacts read_private_files"
    ),
    RiskLevel.HIGH: (
        "send_email send_signal post_social install_software modify_system_config upload_data "
        "open_port modify_dns"
    ),
    RiskLevel.CRITICAL: (
        "crypto_tx sign_transaction access_wallet modify_balance modify_firewall add_ssh_key "
        "create_user share_credentials expose_service"
    ),
}
#: The named actions; the program's own catalogue says the same, and a test holds them together.
ACTION_CATEGORIES: dict[str, RiskLevel] = {
    action: level for level, actions in _ACTIONS.items() for action in actions.split()
}
DEFAULT_RISK_LEVEL = RiskLevel.MEDIUM


def classify_action(action: str) -> RiskLevel:
    """How risky an action is; an unknown one is MEDIUM at least."""
    known = ACTION_CATEGORIES.get(action)
    if known is not None:
        return known
    try:
        tier = str(program.assess(Call(tool=action))["tier"])
    except (CountersignError, KeyError):
        return RiskLevel.CRITICAL
    return RiskLevel[tier] if tier in ("HIGH", "CRITICAL") else DEFAULT_RISK_LEVEL
