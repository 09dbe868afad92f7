"""Finds the address of the daemon, in the same way as the ``countersign`` program."""

from __future__ import annotations

import os
import re
import socket
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import BadInput

_AUTHORITY = re.compile(r"[A-Za-z0-9._:\[\]-]+:[0-9]{1,5}")
#: What follows ``#`` in an https address.
_TRUST = re.compile(r"sha256:[0-9a-f]{64}|ca:/[^\0]*")
_SOCKET_NAME = "agents.sock"
_MACOS = sys.platform == "darwin"
#: The folder of the socket of a system service, and the file that starts the service. Only root can
#: create them.
_SYSTEM_FOLDER = Path("/var/db/countersign-run" if _MACOS else "/run/countersign")
_SYSTEM_SERVICE = Path(
    "/Library/LaunchDaemons/countersign.daemon.plist"
    if _MACOS
    else "/etc/systemd/system/countersign.service"
)
#: Time to connect to a socket, in seconds; a socket is on this machine.
_CONNECT = 1.0


@dataclass(frozen=True)
class Endpoint:
    """The address of one of the daemon's APIs: ``host:port``, or a Unix socket.

    ``trust`` is set for HTTPS: ``sha256:`` and the pin of the daemon's key, or ``ca:`` and the path
    of a CA file.
    """

    host: str = ""
    port: int = 0
    path: str = ""
    trust: str = ""

    @classmethod
    def parse(cls, text: str) -> Endpoint:
        """Parses ``127.0.0.1:6001``, ``http://127.0.0.1:6001``, ``https://HOST:6001#TRUST``,
        ``unix:/path`` or ``/path``.
        """
        if text.startswith(("unix:", "/")):
            path = text.removeprefix("unix:")
            path = path[2:] if path.startswith("///") else path
            if not path.startswith("/") or "\0" in path:
                raise BadInput(f"`{text}` is not an absolute path")
            return cls(path=path)
        rest, trust = text.removeprefix("http://"), ""
        if text.startswith("https://"):
            rest, _, trust = text.removeprefix("https://").partition("#")
            if not _TRUST.fullmatch(trust):
                raise BadInput(
                    f"`{text}`: an https address names the daemon's key or a CA file behind #, for "
                    "example https://gate.example.org:6000#sha256:… (`countersign keys tls` prints "
                    "it) or https://gate.example.org:6000#ca:/etc/ssl/certs/ca-certificates.crt"
                )
        rest = rest.removesuffix("/")
        host, _, port = rest.rpartition(":")
        if not host or not _AUTHORITY.fullmatch(rest) or int(port) > 65535:
            raise BadInput(f"invalid address `{text}`; expected for example 127.0.0.1:6000")
        host = host.removeprefix("[").removesuffix("]")
        return cls(host=host, port=int(port), trust=trust)

    @property
    def authority(self) -> str:
        """The value of the ``Host`` header."""
        if self.path:
            return "localhost"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        return f"{'https' if self.trust else 'http'}://{self.authority}"


def agent_endpoint(*, has_token: bool, environ: Mapping[str, str] | None = None) -> Endpoint:
    """The agent API: ``COUNTERSIGN_AGENTS``, else the address in the configuration.

    Without a token this is the socket, where the daemon identifies callers by their user.
    """
    variables = os.environ if environ is None else environ
    if named := variables.get("COUNTERSIGN_AGENTS"):
        return Endpoint.parse(named)
    is_named = variables.get("COUNTERSIGN_STATE") or variables.get("COUNTERSIGN_CONFIG")
    if not has_token and not is_named and (system := _system_socket()):
        return Endpoint(path=str(system))
    listen = _listen(variables)
    path = _text(listen, "socket")
    if path is None and not has_token:
        return Endpoint(path=str(_default_socket(variables)))
    if path and not has_token:
        return Endpoint.parse(f"unix:{path}")
    return _connectable(listen, _text(listen, "agents") or "127.0.0.1:6000")


