"""The pinned public key of the daemon: the only thing that makes a response believed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from . import ed25519
from .errors import Untrusted

_HEAD = "countersign-daemon-key-1 "
_FILE = "daemon.pub"
#: The key of the whole machine, which only an administrator can change.
_SYSTEM = Path("/etc/countersign") / _FILE


@dataclass(frozen=True)
class DaemonKey:
    """The daemon's public key."""

    raw: bytes

    @classmethod
    def parse(cls, text: str) -> DaemonKey:
        """Parses ``countersign-daemon-key-1 KEY``, as ``countersign keys show`` prints it."""
        raw = _decode(text.removesuffix("\n").removeprefix(_HEAD))
        if not text.startswith(_HEAD) or raw is None or len(raw) != 32:
            raise Untrusted("expected `countersign-daemon-key-1` and the daemon's key")
        return cls(raw)

    @classmethod
    def read(cls, file: str | os.PathLike[str]) -> DaemonKey:
        """Reads a key file. A file that another user can change pins nothing."""
        path = Path(file)
        try:
            found = path.stat()
            text = path.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise Untrusted(f"{path}: {error}") from None
        if found.st_mode & 0o022 or found.st_uid not in (0, os.getuid()):
            raise Untrusted(f"{path}: other users can change this file; run chmod 644 and chown")
        return cls.parse(text)

    @classmethod
    def find(cls) -> DaemonKey:
        """The key of the machine, the one that this user pinned, or that of the user's daemon.

        No variable of Countersign chooses the file: an agent sets the variables of its processes.
        """
        home = Path(os.environ.get("HOME") or "/")
        own = home / ".local/state/countersign" / _FILE
        named = (_SYSTEM, home / ".config/countersign" / _FILE)
        return cls.read(next((path for path in named if path.exists()), own))


@dataclass(frozen=True)
class SignedExchange:
    """What the client sent and what the daemon answered."""

    nonce: str
    method: str
    target: str
    credential: str
    request: bytes
    status: int
    response: bytes

    def text(self) -> bytes:
        """The text that the daemon signs."""
        lines = [
            "countersign-response-1",
            self.nonce,
            f"{self.method} {self.target}",
            hashlib.sha256(self.credential.encode()).hexdigest(),
            hashlib.sha256(self.request).hexdigest(),
            str(self.status),
            hashlib.sha256(self.response).hexdigest(),
            "",
        ]
        return "\n".join(lines).encode()


#: Where a client has its key from: found when it is needed, so that other errors come first.
KeySource = DaemonKey | str | os.PathLike[str] | None


def check(source: KeySource, exchange: SignedExchange, signature: str | None) -> None:
    """Returns only if the pinned key signed this response to this request."""
    key = DaemonKey.find() if source is None else source
    if not isinstance(key, DaemonKey):
        key = DaemonKey.read(key)
    if signature is None:
        raise Untrusted("the response has no signature")
    raw = _decode(signature)
    if raw is None or not ed25519.verify(key.raw, exchange.text(), raw):
        raise Untrusted(
            "the pinned key did not sign this response; if you rotated the daemon's key, "
            "run `countersign keys trust --rotated`"
        )


def new_nonce() -> str:
    """A random value for one exchange."""
    return secrets.token_urlsafe(32)


def _decode(text: str) -> bytes | None:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    # Only the one text of these bytes is accepted.
    return raw if base64.urlsafe_b64encode(raw).decode().rstrip("=") == text else None
