"""Gated batches: several calls in one group, run in stages, results in order."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from .client import AsyncClient, Client, async_of, sync_of
from .errors import CountersignError, Problem
from .gate import MARK, Guarded, Question, run, run_async
from .request import Request, State
from .steps import Batch


@dataclass(frozen=True)
class BatchResult:
    """The result of one call of a batch."""

    #: What the function returned.
    value: Any = None
    #: Why the function did not run, or the exception that it raised.
    error: BaseException | None = None
    request: Request | None = None

    @property
    def ok(self) -> bool:
        """Whether the function ran and returned."""
        return self.error is None

    def unwrap(self) -> Any:
        """Returns the value, or raises the error."""
        if self.error is not None:
            raise self.error
        return self.value


_Planned = tuple[Callable[..., Any], Mapping[str, Any]]


def gate_batch(
    calls: Sequence[_Planned],
    *,
    client: Client | AsyncClient | None = None,
    timeout: float | None = None,
) -> list[BatchResult]:
    """Asks about several calls at once and runs the approved ones.

    Each call is a function (gated or not) with its named arguments. People see one group. Calls
    that may run in parallel do; the others keep their order. Results are in the order of the
    calls; a failed or denied call does not affect the others.
    """
    if not calls:
        return []
    speaker = sync_of(client)
    questions = [_planned(function, arguments, timeout) for function, arguments in calls]
    batch = speaker.plan([question.call for question in questions], timeout)

    def one(index: int) -> BatchResult:
        question, item = questions[index], batch.items[index]
        if isinstance(item, Problem):
            return BatchResult(error=item)
        try:
            clearance = speaker.settle(question.call, item)
            value = run(speaker, clearance, lambda: question.ready(clearance)())
        except Exception as error:
            return BatchResult(error=error, request=item)
        return BatchResult(value=value, request=item)

    results: dict[int, BatchResult] = {}
    try:
        for stage in batch.stages:
            with ThreadPoolExecutor(max_workers=min(16, len(stage))) as pool:
                results.update(zip(stage, pool.map(one, stage), strict=True))
    except BaseException:
        for name in _open(batch):
            with contextlib.suppress(CountersignError):
                speaker.cancel(name)
        raise
    return [results[index] for index in range(len(calls))]


async def gate_batch_async(
    calls: Sequence[_Planned],
    *,
    client: Client | AsyncClient | None = None,
    timeout: float | None = None,
) -> list[BatchResult]:
    """The same on an event loop; plain functions run in threads."""
    if not calls:
        return []
    speaker = async_of(client)
    questions = [_planned(function, arguments, timeout) for function, arguments in calls]
    batch = await speaker.plan([question.call for question in questions], timeout)

    async def one(index: int) -> BatchResult:
        question, item = questions[index], batch.items[index]
        if isinstance(item, Problem):
            return BatchResult(error=item)

        def action() -> Any:
            ready = question.ready(clearance)
            if inspect.iscoroutinefunction(question.guarded.function):
                return ready()
            return asyncio.to_thread(ready)

        try:
            clearance = await speaker.settle(question.call, item)
            value = await run_async(speaker, clearance, action)
        except Exception as error:
            return BatchResult(error=error, request=item)
        return BatchResult(value=value, request=item)

    results: dict[int, BatchResult] = {}
    try:
        for stage in batch.stages:
            results.update(zip(stage, await asyncio.gather(*map(one, stage)), strict=True))
    except BaseException:
        for name in _open(batch):
            with contextlib.suppress(CountersignError, asyncio.CancelledError):
                await asyncio.shield(speaker.cancel(name))
        raise
    return [results[index] for index in range(len(calls))]


def _open(batch: Batch) -> list[str]:
    """The pending requests, which are cancelled because the caller no longer waits."""
    found = [item for item in batch.items if isinstance(item, Request)]
    return [item.id for item in found if item.id and item.state is State.PENDING]


def _planned(
    function: Callable[..., Any], arguments: Mapping[str, Any], timeout: float | None
) -> Question:
    guarded = getattr(function, MARK, None)
    owner: tuple[Any, ...] = ()
    if not isinstance(guarded, Guarded):
        guarded = Guarded(function, function.__name__)
    elif inspect.ismethod(function):
        owner = (function.__self__,)
    if guarded.timeout is None:
        guarded = replace(guarded, timeout=timeout)
    return guarded.question(owner, arguments)
