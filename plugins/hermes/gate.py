"""The gate: no tool runs before Countersign allowed it with exactly these arguments.

Hermes calls its plugins before a call (`pre_tool_call`) and lets them wrap the call itself
(`tool_execution`). It ignores errors of the first and runs the call. So the first asks, and the
second checks the execution: it runs only allowed calls, and asks about calls that did not pass
the first.
"""

import json
import logging
import threading
import time

from . import host, program
from .batch import Turn, read_decision
from .bounded import BoundedMap
from .program import HookError

log = logging.getLogger(__name__)

REPORT_SECONDS = 5.0
# The largest batch; the calls of a larger turn are asked about one by one.
MAX_BATCH = 100


class Gate:
    """The allowed calls that have not run yet, and the session of each call."""

    def __init__(self):
        self._allowed, self._denied = BoundedMap(1000), BoundedMap(1000)
        self._turns = BoundedMap(100)
        self._parents = BoundedMap(1000)
        self._sessions = BoundedMap(1000)
        self._running = threading.local()

    # Called by Hermes.

    def before(self, tool_name="", args=None, **fields):
        """Before a call: None lets it continue, a block ends it."""
        try:
            call = self._call(tool_name, args, fields)
            reason = self._decide(call)
        except HookError as error:
            reason = unanswered(error)
        except Exception as error:
            log.exception("Countersign: a call could not be asked about")
            reason = unanswered(f"{type(error).__name__}: {error}")
        return None if reason is None else {"action": "block", "message": reason}

    def run(self, tool_name="", args=None, next_call=None, **fields):
        """Around a call: runs it only if it was allowed with these arguments."""
        call = allowed = None
        try:
            call = self._call(tool_name, args, fields)
            # Hermes wraps some calls twice; the inner one is the same call.
            inner = self._call_stack()[-1:] == [call.key]
            reason = None
            if not inner:
                allowed, reason = self._admit(call)
        except HookError as error:
            reason = unanswered(error)
        except Exception as error:
            log.exception("Countersign: a call could not be checked")
            reason = unanswered(f"{type(error).__name__}: {error}")
        if reason is not None:
            self._finish(call)
            return json.dumps({"error": reason}, ensure_ascii=False)
        return next_call(args) if inner else self._execute(call, allowed, args, next_call)

    def ended(self, tool_call_id="", api_request_id="", status="", **_rest):
        """After a call that did not run: later calls need not wait for it."""
        turn = self._turns.get(api_request_id)
        if status in ("blocked", "cancelled") and turn is not None:
            turn.finish(tool_call_id)

    def answered(self, assistant_message=None, api_request_id="", **_rest):
        """The model answered: all calls of the turn are known before the first runs."""
        try:
            asked = getattr(assistant_message, "tool_calls", None) or []
            calls = [host.parse_call(call) for call in asked]
            calls = [call for call in calls if call is not None]
            if 1 < len(calls) <= MAX_BATCH and api_request_id:
                self._turns.put(api_request_id, Turn(api_request_id, calls))
        except Exception:
            log.exception("Countersign: a turn could not be parsed; its calls are asked about one by one")

    def delegated(self, parent_session_id=None, child_session_id=None, **_rest):
        """A subagent starts: it belongs to the session that started it."""
        if parent_session_id and child_session_id and parent_session_id != child_session_id:
            self._parents.put(child_session_id, parent_session_id)

    # Decisions.

    def root(self, session):
        """The person's session, also for the session of a subagent."""
        for _ in range(16):
            parent = self._parents.get(session)
            if not parent:
                return session
            session = parent
        return session

    def _call(self, tool, args, fields):
        session, task = fields.get("session_id") or "", fields.get("task_id") or ""
        # Calls from inside execute_code have no session, only a task.
        if session and task:
            self._sessions.put(task, session)
        session = self.root(session or self._sessions.get(task) or task)
        if not isinstance(args, dict):
            raise HookError("its arguments are not an object")
        host.coerce(tool, args)
        named, request = fields.get("tool_call_id") or "", fields.get("api_request_id") or ""
        return Call(tool, args, session, task, named, request)

    def _decide(self, call):
        """Why a call may not run; None if it may, and then it is recorded as allowed."""
        self._allowed.take(call.key)
        turn = self._turns.get(call.request) if call.named else None
        place = {"session": call.session, "cwd": host.folder(call.task)}
        # A copy, so that the original arguments stay known when a person edits them.
        asked = {"tool": call.tool, "arguments": dict(call.args), **place}
        asked["call_id"] = host.call_id(call.request, call.named)
        decision = None
        if turn is not None:
            decision = turn.decide(call, place["cwd"], lambda batch: ask(batch | place))
        if decision is None:
            turn, decision = None, read_decision(ask({"event": "before", **asked}))
        if not decision.allows:
            self._finish(call)
            self._denied.put(call.key, decision.reason)
            return decision.reason
        edited = decision.arguments is not None and decision.arguments != call.args
        if edited:
            # Hermes uses the same dict for its own checks and the tool; `run` checks it again.
            call.args.clear()
            call.args.update(decision.arguments)
        self._denied.take(call.key)
        self._allowed.put(call.key, Allowed(asked, edited, turn, threading.get_ident()))
        return None

    def _admit(self, call):
        """The permission of a call that is about to run, or why it may not run."""
        allowed = self._allowed.take(call.key)
        if allowed is None:
            # Another plugin may have overridden the denial, which still holds.
            reason = self._denied.take(call.key) or self._decide(call)
            if reason is not None:
                return None, reason
            allowed = self._allowed.take(call.key)
        if allowed is None:
            raise HookError("the permission was lost")
        # Calls in one thread run in order; only parallel calls must wait for each other.
        if allowed.turn is not None and allowed.thread != threading.get_ident():
            allowed.turn.wait_for_turn(call.named, host.interrupted)
        return allowed, None

    def _finish(self, call):
        turn = self._turns.get(call.request) if call is not None else None
        if turn is not None:
            turn.finish(call.named)

    def _call_stack(self):
        if not hasattr(self._running, "calls"):
            self._running.calls = []
        return self._running.calls

    # Execution.

    def _execute(self, call, allowed, args, next_call):
        inside, ended, since = self._call_stack(), {"status": "error"}, time.monotonic()
        inside.append(call.key)
        try:
            result = next_call(args)
            ended = host.outcome(result)
        finally:
            inside.pop()
            self._finish(call)
            self._report(allowed, ended, time.monotonic() - since)
        return note_edit(result, call.args) if allowed.edited else result

    def _report(self, allowed, ended, seconds):
        try:
            report = {**allowed.asked, **ended, "duration_ms": int(seconds * 1000)}
            program.ask({**report, "event": "after"}, REPORT_SECONDS)
        except Exception as error:
            log.warning("Countersign: the outcome of a call could not be reported: %s", error)


