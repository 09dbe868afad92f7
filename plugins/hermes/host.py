"""Access to Hermes itself, with a safe fallback for versions that lack a function."""

import hashlib
import json
import os
import sys
import time
import uuid

# The longest call id that Countersign accepts.
MAX_CALL_ID = 200
# After this many seconds the call waits for a person.
NOTICE_AFTER = 2.0


def coerce(tool, args):
    """Converts arguments as Hermes will, so that the approved arguments are the ones that run."""
    if isinstance(args, dict) and args:
        try:
            from model_tools import coerce_tool_args

            coerce_tool_args(tool, args)
        except Exception:
            pass  # The arguments that run then differ, and the execution check asks again.


def canonical_text(args):
    """Arguments as text that is equal only for equal arguments."""
    return json.dumps(args, sort_keys=True, allow_nan=False)


def parse_call(call):
    """Parses a call of the model; None if it is invalid."""
    try:
        tool, args = call.function.name, json.loads(call.function.arguments)
        named = call.id
    except (AttributeError, TypeError, ValueError):
        return None
    if not isinstance(args, dict) or not isinstance(named, str) or not named:
        return None
    tool, args = _unwrapped(tool, args)
    coerce(tool, args)
    return named, tool, args


def call_id(request, named):
    """A unique id for a call: some models restart the numbering of calls in each turn."""
    if not named:
        return f"hermes-{uuid.uuid4()}"
    whole = f"{request}/{named}" if request else named
    if len(whole) <= MAX_CALL_ID:
        return whole
    return f"hermes-{hashlib.sha256(whole.encode('utf-8', 'replace')).hexdigest()}"


def _unwrapped(tool, args):
    """Hermes may wrap a call into its `tool_call`; hooks see the call inside."""
    try:
        from tools import tool_search

        if tool == tool_search.TOOL_CALL_NAME:
            inner, inner_args, error = tool_search.resolve_underlying_call(args)
            if inner and not error and isinstance(inner_args, dict):
                return inner, inner_args
    except Exception:
        pass
    return tool, args


def folder(task):
    """The working directory of this task, if it is known."""
    try:
        from tools.terminal_tool import get_active_env

        here = getattr(get_active_env(task or "default"), "cwd", None)
        if not here:
            from agent.runtime_cwd import resolve_agent_cwd

            here = resolve_agent_cwd()
        here = str(here)
    except Exception:
        here = os.getcwd()
    return here if os.path.isabs(here) else None


def outcome(result):
    """The outcome of a call as Hermes reads it: a status, and an exit code if there is one."""
    try:
        read = json.loads(result) if isinstance(result, str) else result
    except ValueError:
        read = None
    if not isinstance(read, dict):
        return {"status": "ok"}
    ended = {"status": "error" if read.get("error") else "ok"}
    if type(read.get("exit_code")) is int:
        ended["exit_code"] = read["exit_code"]
    return ended


def interrupted():
    """Whether the person stopped the agent."""
    try:
        from tools.interrupt import is_interrupted

        return bool(is_interrupted())
    except Exception:
        return False


def show(text):
    """Prints a text in Hermes' own terminal interface; returns whether it is in use."""
    try:
        from hermes_cli.plugins import get_plugin_manager

        if get_plugin_manager()._cli_ref is None:
            return False
        sys.modules["cli"]._cprint(text)
        return True
    except Exception:
        return False


class DecisionWait:
    """A wait for a decision: ends when the person stops the agent, and keeps Hermes active."""

    def __init__(self, what):
        now = time.monotonic()
        self._state = {"last_touch": now, "start": now}
        self._what, self._silent = what, True

    def is_stopped(self):
        """Polled during the wait."""
        if self._silent and time.monotonic() - self._state["start"] > NOTICE_AFTER:
            self._silent = False
            # A server chooses the names of its tools, which may contain terminal escapes.
            what = "".join(letter for letter in self._what if letter.isprintable())[:100]
            show(f"  Countersign: {what} is pending. Decide with `countersign inbox`.")
        try:
            from tools.environments.base import touch_activity_if_due

            touch_activity_if_due(self._state, "waiting for a decision")
        except Exception:
            pass
        return interrupted()