def people_endpoint(environ: Mapping[str, str] | None = None) -> Endpoint:
    """The people API: ``COUNTERSIGN_PEOPLE``, else the address in the configuration."""
    variables = os.environ if environ is None else environ
    if named := variables.get("COUNTERSIGN_PEOPLE"):
        return Endpoint.parse(named)
    listen = _listen(variables)
    return _connectable(listen, _text(listen, "people") or "127.0.0.1:6001")


def _default_socket(variables: Mapping[str, str]) -> Path:
    """The socket of a daemon without a configured socket.

    Some hosts start programs without ``XDG_RUNTIME_DIR``, while the daemon had it; so the user's
    runtime folder and the state folder are tried as well. A state folder that was named explicitly
    has the only socket.
    """
    expected = _runtime(variables) / _SOCKET_NAME
    if variables.get("COUNTERSIGN_STATE"):
        return expected
    runtime = Path(f"/run/user/{os.getuid()}/countersign") / _SOCKET_NAME
    return _first_open(expected, [runtime, _state(variables) / _SOCKET_NAME])


def _system_socket() -> Path | None:
    """The socket of a system service, if one is installed, whether it runs or not.

    No other socket takes its place: an agent could serve one wherever its user may write.
    """
    places = (_SYSTEM_FOLDER, _SYSTEM_SERVICE)
    installed = (path.exists() and _only_root_adds(path) for path in places)
    return _SYSTEM_FOLDER / _SOCKET_NAME if any(installed) else None


def _only_root_adds(path: Path) -> bool:
    try:
        parent = path.parent.stat()
    except OSError:
        return False
    return parent.st_uid == 0 and not parent.st_mode & 0o022


def _first_open(expected: Path, alternatives: Sequence[Path]) -> Path:
    """The first socket that accepts connections, else the expected one.

    The alternatives must belong to this user.
    """
    if _accepts(expected):
        return expected
    found = (path for path in alternatives if _is_own(path) and _accepts(path))
    return next(found, expected)


def _is_own(path: Path) -> bool:
    try:
        return path.stat().st_uid == os.getuid()
    except OSError:
        return False


def _accepts(path: Path) -> bool:
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_CONNECT)
            connection.connect(str(path))
    except OSError:
        return False
    return True


def _connectable(listen: dict[str, Any], address: str) -> Endpoint:
    """Turns an address to listen on into one to connect to."""
    if listen.get("tls"):
        raise BadInput(
            "the configuration turns TLS on; set COUNTERSIGN_AGENTS or COUNTERSIGN_PEOPLE to "
            f"https://{address}#sha256:… (`countersign keys tls` prints the pin)"
        )
    endpoint = Endpoint.parse(address)
    if endpoint.port == 0:
        raise BadInput(
            "the configuration uses a random port; set COUNTERSIGN_AGENTS or COUNTERSIGN_PEOPLE"
        )
    unspecified = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
    return Endpoint(host=unspecified.get(endpoint.host, endpoint.host), port=endpoint.port)


def _folder(variables: Mapping[str, str], name: str, below_home: str) -> Path:
    named = Path(variables.get(name) or "")
    return named if named.is_absolute() else Path(variables.get("HOME") or "/") / below_home


def _state(variables: Mapping[str, str]) -> Path:
    if named := variables.get("COUNTERSIGN_STATE"):
        return Path(named)
    return _folder(variables, "XDG_STATE_HOME", ".local/state") / "countersign"


def _runtime(variables: Mapping[str, str]) -> Path:
    named = Path(variables.get("XDG_RUNTIME_DIR") or "")
    if named.is_absolute() and not variables.get("COUNTERSIGN_STATE"):
        return named / "countersign"
    return _state(variables)


def _listen(variables: Mapping[str, str]) -> dict[str, Any]:
    """The table ``listen`` of the configuration; empty if it is missing."""
    if named := variables.get("COUNTERSIGN_CONFIG"):
        path = Path(named)
    else:
        path = _folder(variables, "XDG_CONFIG_HOME", ".config") / "countersign/countersign.toml"
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
        raise BadInput(f"listen.{name} is not a string")
    return found
