"""A proposed call; immutable, so that the approved call is the one that runs."""

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
    #: Where the agent's user is: cli, api, telegram or discord.
    platform: str | None = None
    #: The working directory; an approval is bound to it.
    cwd: str | None = None
    #: workstation, production, ci or container; a claim can only raise the risk.
    environment: str | None = None
    #: The tier that the caller claims; it can only raise the risk.
    risk_level: str | None = None
    #: The agent's own description, shown to people as such.
    description: str | None = None
    #: How long people have to decide, in seconds; the daemon's default if missing.
    timeout: float | None = None
    #: Whether a permit is wanted even if no person has to be asked.
    permit: bool = False
    #: The host's own id of the call: asking with the same id again returns the same request.
    call_id: str | None = None
    #: The MCP annotations of the tool; they can only raise the risk.
    annotations: Mapping[str, Any] | None = None
    #: The root folder of the project; by default the git repository of ``cwd`` or of the process's
    #: directory, and none if it is empty.
    project: str | None = None
    #: The arguments as JSON, as they are sent.
    arguments_text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if (self.command is None) == (not self.tool):
            raise BadInput("a call needs either a tool or a command")
        if self.command is not None and self.arguments:
            raise BadInput("a command has no arguments")
        text = plain.encode(dict(self.arguments))
        object.__setattr__(self, "arguments_text", text)
        # A private copy, which the caller cannot change while a person decides.
        object.__setattr__(self, "arguments", plain.decode(text))
        if self.annotations is not None:
            hints = plain.decode(plain.encode(dict(self.annotations), "the annotations"))
            object.__setattr__(self, "annotations", hints)

    def what(self) -> str:
        """The JSON members that say what to run."""
        if self.command is not None:
            return f'"command":{plain.encode(self.command, "the command")}'
        return f'"tool":{plain.encode(self.tool, "the tool")},"arguments":{self.arguments_text}'

    def place(self) -> str:
        """The JSON members that say where to run; a permit binds them together with `what`."""
        return "".join(self._member(name) for name in ("cwd", "environment"))

    def members(self) -> str:
        """All JSON members that are assessed."""
        project = default_project(self.cwd) if self.project is None else self.project
        named = f',"project":{plain.encode(project, "project")}' if project else ""
        return self.what() + "".join(self._member(name) for name in _CONTEXT) + named

    def body(self, join: bool = False) -> str:
        """The whole request body; with ``join`` it shares a request for the same call."""
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
