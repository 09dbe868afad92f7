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
from .turns import Asks, Surroundings

if TYPE_CHECKING:
    from typing_extensions import Unpack


def gated_tool(
    tool: Tool,
    client: Client | AsyncClient | None = None,
    **surroundings: Unpack[Surroundings],
) -> FunctionTool:
    """A function tool that asks before it runs; what is denied is told to the model.

    Tools that run elsewhere (hosted tools) cannot be held here and are refused; those of an
    agent's MCP servers do not come by here at all. A ``timeout_seconds`` of the tool counts the
    time that a person takes as well: a shorter ``patience`` tells the model to propose the call
    again, and the retry goes on waiting.
    """
    if not isinstance(tool, FunctionTool):
        raise TypeError(f"a {type(tool).__name__} does not run here, so it cannot be gated here")
    inner = tool.on_invoke_tool
    name = tool.name
    asks = Asks(client, **surroundings)

    async def ask_then_run(context: ToolContext[Any], arguments: str) -> Any:
        try:
            asked = plain.decode(arguments) if arguments else {}
            if not isinstance(asked, dict):
                raise BadInput("the arguments are no object")
            # The SDK does not say here what else the model called in its turn.
            taken = asks.place(asks.call(name, asked, getattr(context, "tool_call_id", None), None))
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
    **surroundings: Unpack[Surroundings],
) -> list[Tool]:
    """Each of these tools behind the gate; one that cannot be is refused."""
    return [gated_tool(tool, client, **surroundings) for tool in tools]
