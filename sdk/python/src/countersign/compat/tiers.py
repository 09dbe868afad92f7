"""The five tiers, assessed by the program instead of patterns."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from .. import program
from ..call import Call
from ..errors import CountersignError

_EMOJI = ("\u2705", "\U0001f7e1", "\U0001f7e0", "\U0001f534", "\U0001f6a8")
_TIMEOUTS = (None, None, 60, 30, 10)


class ApprovalTier(IntEnum):
    """How dangerous an action is, and who must approve it."""

    SAFE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    @property
    def label(self) -> str:
        """The name of the tier."""
        return self.name

    @property
    def emoji(self) -> str:
        """The symbol of the tier in messages."""
        return _EMOJI[self.value]

    @property
    def timeout_seconds(self) -> int | None:
        """The time until escalation, in seconds; none if no person is asked."""
        return _TIMEOUTS[self.value]

    @property
    def requires_human(self) -> bool:
        """Whether a person is asked."""
        return self >= ApprovalTier.MEDIUM

    @property
    def requires_llm(self) -> bool:
        """Whether a language model may assess it."""
        return self >= ApprovalTier.LOW


TIER_CONFIG: dict[ApprovalTier, dict[str, Any]] = {
    tier: {
        "human_required": tier.requires_human,
        "llm_required": tier.requires_llm,
        "timeout_sec": tier.timeout_seconds,
    }
    for tier in ApprovalTier
}

_WORDS = {
    ApprovalTier.SAFE: "read search list query check status log diff",
    ApprovalTier.LOW: "write edit patch create delete move copy mkdir script test lint",
    ApprovalTier.MEDIUM: (
        "message send api_call webhook email notify commit push branch pr deploy install"
    ),
    ApprovalTier.HIGH: (
        "config crypto key secret credential auth permission firewall network database "
        "migration systemd"
    ),
    ApprovalTier.CRITICAL: "crisis suicide kill destroy format wipe nuke self_modify",
}
#: The minimum tier of each kind of action.
ACTION_TIER_MAP: dict[str, ApprovalTier] = {
    word: tier for tier, words in _WORDS.items() for word in words.split()
}


def classify_tier(
    action: str | None, context: Mapping[str, Any] | None = None
) -> tuple[ApprovalTier, str]:
    """The tier of a command or message, and why. A text that cannot be assessed is CRITICAL."""
    if action is None or action == "":
        return ApprovalTier.SAFE, "there is nothing to do"
    if not isinstance(action, str):
        return ApprovalTier.CRITICAL, "the action is not a string, so it cannot be assessed"
    try:
        if is_crisis(action):
            return ApprovalTier.CRITICAL, "crisis: a person may be in danger"
        found = program.assess(call_of(action, context))
        return ApprovalTier[found["tier"]], _why(found)
    except (CountersignError, KeyError, TypeError) as error:
        return ApprovalTier.CRITICAL, f"the action could not be assessed: {error}"


def is_crisis(action: str) -> bool:
    """Whether a message has signs of a person in crisis.

    Without the program this is not known, and raises: a guess would be wrong either way.
    """
    return bool(action) and program.screen(action).get("crisis") is not False


def classify_action_tier(action: str, command: str = "") -> ApprovalTier:
    """The higher of the tiers of a kind of action and of its command; an unknown kind of action
    is MEDIUM unless its command says what it is."""
    unknown = ApprovalTier.SAFE if command else ApprovalTier.MEDIUM
    tier = ACTION_TIER_MAP.get(action.lower().strip(), unknown)
    return max(tier, classify_tier(command)[0])


def classify_and_check(action: str, command: str = "") -> tuple[ApprovalTier, bool, int | None]:
    """The tier, whether approval is required, and the timeout."""
    tier = classify_action_tier(action, command)
    return tier, requires_approval(tier), get_timeout(tier)


def requires_approval(tier: ApprovalTier) -> bool:
    """Whether a person or a language model must approve."""
    return tier.requires_human or tier.requires_llm


def requires_human(tier: ApprovalTier) -> bool:
    """Whether a person must approve."""
    return tier.requires_human


def requires_llm(tier: ApprovalTier) -> bool:
    """Whether a language model may assess it."""
    return tier.requires_llm


def get_timeout(tier: ApprovalTier) -> int | None:
    """The time until escalation, in seconds; none if no person is asked."""
    return tier.timeout_seconds


def call_of(action: str, context: Mapping[str, Any] | None, **more: Any) -> Call:
    """A command in its context, as a call."""
    said = context or {}
    return Call(
        command=action,
        platform=said.get("platform"),
        cwd=said.get("cwd"),
        environment=said.get("environment"),
        # The original API knows no project.
        project="",
        **more,
    )


def _why(found: dict[str, Any]) -> str:
    reasons = found.get("reasons")
    if isinstance(reasons, list) and reasons and isinstance(reasons[0], dict):
        return str(reasons[0].get("say", ""))
    return "nothing dangerous was found"
