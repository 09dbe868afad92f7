"""HTTP/1.1 as far as it is needed: one exchange a connection, bounded in size and time.

What is said and how an answer is read is the same for both clients; only who waits differs.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

from . import plain
from .door import Door
from .errors import BadInput, CountersignError, Unexpected, Unreachable, problem

#: How long an ordinary exchange may take, in seconds.
USUAL = 30.0
_CONNECT = 5.0
#: How long a caller who gives up waits for the answer to a question that is on its way.
_LATE = 1.0
_LONGEST_HEAD = 64 << 10
_LONGEST_ANSWER = 64 << 20
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_PIECE = 64 << 10


@dataclass(frozen=True)
class Exchange:
    """What is asked."""

    method: str
    path: str
    body: str | None = None
    key: str | None = None
    #: How long the whole exchange may take, in seconds.
    patience: float = USUAL


@dataclass(frozen=True)
class Pause:
    """Nothing is asked for so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    content_type: str
    text: str


_T = TypeVar("_T")
#: A conversation: it yields what is to be done next and is sent what came of it.
Steps = Generator["Exchange | Pause", "Answer | None", _T]


def drive(steps: Steps[_T], door: Door, token: str | None) -> _T:
    """Carries a conversation out, waiting here."""
    answer: Answer | None = None
    failure: CountersignError | None = None
    while True:
        try:
            step = steps.throw(failure) if failure else steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        answer = failure = None
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            continue
        try:
            answer = _exchange(door, token, step)
        except CountersignError as error:
            failure = error


async def drive_async(steps: Steps[_T], door: Door, token: str | None) -> _T:
    """Carries a conversation out while other tasks run."""
    answer: Answer | None = None
    failure: CountersignError | None = None
    while True:
        try:
            step = steps.throw(failure) if failure else steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        answer = failure = None
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            continue
        # A task of its own: `wait_for` of older Pythons may lose that we were cancelled.
        exchange = asyncio.ensure_future(_exchange_async(door, token, step))
        try:
            await asyncio.wait({exchange})
        except asyncio.CancelledError:
            await _hear_out(exchange, steps if step.method == "POST" else None)
            raise
        try:
            answer = exchange.result()
        except CountersignError as error:
            failure = error


async def _hear_out(exchange: asyncio.Future[Answer], steps: Steps[_T] | None) -> None:
    """A question may have arrived all the same: who takes it back needs its name."""
    try:
        if steps is not None:
            await asyncio.wait({exchange}, timeout=_LATE)
        if steps is not None and exchange.done() and exchange.exception() is None:
            with contextlib.suppress(StopIteration, CountersignError):
                steps.send(exchange.result())
    finally:
        exchange.cancel()


def said(exchange: Exchange) -> Steps[Answer]:
    """One exchange; a refusal is raised."""
    answer = yield exchange
    if answer is None:
        raise Unexpected("there is none")
    if answer.status in (200, 201, 202, 204):
        return answer
    if answer.content_type == "application/problem+json":
        document = plain.decode(answer.text)
        if isinstance(document, dict) and document.get("status") == answer.status:
            raise problem(document)
    raise Unexpected(f"status {answer.status} without a reason")


def _exchange(door: Door, token: str | None, exchange: Exchange) -> Answer:
    until = time.monotonic() + exchange.patience
    question = _question(door, token, exchange)
    sent = False
    try:
        with _open(door, min(_CONNECT, exchange.patience)) as wire:
            sent = True
            wire.settimeout(_left(until))
            wire.sendall(question)
            reading = Reading()
            while True:
                wire.settimeout(_left(until))
                answer = reading.feed(wire.recv(_PIECE))
                if answer is not None:
                    return answer
    except OSError as error:
        raise Unreachable(str(door), _why(error), sent=sent) from None


def _open(door: Door, patience: float) -> socket.socket:
    if not door.path:
        return socket.create_connection((door.host, door.port), patience)
    wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        wire.settimeout(patience)
        wire.connect(door.path)
    except BaseException:
        wire.close()
        raise
    return wire


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("it took too long")
    return left


