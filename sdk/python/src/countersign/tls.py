"""TLS to the daemon: a pinned key, or the authorities in a file. Nothing is accepted unchecked."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import ssl
from datetime import datetime, timezone
from pathlib import Path

from .endpoint import Endpoint
from .errors import BadInput, CertificateRefused

_SEQUENCE = 0x30
_INTEGER = 0x02
_UTC_TIME = 0x17
_VERSION = 0xA0


def context(endpoint: Endpoint) -> ssl.SSLContext | None:
    """The settings of a connection; none without TLS."""
    if not endpoint.trust:
        return None
    settings = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    settings.minimum_version = ssl.TLSVersion.TLSv1_3
    if endpoint.trust.startswith("ca:"):
        file = Path(endpoint.trust.removeprefix("ca:"))
        try:
            found = file.stat()
            if found.st_mode & 0o022 or found.st_uid not in (0, os.getuid()):
                raise BadInput(f"{file}: other users can change this file; run chmod 644 and chown")
            settings.load_verify_locations(file)
        except OSError as error:
            raise BadInput(f"{file}: {error}") from None
        return settings
    # OpenSSL knows no pins: `check_peer` compares the key before anything is sent.
    settings.check_hostname = False
    settings.verify_mode = ssl.CERT_NONE
    return settings


def check_peer(endpoint: Endpoint, peer: ssl.SSLObject | ssl.SSLSocket | None) -> None:
    """Returns only if the certificate of the other end is the trusted one."""
    if not endpoint.trust or endpoint.trust.startswith("ca:"):
        return
    certificate = peer.getpeercert(binary_form=True) if peer is not None else None
    if not certificate:
        raise CertificateRefused(str(endpoint), "there is none")
    try:
        key, not_before, not_after = _facts(certificate)
    except (ValueError, IndexError):
        raise CertificateRefused(str(endpoint), "it is malformed") from None
    pin = f"sha256:{hashlib.sha256(key).hexdigest()}"
    if not hmac.compare_digest(pin, endpoint.trust):
        raise CertificateRefused(str(endpoint), "it has another key than the pinned one")
    now = _now()
    if now < not_before:
        raise CertificateRefused(str(endpoint), "it is not valid yet")
    if now > not_after:
        raise CertificateRefused(str(endpoint), "it has expired")


def _now() -> datetime:
    return datetime.now(timezone.utc)


def refusal(endpoint: Endpoint, error: BaseException) -> CertificateRefused | None:
    """The error for a certificate that OpenSSL refused."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return None
    return CertificateRefused(str(endpoint), error.verify_message or str(error))


class _Reader:
    """Reads DER elements one by one."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def element(self, *tags: int) -> tuple[int, bytes, bytes]:
        """The tag, the content and the whole of the next element, which has one of these tags."""
        start = self.at
        tag, length = self.data[start], self.data[start + 1]
        head = start + 2
        if length > 0x80:
            count = length & 0x7F
            if count > 4:
                raise ValueError("too long")
            length = int.from_bytes(self.data[head : head + count], "big")
            head += count
        elif length == 0x80:
            raise ValueError("no length")
        end = head + length
        if tag not in tags or end > len(self.data):
            raise ValueError("unexpected element")
        self.at = end
        return tag, self.data[head:end], self.data[start:end]

    def time(self) -> datetime:
        tag, content, _ = self.element(_UTC_TIME, 0x18)
        text = content.decode("ascii")
        if tag == _UTC_TIME:
            text = ("19" if text[:2] >= "50" else "20") + text
        if not re.fullmatch(r"[0-9]{14}Z", text):
            raise ValueError("unexpected time")
        return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=timezone.utc)


def _facts(certificate: bytes) -> tuple[bytes, datetime, datetime]:
    """The ``SubjectPublicKeyInfo`` and the validity of a certificate."""
    outer = _Reader(certificate)
    fields = _Reader(_Reader(outer.element(_SEQUENCE)[1]).element(_SEQUENCE)[1])
    if outer.at != len(certificate):
        raise ValueError("trailing bytes")
    if fields.data[0] == _VERSION:
        fields.element(_VERSION)
    fields.element(_INTEGER)
    # The signature's algorithm and the issuer.
    fields.element(_SEQUENCE)
    fields.element(_SEQUENCE)
    validity = _Reader(fields.element(_SEQUENCE)[1])
    not_before, not_after = validity.time(), validity.time()
    # The subject.
    fields.element(_SEQUENCE)
    return fields.element(_SEQUENCE)[2], not_before, not_after
