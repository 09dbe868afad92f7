"""The calls of one turn: asked about together, and kept in order where they must be."""

import threading
import time

from . import host
from .program import NoAnswer

# Hermes gives up on calls that run side by side after seven minutes; we do so before.
ORDER_SECONDS = 300.0


class Decision:
    """What Countersign said about one call."""

    def __init__(self, allows, reason=None, arguments=None):
        self.allows, self.reason, self.arguments = allows, reason, arguments


def read_decision(answer):
    """Only the exact word allows."""
    if not isinstance(answer, dict):
        raise NoAnswer("a decision is not an object")
    if answer.get("decision") == "deny":
        reason = answer.get("reason")
        if not isinstance(reason, str) or not reason.strip():
            reason = "Denied, without a reason given."
        return Decision(False, reason)
    if answer.get("decision") != "allow":
        raise NoAnswer("it said neither allow nor deny")
    arguments = answer.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise NoAnswer("the edited arguments are not an object")
    return Decision(True, None, arguments)


class Turn:
    """One answer of the model that wants several calls."""

    def __init__(self, request, calls):
        """`calls` are names, tools and arguments, in the model's order."""
        self._calls = [
            {"call_id": host.call_id(request, named), "tool": tool, "arguments": args}
            for named, tool, args in calls
        ]
        self._places = {named: at for at, (named, _, _) in enumerate(calls)}
        self._lock = threading.Lock()
        self._asked = False
        self._folder, self._session = None, None
        self._decisions, self._stage = [], []
        self._done, self._changed = set(), threading.Condition()

    def decide(self, call, here, ask):
        """The decision about one of the calls, or None if it is not what was asked about."""
        at = self._places.get(call.named)
        if at is None or not self._same(at, call):
            return None
        with self._lock:
            if not self._asked:
                self._asked, self._folder, self._session = True, here, call.session
                # Not asked again: whoever waited once for nothing would wait again.
                self._decisions = [Decision(False, None)] * len(self._calls)
                self._read(ask({"event": "batch", "calls": self._calls}))
        # An earlier call may have changed the folder, and with it what this one means.
        if here != self._folder or call.session != self._session:
            return None
        # Each decision counts once; a call that comes again is asked about again.
        decision, self._decisions[at] = self._decisions[at], None
        if decision is not None and not decision.allows and decision.reason is None:
            raise NoAnswer("none came for the calls of this turn")
        return decision

    def _same(self, at, call):
        asked = self._calls[at]
        return asked["tool"] == call.tool and host.exactly(asked["arguments"]) == host.exactly(
            call.args
        )

    def _read(self, answer):
        decisions, stages = answer.get("decisions"), answer.get("stages")
        count = len(self._calls)
        if not isinstance(decisions, list) or len(decisions) != count:
            raise NoAnswer("it did not decide about every call of the turn")
        if not isinstance(stages, list) or not all(isinstance(stage, list) for stage in stages):
            raise NoAnswer("it gave no order of the calls")
        places = [at for stage in stages for at in stage]
        if any(type(at) is not int for at in places) or sorted(places) != list(range(count)):
            raise NoAnswer("its order does not name every call once")
        read = [read_decision(decision) for decision in decisions]
        order = {at: number for number, stage in enumerate(stages) for at in stage}
        self._stage = [order[at] for at in range(count)]
        self._decisions = read

    def finish(self, named):
        """A call ended, or never starts."""
        at = self._places.get(named)
        if at is not None:
            with self._changed:
                self._done.add(at)
                self._changed.notify_all()

    def wait_for_turn(self, named, stopped):
        """Waits until every call of an earlier stage ended."""
        at = self._places.get(named)
        if at is None or not self._stage:
            return
        before = {other for other, stage in enumerate(self._stage) if stage < self._stage[at]}
        until = time.monotonic() + ORDER_SECONDS
        with self._changed:
            while not before <= self._done:
                if stopped() or time.monotonic() > until:
                    raise NoAnswer("a call that must come before it has not ended")
                self._changed.wait(0.2)
