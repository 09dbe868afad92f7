"""Countersign: ask a person before an AI agent runs a risky tool call.

Only an approval of exactly this call lets it run. Every error means that it does not run.
"""

from .batch import BatchResult, gate_batch, gate_batch_async
from .call import Call
from .client import AsyncClient, Client, secret_file
from .confirm import request_confirmation, request_confirmation_async
from .daemon_key import DaemonKey
from .endpoint import Endpoint
from .errors import (
    BadInput,
    CertificateRefused,
    CountersignError,
    Forbidden,
    NotApproved,
    NotFound,
    PermitError,
    Problem,
    StillWaiting,
    Unauthorized,
    Unavailable,
    Unexpected,
    Unreachable,
    Untrusted,
)
from .gate import gated
from .permit import verify_permit
from .request import Decision, Request, State
from .steps import Batch, Clearance, Outcome
from .user_texts import UserTexts, user_texts

__all__ = [
    "AsyncClient",
    "BadInput",
    "Batch",
    "BatchResult",
    "Call",
    "CertificateRefused",
    "Clearance",
    "Client",
    "CountersignError",
    "DaemonKey",
    "Decision",
    "Endpoint",
    "Forbidden",
    "NotApproved",
    "NotFound",
    "Outcome",
    "PermitError",
    "Problem",
    "Request",
    "State",
    "StillWaiting",
    "Unauthorized",
    "Unavailable",
    "Unexpected",
    "Unreachable",
    "Untrusted",
    "UserTexts",
    "gate_batch",
    "gate_batch_async",
    "gated",
    "request_confirmation",
    "request_confirmation_async",
    "secret_file",
    "user_texts",
    "verify_permit",
]
