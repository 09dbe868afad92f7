"""Canonical JSON (RFC 8785) and the digests of a call, as the daemon computes them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from . import plain
from .call import Call
from .plain import Digits

_CALL_TAG = "countersign/call/1\0"
#: Exponents with more digits than this are not normalized.
_COUNTED = 17


@dataclass(frozen=True)
class CallDigest:
    """The digests that bind a decision to a call."""

    canonical: str
    #: SHA-256 of the arguments as they are sent.
    raw: str
    #: Whether both must match, because a number is not exactly a double.
    both_bind: bool


def digest(call: Call, agent: str) -> CallDigest:
    """The digests of a call by this agent."""
    if call.command is None:
        raw = call.arguments_text
        arguments = raw
    else:
        raw = plain.encode(call.command, "the command")
        arguments = f'{{"command":{raw}}}'
    text, more = canonical(plain.exact(arguments))
    where = [("cwd", call.cwd), ("environment", call.environment or "workstation")]
    members = [("agent", _text(agent)), ("arguments", text)]
    members += [(name, "null" if value is None else _text(value)) for name, value in where]
    members.append(("tool", _text(call.tool or "shell")))
    whole = _CALL_TAG + "{" + ",".join(f'"{name}":{value}' for name, value in members) + "}"
    return CallDigest(_sha256(whole), _sha256(raw), more)


def canonical(value: Any) -> tuple[str, bool]:
    """The canonical text of a value read by ``plain.exact``, and whether it contains a number that
    is not exactly a double; such a number keeps all its digits."""
    out: list[str] = []
    more = _write(value, out)
    return "".join(out), more


def _write(value: Any, out: list[str]) -> bool:
    if value is None or value is True or value is False:
        out.append(json.dumps(value))
        return False
    if isinstance(value, Digits):
        return _number(str(value), out)
    if isinstance(value, str):
        out.append(_text(value))
        return False
    more = False
    if isinstance(value, list):
        out.append("[")
        for index, item in enumerate(value):
            out.append("," if index else "")
            more |= _write(item, out)
        out.append("]")
        return more
    out.append("{")
    for index, key in enumerate(sorted(value, key=_utf16)):
        out.append("," if index else "")
        out.append(_text(key) + ":")
        more |= _write(value[key], out)
    out.append("}")
    return more


def _text(text: str) -> str:
    # Python escapes exactly what RFC 8785 requires.
    return json.dumps(text, ensure_ascii=False)


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _number(written: str, out: list[str]) -> bool:
    double = float(written)
    if double - double == 0.0:
        shortest = _ecmascript(double)
        if _value(shortest) == _value(written):
            out.append(shortest)
            return False
    sign, digits, power = _value(written)
    if power is None:
        out.append(written)
    else:
        out.append(sign + digits + (f"e{power}" if power else ""))
    return True


def _value(written: str) -> tuple[str, str, int | None]:
    """Sign, digits without leading and trailing zeros, power of ten; none if that is too large."""
    sign = "-" if written.startswith("-") else ""
    number, _, exponent = written.removeprefix("-").lower().partition("e")
    whole, _, fraction = number.partition(".")
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    if not kept:
        return "", "", 0
    if len(exponent.lstrip("+-").lstrip("0")) > _COUNTED:
        return sign, kept, None
    return sign, kept, int(exponent or "0") + len(digits) - len(kept) - len(fraction)


def _ecmascript(double: float) -> str:
    """A finite number as ECMAScript writes it: Python's shortest digits in its notation."""
    sign, digits, power = _value(repr(double))
    if not digits or power is None:
        return "0"
    point = len(digits) + power
    if 0 < point <= 21:
        if power >= 0:
            return sign + digits + "0" * power
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    first, rest = digits[0], digits[1:]
    mantissa = f"{first}.{rest}" if rest else first
    return f"{sign}{mantissa}e{'+' if point > 0 else '-'}{abs(point - 1)}"
