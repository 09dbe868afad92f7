"""Ed25519 signatures (RFC 8032), verified without a dependency.

Verification handles only public values, so its time may depend on them.
"""

from __future__ import annotations

import hashlib

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)

#: A point in extended coordinates: X, Y, Z and T with x = X/Z, y = Y/Z, xy = T/Z.
_Point = tuple[int, int, int, int]
_NEUTRAL: _Point = (0, 1, 1, 0)


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether this is a signature of the message by the key."""
    point = _decode(key)
    if point is None or len(signature) != 64:
        return False
    first, scalar = signature[:32], int.from_bytes(signature[32:], "little")
    # A larger scalar would be a second signature for the same message.
    if scalar >= _ORDER:
        return False
    hashed = hashlib.sha512(first + key + message).digest()
    factor = int.from_bytes(hashed, "little") % _ORDER
    # R = sB - kA, compared as bytes, so that only one encoding of R is accepted.
    x, y, z, t = point
    return _encode(_combine(scalar, _BASE, factor, (_P - x, y, z, _P - t))) == first


def _combine(a: int, p: _Point, b: int, q: _Point) -> _Point:
    """a·p + b·q."""
    both, total = _add(p, q), _NEUTRAL
    for bit in range(max(a.bit_length(), b.bit_length()) - 1, -1, -1):
        total = _add(total, total)
        chosen = (a >> bit & 1, b >> bit & 1)
        if chosen == (1, 1):
            total = _add(total, both)
        elif chosen == (1, 0):
            total = _add(total, p)
        elif chosen == (0, 1):
            total = _add(total, q)
    return total


def _add(p: _Point, q: _Point) -> _Point:
    a = (p[1] - p[0]) * (q[1] - q[0]) % _P
    b = (p[1] + p[0]) * (q[1] + q[0]) % _P
    c = 2 * p[3] * q[3] * _D % _P
    d = 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _encode(point: _Point) -> bytes:
    inverse = pow(point[2], _P - 2, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _decode(text: bytes) -> _Point | None:
    if len(text) != 32:
        return None
    number = int.from_bytes(text, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    if square == 0:
        return None  # A point of small order is no key.
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _ROOT % _P
    if (x * x - square) % _P:
        return None
    x = _P - x if x & 1 != sign else x
    return x, y, 1, x * y % _P


#: The base point; its y is 4/5.
_BASE = _decode((4 * pow(5, _P - 2, _P) % _P).to_bytes(32, "little")) or _NEUTRAL
