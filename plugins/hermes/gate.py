"""The gate: no tool runs before Countersign said so, about exactly these arguments.

Hermes asks its plugins before a call (`pre_tool_call`) and lets them wrap the call itself
(`tool_execution`). It swallows what goes wrong in the first and runs the call. So the first
asks, and the second is a latch: it lets through only what was allowed, and asks by itself
about anything that comes another way.
"""

import json
import logging
import threading
import time

from . import host, program
from .batch import Turn, read_decision
from .bounded import Bounded
from .program import NoAnswer

log = logging.getLogger(__name__)

REPORT_SECONDS = 5.0
# As many calls as a batch may hold; of more, each is asked about by itself.
MOST_TOGETHER = 100


class Gate:
    """What was allowed and has not run yet; which session each call belongs to."""

    def __init__(self):
        self._allowed, self._denied = Bounded(1000), Bounded(1000)
        self._turns = Bounded(100)
        self._parents = Bounded(1000)
        self._sessions = Bounded(1000)
        self._running = threading.local()

    # What Hermes calls.

    def before(self, tool_name="", args=None, **told):
        """Before a call: None lets it go on, a block ends it."""
        try:
            call = self._call(tool_name, args, told)
            reason = self._judge(call)
        except NoAnswer as trouble:
            reason = unanswered(trouble)
        except Exception as trouble:
            log.exception("Countersign: a call could not be asked about")
            reason = unanswered(f"{type(trouble).__name__}: {trouble}")
        return None if reason is None else {"action": "block", "message": reason}

    def run(self, tool_name="", args=None, next_call=None, **told):
        """Around a call: it runs if it was allowed, as it was allowed."""
        call = allowed = None
        try:
            call = self._call(tool_name, args, told)
            # Hermes wraps some calls twice; the inner one is the same call.
            inner = self._inside()[-1:] == [call.key]
            reason = None
            if not inner:
                allowed, reason = self._admit(call)
        except NoAnswer as trouble:
            reason = unanswered(trouble)
        except Exception as trouble:
            log.exception("Countersign: a call could not be checked")
            reason = unanswered(f"{type(trouble).__name__}: {trouble}")
        if reason is not None:
            self._finish(call)
            return json.dumps({"error": reason}, ensure_ascii=False)
        return next_call(args) if inner else self._execute(call, allowed, args, next_call)

    def ended(self, tool_call_id="", api_request_id="", status="", **_told):
        """After a call that did not run: what must follow it need not wait."""
        turn = self._turns.get(api_request_id)
        if status in ("blocked", "cancelled") and turn is not None:
            turn.finish(tool_call_id)

    def answered(self, assistant_message=None, api_request_id="", **_told):
        """The model answered: all calls of the turn are known before the first one runs."""
        try:
            asked = getattr(assistant_message, "tool_calls", None) or []
            calls = [host.proposed(call) for call in asked]
            calls = [call for call in calls if call is not None]
            if 1 < len(calls) <= MOST_TOGETHER and api_request_id:
                self._turns.put(api_request_id, Turn(api_request_id, calls))
        except Exception:
            log.exception("Countersign: a turn could not be read; its calls are asked singly")

    def delegated(self, parent_session_id=None, child_session_id=None, **_told):
        """A subagent starts: it belongs to the session of whoever started it."""
        if parent_session_id and child_session_id and parent_session_id != child_session_id:
            self._parents.put(child_session_id, parent_session_id)

    # How a call is judged.

    def root(self, session):
        """The session a person talks with, for a session that a subagent may have."""
        for _ in range(16):
            parent = self._parents.get(session)
            if not parent:
                return session
            session = parent
        return session

    def _call(self, tool, args, told):
        session, task = told.get("session_id") or "", told.get("task_id") or ""
        # Calls from inside execute_code name no session, only the task they are part of.
        if session and task:
            self._sessions.put(task, session)
        session = self.root(session or self._sessions.get(task) or task)
        if not isinstance(args, dict):
            raise NoAnswer("its arguments are not an object, so it was not asked about")
        host.coerce(tool, args)
        named, request = told.get("tool_call_id") or "", told.get("api_request_id") or ""
        return Call(tool, args, session, task, named, request)

    def _judge(self, call):
        """Why a call may not run; None if it may, and then it is known as allowed."""
        self._allowed.take(call.key)
        turn = self._turns.get(call.request) if call.named else None
        place = {"session": call.session, "cwd": host.folder(call.task)}
        # A copy: what was asked stays what it was when a person edits the call.
        asked = {"tool": call.tool, "arguments": dict(call.args), **place}
        asked["call_id"] = host.call_id(call.request, call.named)
        decision = None
        if turn is not None:
            decision = turn.decide(call, place["cwd"], lambda several: ask(several | place))
        if decision is None:
            turn, decision = None, read_decision(ask({"event": "before", **asked}))
        if not decision.allows:
            self._finish(call)
            self._denied.put(call.key, decision.reason)
            return decision.reason
        edited = decision.arguments is not None and decision.arguments != call.args
        if edited:
            # The same dict goes on to Hermes' own checks and to the tool; the latch makes sure.
            call.args.clear()
            call.args.update(decision.arguments)
        self._denied.take(call.key)
        self._allowed.put(call.key, Allowed(asked, edited, turn, threading.get_ident()))
        return None

    def _admit(self, call):
        """The allowance of a call that is about to run, or why it may not."""
        allowed = self._allowed.take(call.key)
        if allowed is None:
            # Another plugin may have spoken louder than our no, which still holds.
            reason = self._denied.take(call.key) or self._judge(call)
            if reason is not None:
                return None, reason
            allowed = self._allowed.take(call.key)
        if allowed is None:
            raise NoAnswer("the allowance was lost")
        # In one thread calls follow each other; only side by side must one wait for another.
        if allowed.turn is not None and allowed.thread != threading.get_ident():
            allowed.turn.wait_for_turn(call.named, host.interrupted)
        return allowed, None

    def _finish(self, call):
        turn = self._turns.get(call.request) if call is not None else None
        if turn is not None:
            turn.finish(call.named)

    def _inside(self):
        if not hasattr(self._running, "calls"):
            self._running.calls = []
        return self._running.calls

    # How it runs.

    def _execute(self, call, allowed, args, next_call):
        inside, ended, since = self._inside(), {"status": "error"}, time.monotonic()
        inside.append(call.key)
        try:
            result = next_call(args)
            ended = host.outcome(result)
        finally:
            inside.pop()
            self._finish(call)
            self._report(allowed, ended, time.monotonic() - since)
        return told_of_edit(result, call.args) if allowed.edited else result

    def _report(self, allowed, ended, seconds):
        try:
            report = {**allowed.asked, **ended, "duration_ms": int(seconds * 1000)}
            program.ask({**report, "event": "after"}, REPORT_SECONDS)
        except Exception as trouble:
            log.warning("Countersign was not told how a call ended: %s", trouble)


