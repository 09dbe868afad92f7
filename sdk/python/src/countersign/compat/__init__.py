"""The names of the first system's documents, backed by the real gate.

An agent written for them changes its import to ``from countersign.compat import …``. Two behaviours
differ: a caller's own risk level can only raise the risk, and a decision needs a person's
credential.
"""

from typing import Any

from .actions import ACTION_CATEGORIES, DEFAULT_RISK_LEVEL, RiskLevel, classify_action
from .assessment import ToolCallAssessment, should_parallelize_tool_batch
from .confirmation import ConfirmationRequest, ConfirmationStatus
from .daemon import ConfirmationDaemon, get_daemon, init_daemon, request_confirmation
from .delegation import (
    A2ATaskClient,
    A2ATaskServer,
    cmd_a2a,
    cmd_send,
    cmd_serve,
    cmd_status,
    load_agent_registry,
    resolve_agent_url,
)
from .mutual_tls import A2AMTLSClient, A2AMTLSServer
from .person import NeedsPerson
from .router import ApprovalRouter, get_router, route_action
from .safety_filter import (
    SAFETY_CATEGORIES,
    LlamaGuardSafetyFilter,
    SafetyResult,
    SafetyVerdict,
    check_input_safety,
    check_output_safety,
    get_safety_filter,
)
from .tiers import (
    ACTION_TIER_MAP,
    TIER_CONFIG,
    ApprovalTier,
    classify_action_tier,
    classify_and_check,
    classify_tier,
    get_timeout,
    is_crisis,
    requires_approval,
    requires_human,
    requires_llm,
)

_should_parallelize_tool_batch = should_parallelize_tool_batch

__all__ = [
    "ACTION_CATEGORIES",
    "ACTION_TIER_MAP",
    "DEFAULT_RISK_LEVEL",
    "SAFETY_CATEGORIES",
    "TIER_CONFIG",
    "A2AMTLSClient",
    "A2AMTLSServer",
    "A2ATaskClient",
    "A2ATaskServer",
    "ApprovalRouter",
    "ApprovalTier",
    "ConfirmationDaemon",
    "ConfirmationRequest",
    "ConfirmationStatus",
    "LlamaGuardSafetyFilter",
    "NeedsPerson",
    "NotProvided",
    "RiskLevel",
    "SafetyResult",
    "SafetyVerdict",
    "ToolCallAssessment",
    "check_input_safety",
    "check_output_safety",
    "classify_action",
    "classify_action_tier",
    "classify_and_check",
    "classify_tier",
    "cmd_a2a",
    "cmd_send",
    "cmd_serve",
    "cmd_status",
    "get_daemon",
    "get_router",
    "get_safety_filter",
    "get_timeout",
    "init_daemon",
    "is_crisis",
    "load_agent_registry",
    "request_confirmation",
    "requires_approval",
    "requires_human",
    "requires_llm",
    "resolve_agent_url",
    "route_action",
    "should_parallelize_tool_batch",
]


class NotProvided(AttributeError, NotImplementedError):
    """A name of the first system that this package does not provide.

    An ``AttributeError``, so that ``hasattr`` and ``getattr`` with a default work; and a
    ``NotImplementedError``, which says that the name is known.
    """


def __getattr__(name: str) -> Any:
    if name in ("TIER_PATTERNS", "CRISIS_BYPASS_PATTERNS"):
        raise NotProvided(f"{name}: calls are parsed, not matched with patterns; use classify_tier")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
