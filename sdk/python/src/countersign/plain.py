"""JSON read and written strictly: what is shown, what is hashed and what runs are the same."""

from __future__ import annotations

import json
from typing import Any

from .errors import BadInput, Unexpected

#: Deeper than any call is, and well within what Python can walk.
DEEPEST = 100


def encode(value: object, what: str = "the arguments") -> str:
    """A value as JSON, if JSON says all of it.

    Only plain values are taken: text, whole and finite numbers, booleans, ``None``, lists, and
    dictionaries with text as keys. A subclass of these may be more than what a person is shown.
    """
    _check(value, what, 0)
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{what}: half a character cannot be sent") from None
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
                raise BadInput(f"{what}: a key is no text, so a person cannot be shown it exactly")
            _check(item, what, depth + 1)
    elif kind is float:
        if value != value or value in (float("inf"), float("-inf")):
            raise BadInput(f"{what}: a number is not finite")
    elif kind not in (str, int, bool, type(None)):
        raise BadInput(
            f"{what}: a {kind.__name__} is not plain JSON, so a person cannot be shown it exactly"
        )


def decode(text: str) -> Any:
    """A value from JSON; doubled keys, NaN and deep nesting are not understood."""
    return loads(text)


class Digits(str):
    """A number as it was written."""

    __slots__ = ()


def exact(text: str) -> Any:
    """A value from JSON with its numbers as they were written."""
    return loads(text, parse_int=Digits, parse_float=Digits)


def loads(text: str, **how: Any) -> Any:
    """``json.loads`` without its leniencies."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number, **how)
    except (ValueError, RecursionError) as error:
        raise Unexpected(f"not JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")
