"""Agent frameworks behind the gate, one file each; each needs its framework's own package."""

from __future__ import annotations

from ..errors import NotApproved, StillWaiting


def refusal(error: BaseException) -> str:
    """What the model is told about a call that did not run."""
    if isinstance(error, StillWaiting):
        return f"{error}. Propose the very same call again to go on waiting; do nothing else."
    if isinstance(error, NotApproved):
        why = str(error)
    else:
        why = f"Denied: it could not be approved ({error})"
    return f"Not run. {why.rstrip('.')}. Do not retry or work around this; ask the user."