async def _exchange_async(door: Door, token: str | None, exchange: Exchange) -> Answer:
    question = _question(door, token, exchange)
    sent = False
    try:
        opening = (
            asyncio.open_unix_connection(door.path)
            if door.path
            else asyncio.open_connection(door.host, door.port)
        )
        reader, writer = await asyncio.wait_for(opening, min(_CONNECT, exchange.patience))
        sent = True
        try:
            return await asyncio.wait_for(_heard(reader, writer, question), exchange.patience)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
    except (OSError, asyncio.TimeoutError) as error:
        raise Unreachable(str(door), _why(error), sent=sent) from None


async def _heard(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, question: bytes
) -> Answer:
    writer.write(question)
    await writer.drain()
    reading = Reading()
    while True:
        answer = reading.feed(await reader.read(_PIECE))
        if answer is not None:
            return answer


def _why(error: BaseException) -> str:
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return "it took too long"
    return str(error) or type(error).__name__


def _question(door: Door, token: str | None, exchange: Exchange) -> bytes:
    for value in (exchange.path, token, exchange.key):
        if value is not None and not _VISIBLE.fullmatch(value):
            raise BadInput("an address, token or key holds a character it cannot")
    lines = [
        f"{exchange.method} {exchange.path} HTTP/1.1",
        f"Host: {door.authority}",
        "Accept: application/json",
        "Connection: close",
    ]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    if exchange.key is not None:
        lines.append(f"Idempotency-Key: {exchange.key}")
    body = b"" if exchange.body is None else exchange.body.encode()
    if exchange.body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Reading:
    """An answer as it comes in."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._head: tuple[int, str, int | None] | None = None

    def feed(self, piece: bytes) -> Answer | None:
        """The answer once it is whole; an end before that is an error."""
        if not piece:
            raise ConnectionError("it hung up")
        self._bytes += piece
        if self._head is None:
            at = self._bytes.find(b"\r\n\r\n")
            if at < 0:
                if len(self._bytes) > _LONGEST_HEAD:
                    raise Unexpected("its head is too long")
                return None
            self._head = _head(bytes(self._bytes[:at]))
            del self._bytes[: at + 4]
        if len(self._bytes) > _LONGEST_ANSWER:
            raise Unexpected("it is too long")
        status, content_type, length = self._head
        body = _whole(self._bytes, length)
        if body is None:
            return None
        try:
            return Answer(status, content_type, body.decode())
        except UnicodeDecodeError:
            raise Unexpected("it is no text") from None


def _head(head: bytes) -> tuple[int, str, int | None]:
    """Status, content type and length; no length where it comes in pieces."""
    try:
        first, *lines = head.decode("ascii").split("\r\n")
    except UnicodeDecodeError:
        raise Unexpected("its head is no text") from None
    status = re.match(r"HTTP/1\.1 ([0-9]{3})(?: |$)", first)
    if status is None:
        raise Unexpected("this is not HTTP/1.1")
    length: int | None = None
    chunked = False
    content_type = ""
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise Unexpected("a header has no name")
        name, value = name.lower(), value.strip()
        if name == "content-length":
            if length is not None or not re.fullmatch(r"[0-9]{1,18}", value):
                raise Unexpected("its length is no number")
            length = int(value)
        elif name == "transfer-encoding" and value.lower() == "chunked" and not chunked:
            chunked = True
        elif name in ("transfer-encoding", "content-encoding"):
            raise Unexpected("it is encoded in a way that was not asked for")
        elif name == "content-type":
            content_type = value.partition(";")[0].strip().lower()
    if length is None and not chunked and status[1] == "204":
        length = 0
    # A body that ends when the connection does could be cut short by anybody.
    if (length is None) != chunked:
        raise Unexpected("it does not say how long it is")
    if length is not None and length > _LONGEST_ANSWER:
        raise Unexpected("it is too long")
    return int(status[1]), content_type, length


def _whole(have: bytearray, length: int | None) -> bytes | None:
    if length is not None:
        if len(have) > length:
            raise Unexpected("it is longer than it said")
        return bytes(have) if len(have) == length else None
    body, at = bytearray(), 0
    while True:
        end = have.find(b"\r\n", at)
        if end < 0:
            return None
        size = bytes(have[at:end]).partition(b";")[0]
        if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", size):
            raise Unexpected("a piece does not say how long it is")
        at = end + 2
        count = int(size, 16)
        if len(have) < at + count + 2:
            return None
        if have[at + count : at + count + 2] != b"\r\n":
            raise Unexpected("a piece is not as long as it said")
        if count == 0:
            return bytes(body)
        body += have[at : at + count]
        at += count + 2
