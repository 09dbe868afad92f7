"""The calls of one turn: asked about as a group, and kept in order where necessary."""

import threading
import time

from . import host
from .program import HookError

# Hermes gives up on parallel calls after seven minutes; the wait must end earlier.
ORDER_SECONDS = 300.0


class Decision:
    """The decision about one call."""

    def __init__(self, allows, reason=None, arguments=None):
        self.allows, self.reason, self.arguments = allows, reason, arguments


def read_decision(answer):
    """Parses a decision; only the exact word `allow` allows."""
    if not isinstance(answer, dict):
        raise HookError("a decision is not an object")
    if answer.get("decision") == "deny":
        reason = answer.get("reason")
        if not isinstance(reason, str) or not reason.strip():
            reason = "Denied, without a reason."
        return Decision(False, reason)
    if answer.get("decision") != "allow":
        raise HookError("the decision is neither allow nor deny")
    arguments = answer.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise HookError("the edited arguments are not an object")
    return Decision(True, None, arguments)


class Turn:
    """One answer of the model with several calls."""

    def __init__(self, request, calls):
        """`calls` are ids, tools and arguments, in the model's order."""
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
        """The decision about one of the calls, or None if the call differs from the submitted one."""
        at = self._places.get(call.named)
        if at is None or not self._same(at, call):
            return None
        with self._lock:
            if not self._asked:
                self._asked, self._folder, self._session = True, here, call.session
                # A failed batch is not asked about again, because the wait would repeat.
                self._decisions = [Decision(False, None)] * len(self._calls)
                self._read(ask({"event": "batch", "calls": self._calls}))
        # An earlier call may have changed the folder, and with it the effect of this one.
        if here != self._folder or call.session != self._session:
            return None
        # Each decision is used once; a repeated call is asked about again.
        decision, self._decisions[at] = self._decisions[at], None
        if decision is not None and not decision.allows and decision.reason is None:
            raise HookError("the calls of this turn were not decided")
        return decision

    def _same(self, at, call):
        asked = self._calls[at]
        return asked["tool"] == call.tool and host.canonical_text(asked["arguments"]) == host.canonical_text(
            call.args
        )

    def _read(self, answer):
        decisions, stages = answer.get("decisions"), answer.get("stages")
        count = len(self._calls)
        if not isinstance(decisions, list) or len(decisions) != count:
            raise HookError("a decision is missing for a call of the turn")
        if not isinstance(stages, list) or not all(isinstance(stage, list) for stage in stages):
            raise HookError("the order of the calls is missing")
        places = [at for stage in stages for at in stage]
        if any(type(at) is not int for at in places) or sorted(places) != list(range(count)):
            raise HookError("the order does not contain every call once")
        read = [read_decision(decision) for decision in decisions]
        order = {at: number for number, stage in enumerate(stages) for at in stage}
        self._stage = [order[at] for at in range(count)]
        self._decisions = read

    def finish(self, named):
        """Marks a call that has ended or will not start."""
        at = self._places.get(named)
        if at is not None:
            with self._changed:
                self._done.add(at)
                self._changed.notify_all()

    def wait_for_turn(self, named, is_stopped):
        """Waits until every call of an earlier stage has ended."""
        at = self._places.get(named)
        if at is None or not self._stage:
            return
        before = {other for other, stage in enumerate(self._stage) if stage < self._stage[at]}
        until = time.monotonic() + ORDER_SECONDS
        with self._changed:
            while not before <= self._done:
                if is_stopped() or time.monotonic() > until:
                    raise HookError("an earlier call has not ended")
                self._changed.wait(0.2)
