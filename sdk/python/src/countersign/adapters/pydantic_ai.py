"""Pydantic AI: a capability, and a toolset, that ask before each tool call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_core import to_jsonable_python

from .. import plain
from ..call import Call
from ..client import AsyncClient, Client, async_of
from ..errors import BadInput, NotApproved
from ..gate import run_async
from ..steps import Clearance
from . import refusal


@dataclass
class GatedToolset(WrapperToolset[Any]):
    """A toolset whose tools are asked about before they run.

    The person is shown the arguments as the tool would get them, after they were validated; what
    is denied reaches the model as a failed tool call.
    """

    client: Client | AsyncClient | None = None
    session: str | None = None
    platform: str | None = None
    cwd: str | None = None
    environment: str | None = None
    timeout: float | None = None

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Asks, and runs the tool only if that was approved."""
        try:
            speaker = async_of(self.client)
            shown = to_jsonable_python(tool_args)
            call = Call(
                tool=name,
                arguments=shown,
                session=self.session,
                platform=self.platform,
                cwd=self.cwd,
                environment=self.environment,
                timeout=self.timeout,
            )
            clearance = await speaker.clear(call)
        except Exception as error:
            raise ToolFailed(refusal(error)) from error

        def action() -> Any:
            approved = _approved(clearance, tool_args, tool)
            return self.wrapped.call_tool(name, approved, ctx, tool)

        try:
            return await run_async(speaker, clearance, action)
        except NotApproved as error:
            raise ToolFailed(refusal(error)) from error


@dataclass
class Countersign(AbstractCapability[Any]):
    """Asks before each function tool of an agent: ``Agent(model, capabilities=[Countersign()])``.

    Put it last, so that nothing changes a call after it was approved.
    """

    client: Client | AsyncClient | None = None
    session: str | None = None
    platform: str | None = None
    cwd: str | None = None
    environment: str | None = None
    timeout: float | None = None
    #: For a name of its own in an agent with several.
    id: str | None = field(default=None, kw_only=True)

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """All function tools of the agent, behind the gate."""
        return GatedToolset(
            toolset,
            client=self.client,
            session=self.session,
            platform=self.platform,
            cwd=self.cwd,
            environment=self.environment,
            timeout=self.timeout,
        )


def _approved(
    clearance: Clearance, asked: dict[str, Any], tool: ToolsetTool[Any]
) -> dict[str, Any]:
    """What may run: the validated arguments that were shown, or the edited ones, validated."""
    if clearance.edited:
        if tool.args_validator_func is not None:
            why = "a person changed the arguments, and this tool checks them in a way of its own"
            raise NotApproved(why, clearance.request)
        try:
            found = tool.args_validator.validate_python(clearance.arguments)
        except (ValidationError, ValueError) as error:
            raise NotApproved(
                f"a person changed the arguments, and they do not fit: {error}", clearance.request
            ) from None
        return dict(found)
    try:
        plain.encode(asked)
    except BadInput:
        # Richer than JSON: what was shown was made of it, and must still be what it says.
        if to_jsonable_python(asked) != clearance.arguments:
            raise NotApproved("the arguments changed since they were shown") from None
        return asked
    return clearance.arguments
