"""CrewAI: hooks that ask before each tool call and report its outcome.

CrewAI runs the tool if a hook raises, so this one never raises: every error blocks the call.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crewai.hooks import (
    ToolCallHookContext,
    register_after_tool_call_hook,
    register_before_tool_call_hook,
    unregister_after_tool_call_hook,
    unregister_before_tool_call_hook,
)

from ..client import AsyncClient, Client
from ..errors import NotApproved
from ..gate import result_digest, since
from ..steps import Clearance, Outcome
from . import refusal
from .turns import AdapterGate, CallContext

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Calls that are asked about or run at the same time; CrewAI has dropped older ones.
_MAX_TURNS = 1000
_BLOCKED = "Tool execution blocked by hook"


@dataclass
class _Asked:
    """The decision about a call, kept until CrewAI returns its result."""

    #: CrewAI's own dictionary, which identifies the call when the result comes.
    tool_input: dict[str, Any]
    clearance: Clearance | None = None
    refused: str | None = None
    start: float = field(default_factory=time.monotonic)


class CountersignHooks:
    """Asks before every tool call of every crew in this process.

    ``CountersignHooks().install()``, after all other hooks, so that no hook changes a call after
    it was approved.
    """

    def __init__(
        self,
        client: Client | AsyncClient | None = None,
        **context: Unpack[CallContext],
    ) -> None:
        self._gate = AdapterGate(client, **context)
        self._asked: dict[int, _Asked] = {}
        self._lock = threading.Lock()

    def install(self) -> CountersignHooks:
        """Registers the hooks."""
        # The reporting hook first: without the other one it does nothing.
        register_after_tool_call_hook(self.after)
        register_before_tool_call_hook(self.before)
        return self

    def uninstall(self) -> None:
        """Removes the hooks."""
        unregister_before_tool_call_hook(self.before)
        unregister_after_tool_call_hook(self.after)

    def before(self, context: ToolCallHookContext) -> bool | None:
        """Asks; False prevents CrewAI from running the tool."""
        try:
            return self._ask(context)
        except Exception as error:
            with contextlib.suppress(Exception):
                self._keep(_Asked(context.tool_input, refused=refusal(error)))
            return False

    def _ask(self, context: ToolCallHookContext) -> bool | None:
        tool_input = context.tool_input
        # CrewAI has an id for a call, but does not pass it to hooks.
        clearance = self._gate.clear(self._gate.call(context.tool_name, tool_input, None, None))
        if clearance.edited and not tool_input:
            # CrewAI passes a copy of an empty input, so added arguments would not be used.
            raise NotApproved("a person added arguments, which CrewAI cannot pass on")
        tool_input.clear()
        tool_input.update(clearance.arguments)
        self._keep(_Asked(tool_input, clearance))
        return None

    def after(self, context: ToolCallHookContext) -> str | None:
        """Returns the reason of a blocked call to the model, or reports the outcome."""
        with self._lock:
            asked = self._asked.pop(id(context.tool_input), None)
        if asked is None:
            return None
        if asked.refused is not None:
            return asked.refused
        if asked.clearance is not None:
            took, result = since(asked.start), str(context.tool_result or "")
            if result.startswith(_BLOCKED):
                outcome = Outcome("skipped", "another hook blocked it", duration_ms=took)
            elif result.startswith(("Error executing tool", "I encountered an error")):
                outcome = Outcome("error", "the tool failed", duration_ms=took)
            else:
                digest = result_digest(context.raw_tool_result)
                outcome = Outcome("ok", duration_ms=took, result_digest=digest)
            self._gate.tell(asked.clearance, outcome)
        return None

    def _keep(self, asked: _Asked) -> None:
        with self._lock:
            self._asked[id(asked.tool_input)] = asked
            while len(self._asked) > _MAX_TURNS:
                self._asked.pop(next(iter(self._asked)))