class Call:
    """One proposed call, as it stands now."""

    def __init__(self, tool, args, session, task, named, request):
        self.tool, self.args, self.session = tool, args, session
        self.task, self.named, self.request = task, named, request

    @property
    def key(self):
        """What an allowance is bound to."""
        return (self.session, self.named, self.tool, host.exactly(self.args))


class Allowed:
    """One allowance, good for one run."""

    def __init__(self, asked, edited, turn, thread):
        self.asked, self.edited, self.turn, self.thread = asked, edited, turn, thread


def ask(question):
    """Asks about calls, for as long as people take."""
    several = question.get("calls")
    what = f"one of {len(several)} calls" if several else question["tool"]
    return program.ask(question, program.patience(), host.Waiting(what).stopped)


def unanswered(trouble):
    """The sentence for a call that could not be asked about."""
    return (
        f"Not run: Countersign gave no answer ({trouble}). Nothing was changed. "
        "Do not try another way; tell the person, who can run `countersign doctor`."
    )


def told_of_edit(result, args):
    """The result, saying that a person changed the call: the model must know what ran."""
    note = f"A person changed the arguments before approving. What ran: {json.dumps(args)}"
    try:
        read = json.loads(result)
        if isinstance(read, dict):
            return json.dumps({"countersign": note, **read}, ensure_ascii=False)
    except (TypeError, ValueError):
        pass
    return f"{note}\n{result}" if isinstance(result, str) else result
