"""What is asked of Hermes itself; where a version lacks it, the careful answer."""

import hashlib
import json
import os
import sys
import time
import uuid

# The longest name that Countersign takes for a call.
LONGEST_NAME = 200
# A wait this long, in seconds, is one for a person.
SAY_AFTER = 2.0


def coerce(tool, args):
    """Gives arguments the types that Hermes will give them, so that what is asked is what runs."""
    if isinstance(args, dict) and args:
        try:
            from model_tools import coerce_tool_args

            coerce_tool_args(tool, args)
        except Exception:
            pass  # What runs then differs from what was asked, and the latch asks again.


def exactly(args):
    """Arguments as text, the same text only for the same arguments."""
    return json.dumps(args, sort_keys=True, allow_nan=False)


def proposed(call):
    """A call of the model's answer as it will be asked about; None if it cannot be read."""
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
    """A name for a call that no other call has: some models number their calls anew each time."""
    if not named:
        return f"hermes-{uuid.uuid4()}"
    whole = f"{request}/{named}" if request else named
    if len(whole) <= LONGEST_NAME:
        return whole
    return f"hermes-{hashlib.sha256(whole.encode('utf-8', 'replace')).hexdigest()}"


def _unwrapped(tool, args):
    """Hermes may wrap a call into its `tool_call`; hooks see the call inside."""
    try:
        from tools import tool_search

        if tool == tool_search.TOOL_CALL_NAME:
            inner, inner_args, trouble = tool_search.resolve_underlying_call(args)
            if inner and not trouble and isinstance(inner_args, dict):
                return inner, inner_args
    except Exception:
        pass
    return tool, args


def folder(task):
    """Where a command of this task would run, if that is known."""
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
    """How a call ended, read as Hermes reads it: a status, and an exit code if there is one."""
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
    """Puts a text before somebody who sits at Hermes' own terminal interface; whether one does."""
    try:
        from hermes_cli.plugins import get_plugin_manager

        if get_plugin_manager()._cli_ref is None:
            return False
        sys.modules["cli"]._cprint(text)
        return True
    except Exception:
        return False


class Waiting:
    """A wait for a person: ends when the person stops the agent, and looks alive meanwhile."""

    def __init__(self, what):
        now = time.monotonic()
        self._state = {"last_touch": now, "start": now}
        self._what, self._silent = what, True

    def stopped(self):
        """Asked again and again while an answer is waited for."""
        if self._silent and time.monotonic() - self._state["start"] > SAY_AFTER:
            self._silent = False
            # A server names its tools as it likes, also with what draws on a terminal.
            what = "".join(letter for letter in self._what if letter.isprintable())[:100]
            show(f"  Countersign: {what} waits for a person. Answer with `countersign inbox`.")
        try:
            from tools.environments.base import touch_activity_if_due

            touch_activity_if_due(self._state, "waiting for a person to answer")
        except Exception:
            pass
        return interrupted()
