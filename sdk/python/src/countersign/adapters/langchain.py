"""LangChain and LangGraph: a middleware that asks before each tool call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from ..call import Call
from ..client import AsyncClient, Client, async_of, sync_of
from ..gate import run, run_async
from ..steps import Clearance
from . import refusal

_Result = ToolMessage | Command[Any]


class CountersignMiddleware(AgentMiddleware[Any, Any, Any]):
    """Asks before each tool call of an agent.

    ``create_agent(model, tools, middleware=[CountersignMiddleware()])``. Put it last, so that
    nothing changes a call after it was approved. Without an agent, its two methods fit
    ``ToolNode(tools, wrap_tool_call=…, awrap_tool_call=…)``.
    """

    def __init__(
        self,
        client: Client | AsyncClient | None = None,
        *,
        session: str | None = None,
        platform: str | None = None,
        cwd: str | None = None,
        environment: str | None = None,
        timeout: float | None = None,
    ) -> None:
        super().__init__()
        self._client = client
        self._context: dict[str, Any] = {
            "session": session,
            "platform": platform,
            "cwd": cwd,
            "environment": environment,
            "timeout": timeout,
        }

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], _Result]
    ) -> _Result:
        """Asks, and runs the tool only if that was approved."""
        try:
            client = sync_of(self._client)
            clearance = client.clear(self._call(request))
        except Exception as error:
            return _refused(request, error)
        approved = _approved(request, clearance)
        found: _Result = run(client, clearance, lambda: handler(approved), _meaning)
        return found

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[_Result]]
    ) -> _Result:
        """The same on an event loop."""
        try:
            client = async_of(self._client)
            clearance = await client.clear(self._call(request))
        except Exception as error:
            return _refused(request, error)
        approved = _approved(request, clearance)
        found: _Result = await run_async(client, clearance, lambda: handler(approved), _meaning)
        return found

    def _call(self, request: ToolCallRequest) -> Call:
        return Call(
            tool=request.tool_call["name"],
            arguments=dict(request.tool_call["args"]),
            **self._context,
        )


def _approved(request: ToolCallRequest, clearance: Clearance) -> ToolCallRequest:
    """The request with exactly the approved arguments."""
    return request.override(tool_call={**request.tool_call, "args": clearance.arguments})


def _refused(request: ToolCallRequest, error: Exception) -> ToolMessage:
    return ToolMessage(
        content=refusal(error),
        name=request.tool_call["name"],
        tool_call_id=request.tool_call["id"],
        status="error",
    )


def _meaning(result: _Result) -> tuple[bool, object]:
    if isinstance(result, ToolMessage):
        return result.status != "error", result.content
    return True, result
