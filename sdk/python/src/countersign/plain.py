"""Strict JSON, so that the call that is shown, hashed and run is the same."""

from __future__ import annotations

import json
from typing import Any

from .errors import BadInput, Unexpected

#: The deepest nesting; far from Python's recursion limit.
DEEPEST = 100


def encode(value: object, what: str = "the arguments") -> str:
    """A value as JSON, if JSON represents it exactly.

    Only plain values are accepted: strings, finite numbers, booleans, ``None``, lists, and
    dictionaries with string keys. A subclass of these may hold more than a person is shown.
    """
    _check(value, what, 0)
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{what}: contains an unpaired surrogate") from None
    return text


def _check(value: object, what: str, depth: int) -> None:
    if depth > DEEPEST:
        raise BadInput(f"{what}: nested too deeply")
    kind = type(value)
    if kind is list:
        for item in value:  # type: ignore[attr-defined]
            _check(item, what, depth + 1)
    elif kind is dict:
        for key, item in value.items():  # type: ignore[attr-defined]
            if type(key) is not str:
                raise BadInput(f"{what}: a key is not a string, so it cannot be shown exactly")
            _check(item, what, depth + 1)
    elif kind is float:
        if value != value or value in (float("inf"), float("-inf")):
            raise BadInput(f"{what}: a number is not finite")
    elif kind not in (str, int, bool, type(None)):
        raise BadInput(
            f"{what}: a {kind.__name__} is not plain JSON, so it cannot be shown exactly"
        )


def decode(text: str) -> Any:
    """A value from JSON; duplicate keys, NaN and deep nesting are rejected."""
    return loads(text)


class Digits(str):
    """A number as it was written in the JSON text."""

    __slots__ = ()


def exact(text: str) -> Any:
    """A value from JSON with its numbers as they were written."""
    return loads(text, parse_int=Digits, parse_float=Digits)


def loads(text: str, **how: Any) -> Any:
    """A strict ``json.loads``."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number, **how)
    except (ValueError, RecursionError) as error:
        raise Unexpected(f"not JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is not a number")
