"""OpenAI Agents SDK: function tools that ask before they run."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agents import FunctionTool, Tool
from agents.tool_context import ToolContext

from .. import plain
from ..client import AsyncClient, Client
from ..errors import BadInput
from . import refusal
from .turns import AdapterGate, CallContext

if TYPE_CHECKING:
    from typing_extensions import Unpack


def gated_tool(
    tool: Tool,
    client: Client | AsyncClient | None = None,
    **context: Unpack[CallContext],
) -> FunctionTool:
    """A function tool that asks before it runs; the model is told if the call is denied.

    Hosted tools run elsewhere and are rejected; tools of an agent's MCP servers are not gated
    here. A ``timeout_seconds`` of the tool includes the time until the decision: with a shorter
    ``patience`` the model is told to propose the call again, and the retry continues to wait.
    """
    if not isinstance(tool, FunctionTool):
        raise TypeError(
            f"a {type(tool).__name__} does not run in this process, so it cannot be gated"
        )
    inner = tool.on_invoke_tool
    name = tool.name
    gate = AdapterGate(client, **context)

    async def ask_then_run(context: ToolContext[Any], arguments: str) -> Any:
        try:
            asked = plain.decode(arguments) if arguments else {}
            if not isinstance(asked, dict):
                raise BadInput("the arguments are not an object")
            # The SDK does not pass the other calls of the turn.
            taken = gate.place(gate.call(name, asked, getattr(context, "tool_call_id", None), None))
        except Exception as error:
            return refusal(error)
        with taken as place:
            try:
                clearance = await place.clear_async()
                approved = plain.encode(clearance.arguments)
            except Exception as error:
                return refusal(error)
            return await place.run_async(clearance, lambda: inner(context, approved))

    gated = copy.copy(tool)
    gated.on_invoke_tool = ask_then_run
    return gated


def gated_tools(
    tools: Sequence[Tool],
    client: Client | AsyncClient | None = None,
    **context: Unpack[CallContext],
) -> list[Tool]:
    """Gates each of these tools; raises for a tool that cannot be gated."""
    return [gated_tool(tool, client, **context) for tool in tools]
