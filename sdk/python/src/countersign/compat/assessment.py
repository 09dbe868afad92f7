"""Assessments of tool calls before they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import plain, program
from ..call import Call
from ..errors import CountersignError


@dataclass
class ToolCallAssessment:
    """The assessment of a tool call."""

    tool_name: str
    #: 0.0 to 1.0.
    risk_score: float
    #: The confidence of the assessment, 0.0 to 1.0.
    confidence: float
    #: ``pre_execution_gate``, ``post_execution_review`` or ``confidence_threshold``.
    pattern: str
    requires_human: bool
    reasons: list[str]
    reversible: bool
    crisis_sensitive: bool

    @classmethod
    def of(
        cls, tool_name: str, arguments: Mapping[str, Any] | None = None, **context: str | None
    ) -> ToolCallAssessment:
        """Assesses a call by the program's rules. A call that cannot be assessed needs a person."""
        try:
            call = Call(tool=tool_name, arguments=arguments or {}, project="", **context)  # type: ignore[arg-type]
            found = program.assess(call)
            return cls(
                tool_name=tool_name,
                risk_score=float(found["risk"]),
                confidence=float(found["confidence"]),
                pattern=str(found["pattern"]),
                requires_human=found["requires_human"] is not False,
                reasons=[str(one["say"]) for one in found["reasons"]],
                reversible=found["reversible"] is True,
                crisis_sensitive=found["crisis_sensitive"] is not False,
            )
        except (CountersignError, KeyError, TypeError, ValueError) as error:
            return cls(
                tool_name=str(tool_name),
                risk_score=1.0,
                confidence=0.0,
                pattern="pre_execution_gate",
                requires_human=True,
                reasons=[f"the call could not be assessed: {error}"],
                reversible=False,
                crisis_sensitive=True,
            )


def should_parallelize_tool_batch(tool_calls: Sequence[Any]) -> bool:
    """Whether all these calls may run in parallel: two or more, and all of them only read.

    A call is what model APIs give (``.function.name``, ``.function.arguments`` as JSON) or a
    dictionary with ``name`` and ``arguments``. An invalid call is not run in parallel.
    """
    try:
        calls = [_call(one) for one in tool_calls]
        return len(calls) > 1 and program.plan(calls).get("parallel") is True
    except CountersignError:
        return False


def _call(one: Any) -> Call:
    said = getattr(one, "function", one)
    if isinstance(said, Mapping):
        inner = said.get("function")
        said = inner if isinstance(inner, Mapping) else said
        name, arguments = said.get("name"), said.get("arguments")
    else:
        name, arguments = getattr(said, "name", None), getattr(said, "arguments", None)
    if isinstance(arguments, str):
        arguments = plain.decode(arguments)
    if not isinstance(name, str) or not isinstance(arguments or {}, Mapping):
        raise CountersignError("not a tool call")
    return Call(tool=name, arguments=dict(arguments or {}), project="")
