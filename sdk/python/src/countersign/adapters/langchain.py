"""LangChain and LangGraph: a middleware that asks before each tool call."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from ..call import Call
from ..client import AsyncClient, Client
from ..errors import CountersignError
from ..steps import Clearance
from . import refusal
from .turns import AdapterGate, CallContext

if TYPE_CHECKING:
    from typing_extensions import Unpack

_Result = ToolMessage | Command[Any]


class CountersignMiddleware(AgentMiddleware[Any, Any, Any]):
    """Asks before each tool call of an agent.

    ``create_agent(model, tools, middleware=[CountersignMiddleware()])``. Put it last, so that no
    middleware changes a call after it was approved. Parallel calls of the model are one group for
    people: calls that may run in parallel do, the others keep their order. After ``patience``
    seconds the model is told that a call is pending, and its retry continues to wait. The thread
    is the session, unless one is given. Without an agent, pass its two methods to
    ``ToolNode(tools, wrap_tool_call=…, awrap_tool_call=…)``.
    """

    def __init__(
        self,
        client: Client | AsyncClient | None = None,
        **context: Unpack[CallContext],
    ) -> None:
        super().__init__()
        self._gate = AdapterGate(client, **context)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], _Result]
    ) -> _Result:
        """Asks, and runs the tool only if the call was approved."""
        try:
            taken = self._gate.place(*self._read(request))
        except Exception as error:
            return _refused(request, error)
        with taken as place:
            try:
                clearance = place.clear()
            except Exception as error:
                return _refused(request, error)
            approved = _approved(request, clearance)
            found: _Result = place.run(clearance, lambda: handler(approved), _meaning)
            return found

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[_Result]]
    ) -> _Result:
        """The same on an event loop."""
        try:
            taken = self._gate.place(*self._read(request))
        except Exception as error:
            return _refused(request, error)
        with taken as place:
            try:
                clearance = await place.clear_async()
            except Exception as error:
                return _refused(request, error)
            approved = _approved(request, clearance)
            found: _Result = await place.run_async(clearance, lambda: handler(approved), _meaning)
            return found

    def _read(self, request: ToolCallRequest) -> tuple[Call, list[Call]]:
        """The call, and all calls of its turn."""
        session = _thread(request)
        own = request.tool_call
        call = self._gate.call(own["name"], own["args"], own["id"], session)
        turn = []
        for one in _siblings(request):
            # An invalid call is rejected when it is asked about, and does not affect the others.
            with contextlib.suppress(CountersignError):
                turn.append(self._gate.call(one["name"], one["args"], one["id"], session))
        return call, turn


def _siblings(request: ToolCallRequest) -> list[ToolCall]:
    """The calls that the model made in one message with this one."""
    state = request.state
    messages = state.get("messages", []) if isinstance(state, dict) else state
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, AIMessage):
            calls = message.tool_calls
            return calls if any(one["id"] == request.tool_call["id"] for one in calls) else []
    return []


def _thread(request: ToolCallRequest) -> str | None:
    """LangGraph's own id of the conversation."""
    runtime = getattr(request, "runtime", None)
    found = (getattr(runtime, "config", None) or {}).get("configurable", {}).get("thread_id")
    return found if isinstance(found, str) else None


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
