"""Gated functions: ask first, run once with the approved arguments, report the outcome."""

from __future__ import annotations

import functools
import hashlib
import inspect
import logging
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast, overload

from . import plain
from .call import Call
from .canon import canonical
from .client import AsyncClient, Client, async_of, sync_of
from .errors import BadInput, CountersignError, NotApproved
from .steps import Clearance, Outcome

_log = logging.getLogger("countersign")
_F = TypeVar("_F", bound=Callable[..., Any])
MARK = "__countersign__"
_UNTOLD = "the outcome of a call could not be reported: %s"


@dataclass(frozen=True)
class Guarded:
    """A gated function and its options."""

    function: Callable[..., Any]
    name: str
    exclude: frozenset[str] = frozenset({"self", "cls"})
    client: Client | AsyncClient | None = None
    description: str | None = None
    session: str | None = None
    platform: str | None = None
    cwd: str | None = None
    environment: str | None = None
    risk_level: str | None = None
    timeout: float | None = None
    project: str | None = None

    @functools.cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def question(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Question:
        """The question about a call with these arguments."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        shown = {}
        for name, value in bound.arguments.items():
            if name in self.exclude:
                continue
            kind = self._signature.parameters[name].kind
            shown[name] = list(value) if kind is inspect.Parameter.VAR_POSITIONAL else value
        call = Call(
            tool=self.name,
            arguments=shown,
            description=self.description,
            session=self.session,
            platform=self.platform,
            cwd=self.cwd,
            environment=self.environment,
            risk_level=self.risk_level,
            timeout=self.timeout,
            project=self.project,
        )
        left = {name: bound.arguments[name] for name in self.exclude & set(bound.arguments)}
        return Question(self, call, left)

    def fitted(self, arguments: Mapping[str, Any], left: Mapping[str, Any]) -> Callable[[], Any]:
        """The function bound to exactly these arguments."""
        bound = self._signature.bind_partial()
        known = self._signature.parameters
        for name in known:
            if name not in left and name not in arguments:
                raise BadInput(f"the argument `{name}` is missing")
        for name in set(arguments) - set(known) | set(arguments) & set(left):
            raise BadInput(f"unknown argument `{name}`")
        for name, parameter in known.items():
            value = left[name] if name in left else arguments[name]
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL and name not in left:
                if not isinstance(value, list):
                    raise BadInput(f"the argument `{name}` is not a list")
                value = tuple(value)
            if parameter.kind is inspect.Parameter.VAR_KEYWORD and not isinstance(value, dict):
                raise BadInput(f"the argument `{name}` is not an object")
            bound.arguments[name] = value
        return functools.partial(self.function, *bound.args, **bound.kwargs)


@dataclass(frozen=True)
class Question:
    guarded: Guarded
    call: Call
    #: Arguments that people do not see: ``self``, and those in ``exclude``.
    left: dict[str, Any]

    def ready(self, clearance: Clearance) -> Callable[[], Any]:
        """The approved call, ready to run."""
        try:
            return self.guarded.fitted(clearance.arguments, self.left)
        except BadInput as error:
            raise NotApproved(
                f"a person edited the arguments, and they are invalid: {error}", clearance.request
            ) from None


@overload
def gated(function: _F, /) -> _F: ...


@overload
def gated(
    *,
    name: str | None = None,
    client: Client | AsyncClient | None = None,
    description: str | None = None,
    session: str | None = None,
    platform: str | None = None,
    cwd: str | None = None,
    project: str | None = None,
    environment: str | None = None,
    risk_level: str | None = None,
    timeout: float | None = None,
    exclude: Collection[str] = ("self", "cls"),
) -> Callable[[_F], _F]: ...


def gated(
    function: _F | None = None,
    /,
    *,
    name: str | None = None,
    client: Client | AsyncClient | None = None,
    description: str | None = None,
    session: str | None = None,
    platform: str | None = None,
    cwd: str | None = None,
    project: str | None = None,
    environment: str | None = None,
    risk_level: str | None = None,
    timeout: float | None = None,
    exclude: Collection[str] = ("self", "cls"),
) -> _F | Callable[[_F], _F]:
    """Gates a function, plain or ``async``.

    Each call is submitted with the function's name and its named arguments. If it is approved,
    its permit is used and the function runs once, with exactly the approved arguments, which a
    person may have edited. Then the outcome is reported. Otherwise the function does not run and
    a :class:`CountersignError` is raised.

    Arguments in ``exclude`` are not shown to people and are not bound by the approval.
    """

    def behind(function: _F) -> _F:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("a generator cannot be gated, because it runs after the call")
        guarded = Guarded(
            function,
            name or function.__name__,
            frozenset(exclude),
            client,
            description,
            session,
            platform,
            cwd,
            environment,
            risk_level,
            timeout,
            project,
        )
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def wrapper(*args: Any, **kwargs: Any) -> Any:
                question = guarded.question(args, kwargs)
                speaker = async_of(guarded.client)
                clearance = await speaker.clear(question.call)
                return await run_async(speaker, clearance, lambda: question.ready(clearance)())
        else:

            @functools.wraps(function)
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                question = guarded.question(args, kwargs)
                speaker = sync_of(guarded.client)
                clearance = speaker.clear(question.call)
                return run(speaker, clearance, lambda: question.ready(clearance)())

        setattr(wrapper, MARK, guarded)
        return cast("_F", wrapper)

    return behind if function is None else behind(function)


def _well(result: Any) -> tuple[bool, object]:
    return True, result


def run(
    client: Client,
    clearance: Clearance,
    action: Callable[[], Any],
    meaning: Callable[[Any], tuple[bool, object]] = _well,
) -> Any:
    """Runs a cleared call and reports its outcome.

    ``meaning`` maps a result to whether it is a success, and to the value whose digest is reported.
    """
    ran = _Ran()
    try:
        result = action()
        ran.returned(*meaning(result))
        return result
    except BaseException as error:
        ran.failed(error)
        raise
    finally:
        name = clearance.request.id
        if name is not None:
            try:
                client.report(name, ran.outcome())
            except CountersignError as error:
                _log.warning(_UNTOLD, error)


async def run_async(
    client: AsyncClient,
    clearance: Clearance,
    action: Callable[[], Any],
    meaning: Callable[[Any], tuple[bool, object]] = _well,
) -> Any:
    """The same on an event loop, for an action that may be awaitable."""
    ran = _Ran()
    try:
        result = action()
        if inspect.isawaitable(result):
            result = await result
        ran.returned(*meaning(result))
        return result
    except BaseException as error:
        ran.failed(error)
        raise
    finally:
        name = clearance.request.id
        if name is not None:
            try:
                await client.report(name, ran.outcome())
            except CountersignError as error:
                _log.warning(_UNTOLD, error)


class _Ran:
    """Measures a run for the ledger. Only a digest of the result is reported."""

    def __init__(self) -> None:
        self._status = "error"
        self._word = ""
        self._digest: str | None = None
        self._exit_code: int | None = None
        self._start = time.monotonic()

    def returned(self, well: bool, result: object) -> None:
        self._digest = result_digest(result)
        if isinstance(result, subprocess.CompletedProcess):
            self._exit_code = result.returncode
            well = well and result.returncode == 0
        self._status = "ok" if well else "error"

    def failed(self, error: BaseException) -> None:
        # An approved call that cannot run as approved is skipped.
        self._status = "skipped" if isinstance(error, NotApproved) else "error"
        self._word = type(error).__name__
        if isinstance(error, subprocess.CalledProcessError):
            self._exit_code = error.returncode

    def outcome(self) -> Outcome:
        took = since(self._start)
        return Outcome(self._status, self._word, self._exit_code, took, self._digest)


def since(start: float) -> int:
    """The time since ``start`` in milliseconds; the daemon accepts at most a week."""
    return min(round((time.monotonic() - start) * 1000), 7 * 24 * 3_600_000)


def result_digest(result: object) -> str | None:
    """SHA-256 in hex of a result: of a string as it is, else of its canonical JSON."""
    try:
        text = plain.encode(result, "the result")
        said = result if isinstance(result, str) else canonical(plain.exact(text))[0]
    except CountersignError:
        return None
    return hashlib.sha256(said.encode()).hexdigest()
