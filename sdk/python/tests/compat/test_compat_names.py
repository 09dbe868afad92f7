"""Assessments, lists of calls, and every name with its signature."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from countersign import compat
from countersign.compat import (
    ApprovalRouter,
    ConfirmationDaemon,
    ToolCallAssessment,
    classify_and_check,
    classify_tier,
    init_daemon,
    request_confirmation,
    should_parallelize_tool_batch,
)


def test_a_tool_call_is_assessed() -> None:
    safe = ToolCallAssessment.of("read_file", {"path": "README.md"})
    assert (safe.requires_human, safe.reversible, safe.crisis_sensitive) == (False, True, False)
    assert safe.risk_score < 0.25 < safe.confidence
    assert safe.pattern == "confidence_threshold"
    grave = ToolCallAssessment.of("terminal", {"command": "rm -rf /"}, cwd="/srv")
    assert (grave.tool_name, grave.requires_human) == ("terminal", True)
    assert grave.pattern == "pre_execution_gate"
    assert grave.risk_score > 0.6
    assert grave.reasons


def call(name: str, arguments: str) -> Any:
    return SimpleNamespace(function=SimpleNamespace(name=name, arguments=arguments))


READ_A = call("read_file", '{"path": "a.txt"}')


@pytest.mark.parametrize(
    ("calls", "parallel"),
    [
        ([READ_A, call("read_file", '{"path": "b.txt"}')], True),
        ([READ_A, call("write_file", '{"path": "b.txt", "content": "x"}')], False),
        ([call("execute_terminal", f'{{"command": "{c}"}}') for c in ("ls", "pwd", "date")], True),
        ([call("execute_terminal", f'{{"command": "{c}"}}') for c in ("ls", "rm a")], False),
        ([READ_A], False),
        ([], False),
        ([READ_A, call("web_search", '{"query": "x"}'), call("session_search", "{}")], True),
        ([READ_A, call("delegate_task", '{"task": "x"}')], False),
        ([READ_A, call("patch", '{"path": "a.txt"}')], False),
        ([{"name": "read_file", "arguments": {"path": "a"}}] * 2, True),
        ([{"function": {"name": "read_file", "arguments": '{"path": "a"}'}}] * 2, True),
        ([READ_A, call("read_file", "not JSON")], False),
        # A mock's `name` is not a string: an invalid call does not run in parallel.
        ([Mock(function=Mock(name="read_file", arguments="{}"))] * 2, False),
    ],
)
def test_which_calls_run_in_parallel(calls: list[Any], parallel: bool) -> None:
    assert should_parallelize_tool_batch(calls) is parallel
    assert compat._should_parallelize_tool_batch(calls) is parallel


@pytest.mark.parametrize(
    ("name", "arguments", "parallel_with_others"),
    [
        ("read_file", '{"path": "b"}', True),
        ("web_search", '{"query": "x"}', True),
        ("session_search", '{"query": "x"}', True),
        ("web_fetch", '{"url": "https://example.com"}', True),
        ("browser_navigate", '{"url": "https://example.com"}', True),
        ("write_file", '{"path": "b", "content": "x"}', False),
        ("patch", '{"path": "b"}', False),
        ("execute_terminal", '{"command": "ls"}', True),
        ("execute_code", '{"code": "print(1)"}', True),
        ("delegate_task", '{"task": "x"}', False),
    ],
)
def test_which_tools_may_run_in_parallel(
    name: str, arguments: str, parallel_with_others: bool
) -> None:
    assert should_parallelize_tool_batch([READ_A, call(name, arguments)]) is parallel_with_others


def test_signatures_are_those_of_the_documents() -> None:
    def parameters(function: Any) -> list[str]:
        kinds = inspect.signature(function).parameters.values()
        return [one.name for one in kinds if one.kind is not inspect.Parameter.KEYWORD_ONLY]

    gate = ["action", "description", "payload", "risk_level", "session_key", "timeout"]
    assert parameters(request_confirmation) == gate
    assert parameters(ConfirmationDaemon.request) == ["self", *gate]
    assert parameters(ConfirmationDaemon) == [
        "host",
        "port",
        "default_timeout",
        "notify_callback",
    ]
    assert parameters(ConfirmationDaemon.respond)[1:] == [
        "request_id",
        "approved",
        "decided_by",
        "reason",
    ]
    assert parameters(init_daemon) == ["host", "port", "notify_callback"]
    assert parameters(ApprovalRouter) == ["session_key"]
    assert parameters(ApprovalRouter.route)[1:] == ["action", "description", "context"]
    assert parameters(ApprovalRouter.approve)[1:] == ["approval_id", "approver"]
    assert parameters(ApprovalRouter.deny)[1:] == ["approval_id", "denier", "reason"]
    assert parameters(classify_tier) == ["action", "context"]
    assert parameters(classify_and_check) == ["action", "command"]
    assert list(ToolCallAssessment.__dataclass_fields__) == [
        "tool_name",
        "risk_score",
        "confidence",
        "pattern",
        "requires_human",
        "reasons",
        "reversible",
        "crisis_sensitive",
    ]


def test_missing_names_raise_a_clear_error() -> None:
    with pytest.raises(NotImplementedError, match="classify_tier"):
        _ = compat.TIER_PATTERNS
    # Not even the import comes through, so nothing can take its silence for "safe".
    with pytest.raises(ImportError):
        exec("from countersign.compat import TIER_PATTERNS")  # noqa: S102
    with pytest.raises(AttributeError):
        _ = compat.nonsense


def test_hasattr_never_raises() -> None:
    for name in ["TIER_PATTERNS", "CRISIS_BYPASS_PATTERNS", "nonsense", "__wrapped__"]:
        assert not hasattr(compat, name)
        assert getattr(compat, name, None) is None
    assert all(hasattr(compat, name) for name in compat.__all__)