class Call:
    """One parse_call call, as it stands now."""

    def __init__(self, tool, args, session, task, named, request):
        self.tool, self.args, self.session = tool, args, session
        self.task, self.named, self.request = task, named, request

    @property
    def key(self):
        """The values that a permission is bound to."""
        return (self.session, self.named, self.tool, host.canonical_text(self.args))


class Allowed:
    """A permission for one run."""

    def __init__(self, asked, edited, turn, thread):
        self.asked, self.edited, self.turn, self.thread = asked, edited, turn, thread


def ask(question):
    """Asks about calls and waits for the decision."""
    calls = question.get("calls")
    what = f"one of {len(calls)} calls" if calls else question["tool"]
    return program.ask(question, program.patience(), host.DecisionWait(what).is_stopped)


def unanswered(error):
    """The message about a call that could not be asked about."""
    return (
        f"Not run: Countersign could not decide ({error}). Nothing was changed. "
        "Do not try another way; tell the user to run `countersign doctor`."
    )


def note_edit(result, args):
    """The result with a note that a person edited the call: the model must know what ran."""
    note = f"A person edited the arguments before approving. The call ran with: {json.dumps(args)}"
    try:
        read = json.loads(result)
        if isinstance(read, dict):
            return json.dumps({"countersign": note, **read}, ensure_ascii=False)
    except (TypeError, ValueError):
        pass
    return f"{note}\n{result}" if isinstance(result, str) else result
