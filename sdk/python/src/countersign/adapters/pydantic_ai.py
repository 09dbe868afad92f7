"""Pydantic AI: a capability, and a toolset, that ask before each tool call."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_core import to_jsonable_python

from .. import plain
from ..call import Call
from ..client import AsyncClient, Client
from ..errors import BadInput, CountersignError, NotApproved
from ..steps import Clearance
from . import refusal
from .turns import AdapterGate


@dataclass
class GatedToolset(WrapperToolset[Any]):
    """A toolset whose tools are asked about before they run.

    People see the validated arguments, as the tool would get them; the model gets a denied call as
    a failed tool call. Parallel calls of the model are one group for people: calls that may run in
    parallel do, the others keep their order.
    """

    client: Client | AsyncClient | None = None
    session: str | None = None
    platform: str | None = None
    cwd: str | None = None
    project: str | None = None
    environment: str | None = None
    timeout: float | None = None
    #: How long a call waits, in seconds, before the model is told to propose it again.
    patience: float | None = None

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Asks, and runs the tool only if the call was approved."""
        try:
            shown = to_jsonable_python(tool_args)
            call = self._gate.call(name, shown, ctx.tool_call_id, None)
            taken = self._gate.place(call, self._turn(ctx, call))
        except Exception as error:
            raise ToolFailed(refusal(error)) from error
        with taken as place:
            try:
                clearance = await place.clear_async()
            except Exception as error:
                raise ToolFailed(refusal(error)) from error

            def action() -> Any:
                approved = _approved(clearance, tool_args, tool)
                return self.wrapped.call_tool(name, approved, ctx, tool)

            try:
                return await place.run_async(clearance, action)
            except NotApproved as error:
                raise ToolFailed(refusal(error)) from error

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools; they are remembered, because calls of other toolsets are not gated here."""
        tools = await super().get_tools(ctx)
        self._tools.update(tools)
        return tools

    @functools.cached_property
    def _gate(self) -> AdapterGate:
        return AdapterGate(
            self.client,
            session=self.session,
            platform=self.platform,
            cwd=self.cwd,
            project=self.project,
            environment=self.environment,
            timeout=self.timeout,
            patience=self.patience,
        )

    @functools.cached_property
    def _tools(self) -> dict[str, ToolsetTool[Any]]:
        return {}

    def _turn(self, ctx: RunContext[Any], own: Call) -> list[Call]:
        """The calls of the model's turn that are gated here and valid."""
        turn: list[Call] = []
        last = ctx.messages[-1] if ctx.messages else None
        for part in last.parts if isinstance(last, ModelResponse) else ():
            tool = self._tools.get(part.tool_name) if isinstance(part, ToolCallPart) else None
            if not isinstance(part, ToolCallPart) or tool is None:
                continue
            if part.tool_call_id == own.call_id:
                turn.append(own)
                continue
            with contextlib.suppress(CountersignError, ValueError, AssertionError):
                given = tool.args_validator.validate_python(part.args_as_dict())
                shown = to_jsonable_python(given)
                turn.append(self._gate.call(part.tool_name, shown, part.tool_call_id, None))
        return turn


@dataclass
class Countersign(AbstractCapability[Any]):
    """Asks before each function tool of an agent: ``Agent(model, capabilities=[Countersign()])``.

    Put it last, so that no other capability changes a call after it was approved.
    """

    client: Client | AsyncClient | None = None
    session: str | None = None
    platform: str | None = None
    cwd: str | None = None
    project: str | None = None
    environment: str | None = None
    timeout: float | None = None
    #: How long a call waits, in seconds, before the model is told to propose it again.
    patience: float | None = None
    #: Distinguishes several of these in one agent.
    id: str | None = field(default=None, kw_only=True)

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """Gates all function tools of the agent."""
        return GatedToolset(
            toolset,
            client=self.client,
            session=self.session,
            platform=self.platform,
            cwd=self.cwd,
            project=self.project,
            environment=self.environment,
            timeout=self.timeout,
            patience=self.patience,
        )


def _approved(
    clearance: Clearance, asked: dict[str, Any], tool: ToolsetTool[Any]
) -> dict[str, Any]:
    """The arguments to run with: those that were shown, or the edited ones after validation."""
    if clearance.edited:
        if tool.args_validator_func is not None:
            why = "a person edited the arguments, and this tool has its own validation"
            raise NotApproved(why, clearance.request)
        try:
            found = tool.args_validator.validate_python(clearance.arguments)
        except (ValidationError, ValueError) as error:
            raise NotApproved(
                f"a person edited the arguments, and they are invalid: {error}", clearance.request
            ) from None
        return dict(found)
    try:
        plain.encode(asked)
    except BadInput:
        # Not plain JSON: people saw its JSON form, which must still be the same.
        if to_jsonable_python(asked) != clearance.arguments:
            raise NotApproved("the arguments changed after they were shown") from None
        return asked
    return clearance.arguments
