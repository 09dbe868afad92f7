"""Adapters for agent frameworks, one file each; each needs the framework's own package."""

from __future__ import annotations

from ..errors import NotApproved, StillWaiting


def refusal(error: BaseException) -> str:
    """The message to the model about a call that did not run."""
    if isinstance(error, StillWaiting):
        return f"{error}. Propose the same call again to continue waiting; do nothing else."
    if isinstance(error, NotApproved):
        why = str(error)[:1].upper() + str(error)[1:]
    else:
        why = f"Denied: the call could not be approved ({error})"
    return f"Not run. {why.rstrip('.')}. Do not retry or work around this; ask the user."
