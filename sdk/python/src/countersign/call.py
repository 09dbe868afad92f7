"""A call to ask about: fixed when it is made, so that what was asked is what runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import plain
from .errors import BadInput
from .project import default_project

_CONTEXT = ("session", "platform", "cwd", "environment", "risk_level", "annotations")


@dataclass(frozen=True)
class Call:
    """One proposed tool call: ``tool`` with ``arguments``, or a shell ``command``."""

    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    command: str | None = None
    #: The agent's session.
    session: str | None = None
    #: Where the agent's user sits: cli, api, telegram or discord.
    platform: str | None = None
    #: The working directory; an approval is bound to it.
    cwd: str | None = None
    #: workstation, production, ci or container; it can only be claimed for the worse.
    environment: str | None = None
    #: The tier the caller claims; it can only raise.
    risk_level: str | None = None
    #: The agent's own words for the person; shown as such.
    description: str | None = None
    #: How long to wait for an answer, in seconds; the daemon's usual time if nothing is said.
    timeout: float | None = None
    #: Whether a permit is wanted even if nobody has to be asked.
    permit: bool = False
    #: The host's own name for the call: whoever asks under it again gets the same request.
    call_id: str | None = None
    #: What the tool's server says of it, as MCP names it; it can only raise.
    annotations: Mapping[str, Any] | None = None
    #: The root folder of the project; by default the git repository of ``cwd`` or of the process's
    #: directory, and none if it is empty.
    project: str | None = None
    #: The arguments as JSON, as they are sent.
    arguments_text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if (self.command is None) == (not self.tool):
            raise BadInput("a call is a tool with its arguments, or a command")
        if self.command is not None and self.arguments:
            raise BadInput("a command has no arguments")
        text = plain.encode(dict(self.arguments))
        object.__setattr__(self, "arguments_text", text)
        # A copy that nobody else holds: what changes while a person thinks changes nothing here.
        object.__setattr__(self, "arguments", plain.decode(text))
        if self.annotations is not None:
            hints = plain.decode(plain.encode(dict(self.annotations), "the annotations"))
            object.__setattr__(self, "annotations", hints)

    def what(self) -> str:
        """The members that say what would be done."""
        if self.command is not None:
            return f'"command":{plain.encode(self.command, "the command")}'
        return f'"tool":{plain.encode(self.tool, "the tool")},"arguments":{self.arguments_text}'

    def place(self) -> str:
        """The members that say where; together with the former they are what a permit binds."""
        return "".join(self._member(name) for name in ("cwd", "environment"))

    def members(self) -> str:
        """All members of the call, as it is judged."""
        project = default_project(self.cwd) if self.project is None else self.project
        named = f',"project":{plain.encode(project, "project")}' if project else ""
        return self.what() + "".join(self._member(name) for name in _CONTEXT) + named

    def body(self, join: bool = False) -> str:
        """The whole question; one that joins shares the request of the very same call."""
        out = self.members() + self._member("description")
        if self.timeout is not None:
            out += f',"timeout_seconds":{plain.encode(self.timeout, "the timeout")}'
        if self.permit:
            out += ',"permit":true'
        out += self._member("call_id")
        if join:
            out += ',"join":true'
        return f"{{{out}}}"

    def _member(self, name: str) -> str:
        value = getattr(self, name)
        return "" if value is None else f',"{name}":{plain.encode(value, name)}'
