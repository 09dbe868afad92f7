"""Verifies permits offline.

A permit is a signed proof that one exact call was approved. An offline check cannot see whether it
was already used: the program that runs the call should redeem it at the daemon if it can.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import time
from typing import Any

from . import plain
from .call import Call
from .canon import canonical, digest
from .errors import PermitError, Unexpected
from .plain import Digits

_LONGEST = 8 << 10
_TYPE = "countersign-permit+jwt"
_TEXTS = {
    "channel",
    "decided_by",
    "digest",
    "iss",
    "jti",
    "policy",
    "raw_digest",
    "request",
    "sub",
    "tier",
    "tool",
}
_MAY_MISS = {"aud", "grant", "session"}
_OTHERS = {"both_bind", "exp", "iat"}
_TIERS = {"SAFE", "LOW", "MEDIUM", "HIGH", "CRITICAL"}


def verify_permit(
    token: str,
    jwks: str,
    call: Call,
    *,
    agent: str,
    audience: str | None = None,
    now: float | None = None,
) -> dict[str, Any]:
    """The claims of a permit, if it is valid now, for this call and agent, by one of these keys.

    ``jwks`` is the daemon's key set as JSON (``/.well-known/jwks.json``), from a trusted source.
    Needs the package ``cryptography`` (``pip install 'countersign[permits]'``). Raises
    :class:`PermitError` otherwise.
    """
    try:
        return _verified(token, jwks, call, agent, audience, time.time() if now is None else now)
    except Unexpected as error:
        raise PermitError(str(error)) from None


def _verified(
    token: str, jwks: str, call: Call, agent: str, audience: str | None, now: float
) -> dict[str, Any]:
    parts = token.split(".")
    if len(token) > _LONGEST or len(parts) != 3:
        raise PermitError("the permit is not three parts of base64url")
    header, payload, signature = (_unpacked(part) for part in parts)
    kid = _key_id(header)
    claims = _claims(payload)
    # The signature comes first: nothing else is reported about an unsigned permit.
    key = _keys(jwks).get(kid)
    if key is None or not _holds(key, f"{parts[0]}.{parts[1]}".encode(), signature):
        raise PermitError("the permit's signature is invalid, or its key is unknown")
    found = digest(call, agent)
    if claims["digest"] != found.canonical or (
        (claims["both_bind"] or found.both_bind) and claims["raw_digest"] != found.raw
    ):
        raise PermitError("the permit is for another call")
    if claims["sub"] != agent:
        raise PermitError("the permit is for another agent")
    if claims.get("aud") is not None and claims["aud"] != audience:
        raise PermitError("the permit is for another executor")
    if now < claims["iat"]:
        raise PermitError("the permit is not valid yet")
    if not now < claims["exp"]:
        raise PermitError("the permit has expired")
    return claims


def _key_id(header: bytes) -> str:
    found = _object(header)
    if found.get("alg") != "EdDSA":
        raise PermitError("the permit is not signed with EdDSA")
    if found.get("typ") != _TYPE:
        raise PermitError("the token is not a permit")
    kid = found.get("kid")
    if set(found) != {"alg", "kid", "typ"} or type(kid) is not str:
        raise PermitError("the permit's header has an unknown member")
    return kid


def _claims(payload: bytes) -> dict[str, Any]:
    found = _object(payload)
    names = set(found) - _MAY_MISS
    if names != _TEXTS | _OTHERS:
        raise PermitError("a claim of the permit is missing or unknown")
    for name in set(found) - _OTHERS:
        if type(found[name]) is not str:
            raise PermitError(f"the permit's claim {name} is invalid")
    times = (found["iat"], found["exp"])
    if not all(isinstance(one, Digits) and one.isdigit() and len(one) < 16 for one in times):
        raise PermitError("the permit's times are invalid")
    claims = {**found, "iat": int(times[0]), "exp": int(times[1])}
    if type(claims["both_bind"]) is not bool or claims["tier"] not in _TIERS:
        raise PermitError("a claim of the permit is invalid")
    if claims["exp"] <= claims["iat"]:
        raise PermitError("the permit's times are invalid")
    return claims


def _object(part: bytes) -> dict[str, Any]:
    try:
        text = part.decode()
    except UnicodeDecodeError:
        raise PermitError("a part of the permit is not UTF-8") from None
    found = plain.exact(text)
    if not isinstance(found, dict):
        raise PermitError("a part of the permit is not an object")
    # The same JSON has many spellings; only the canonical one is accepted.
    if canonical(found)[0] != text:
        raise PermitError("the permit is not in canonical form")
    return found


def _keys(jwks: str) -> dict[str, bytes]:
    """The Ed25519 keys of a set by their thumbprints (RFC 7638)."""
    found = plain.decode(jwks)
    listed = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise PermitError("the list of keys is missing")
    keys = {}
    for one in listed:
        if not isinstance(one, dict) or (one.get("kty"), one.get("crv")) != ("OKP", "Ed25519"):
            continue
        x = one.get("x")
        key = _unpacked(x) if isinstance(x, str) else b""
        if len(key) != 32:
            raise PermitError("a key in the set is not 32 bytes long")
        least = f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'
        kid = _packed(hashlib.sha256(least.encode()).digest())
        if one.get("kid", kid) != kid:
            raise PermitError("a key in the set has another key's id")
        keys[kid] = key
    return keys


def _holds(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise PermitError(
            "verifying permits needs the package cryptography: pip install 'countersign[permits]'"
        ) from None
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _unpacked(text: str) -> bytes:
    try:
        found = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        found = b""
    # Only the one canonical encoding of each byte string is accepted.
    if not found or _packed(found) != text:
        raise PermitError("the permit or a key is not base64url")
    return found


def _packed(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
