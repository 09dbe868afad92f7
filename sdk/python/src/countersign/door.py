"""Where a daemon listens, found as the ``countersign`` program finds it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import BadInput

_AUTHORITY = re.compile(r"[A-Za-z0-9._:\[\]-]+:[0-9]{1,5}")


@dataclass(frozen=True)
class Door:
    """A door of a daemon: ``host:port``, or a socket file."""

    host: str = ""
    port: int = 0
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> Door:
        """Reads ``127.0.0.1:6001``, ``http://127.0.0.1:6001``, ``unix:/path`` or ``/path``."""
        if text.startswith(("unix:", "/")):
            path = text.removeprefix("unix:")
            path = path[2:] if path.startswith("///") else path
            if not path.startswith("/") or "\0" in path:
                raise BadInput(f"`{text}` does not name an absolute path")
            return cls(path=path)
        if text.startswith("https://"):
            raise BadInput(f"`{text}`: this client speaks plain HTTP; put a tunnel in between")
        rest = text.removeprefix("http://").removesuffix("/")
        host, _, port = rest.rpartition(":")
        if not host or not _AUTHORITY.fullmatch(rest) or int(port) > 65535:
            raise BadInput(f"`{text}` is no door such as 127.0.0.1:6000")
        return cls(host=host.removeprefix("[").removesuffix("]"), port=int(port))

    @property
    def authority(self) -> str:
        """What stands in the header ``Host``."""
        if self.path:
            return "localhost"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"unix:{self.path}" if self.path else f"http://{self.authority}"


def agents_door(*, has_token: bool, environ: Mapping[str, str] | None = None) -> Door:
    """The agents' door: ``COUNTERSIGN_AGENTS``, else what the configuration says.

    Without a token that is the socket, over which the daemon knows its callers by itself.
    """
    said = os.environ if environ is None else environ
    if named := said.get("COUNTERSIGN_AGENTS"):
        return Door.parse(named)
    listen = _listen(said)
    socket = _text(listen, "socket")
    if socket is None:
        socket = str(_runtime(said) / "agents.sock")
    if socket and not has_token:
        return Door.parse(f"unix:{socket}")
    return _spoken_to(_text(listen, "agents") or "127.0.0.1:6000")


def people_door(environ: Mapping[str, str] | None = None) -> Door:
    """The people's door: ``COUNTERSIGN_PEOPLE``, else what the configuration says."""
    said = os.environ if environ is None else environ
    if named := said.get("COUNTERSIGN_PEOPLE"):
        return Door.parse(named)
    return _spoken_to(_text(_listen(said), "people") or "127.0.0.1:6001")


def _spoken_to(listens: str) -> Door:
    """An address to listen on, as one to speak to."""
    door = Door.parse(listens)
    if door.port == 0:
        raise BadInput(
            "the configuration takes any free port: say which one with COUNTERSIGN_AGENTS "
            "or COUNTERSIGN_PEOPLE"
        )
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
    return Door(host=everywhere.get(door.host, door.host), port=door.port)


def _folder(said: Mapping[str, str], name: str, below_home: str) -> Path:
    named = Path(said.get(name) or "")
    return named if named.is_absolute() else Path(said.get("HOME") or "/") / below_home


def _state(said: Mapping[str, str]) -> Path:
    if named := said.get("COUNTERSIGN_STATE"):
        return Path(named)
    return _folder(said, "XDG_STATE_HOME", ".local/state") / "countersign"


def _runtime(said: Mapping[str, str]) -> Path:
    named = Path(said.get("XDG_RUNTIME_DIR") or "")
    if named.is_absolute() and not said.get("COUNTERSIGN_STATE"):
        return named / "countersign"
    return _state(said)


def _listen(said: Mapping[str, str]) -> dict[str, Any]:
    """The table ``listen`` of the configuration; a missing one is empty."""
    if named := said.get("COUNTERSIGN_CONFIG"):
        path = Path(named)
    else:
        path = _folder(said, "XDG_CONFIG_HOME", ".config") / "countersign/countersign.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: {error}") from None
    listen = _toml(path, text).get("listen", {})
    if not isinstance(listen, dict):
        raise BadInput(f"{path}: `listen` is not a table")
    return listen


def _toml(path: Path, text: str) -> dict[str, Any]:
    try:
        import tomllib as toml
    except ImportError:  # before Python 3.11
        try:
            import tomli as toml  # type: ignore[import-not-found,no-redef]
        except ImportError:
            raise BadInput(
                f"{path} cannot be read without the package tomli: install it, or set "
                "COUNTERSIGN_AGENTS and COUNTERSIGN_PEOPLE"
            ) from None
    try:
        return toml.loads(text)
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from None


def _text(table: dict[str, Any], name: str) -> str | None:
    found = table.get(name)
    if found is not None and not isinstance(found, str):
        raise BadInput(f"doors.{name} is no text")
    return found
