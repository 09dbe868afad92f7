"""A minimal HTTP/1.1 client: one exchange per connection, bounded in size and time.

Both clients share the encoding and the parser; only the I/O differs.
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

from . import plain, tls
from .daemon_key import KeySource, SignedExchange, check, new_nonce
from .endpoint import Endpoint
from .errors import BadInput, CountersignError, Unexpected, Unreachable, problem

#: Timeout of an ordinary exchange, in seconds.
USUAL = 30.0
_CONNECT = 5.0
#: How long a cancelled caller waits for the response to a request that was already sent.
_LATE = 1.0
_LONGEST_HEAD = 64 << 10
_LONGEST_ANSWER = 64 << 20
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_PIECE = 64 << 10


@dataclass(frozen=True)
class Exchange:
    """One HTTP request."""

    method: str
    path: str
    body: str | None = None
    key: str | None = None
    #: Timeout of the whole exchange, in seconds.
    patience: float = USUAL
    #: Whether its response lets nothing run, so that any daemon may answer.
    public: bool = False


@dataclass(frozen=True)
class Pause:
    """Wait this many seconds before the next step."""

    seconds: float


@dataclass(frozen=True)
class Answer:
    """One HTTP response."""

    status: int
    content_type: str
    text: str
    signature: str | None = None


@dataclass(frozen=True)
class Connection:
    """Where a daemon is, who asks, and which key is believed."""

    endpoint: Endpoint
    token: str | None
    key: KeySource = None
    #: Whether responses must be signed: those of the agent API are, those of the people API not.
    signed: bool = True


_T = TypeVar("_T")
#: An operation: yields the next step to carry out and is sent its result.
Steps = Generator["Exchange | Pause", "Answer | None", _T]


def drive(steps: Steps[_T], connection: Connection) -> _T:
    """Carries out an operation, blocking."""
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
            answer = _exchange(connection, step)
        except CountersignError as error:
            failure = error


async def drive_async(steps: Steps[_T], connection: Connection) -> _T:
    """Carries out an operation on the event loop."""
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
        # A separate task: `wait_for` of older Pythons may lose a cancellation.
        exchange = asyncio.ensure_future(_exchange_async(connection, step))
        try:
            await asyncio.wait({exchange})
        except asyncio.CancelledError:
            await _await_late_reply(exchange, steps if step.method == "POST" else None)
            raise
        try:
            answer = exchange.result()
        except CountersignError as error:
            failure = error


async def _await_late_reply(exchange: asyncio.Future[Answer], steps: Steps[_T] | None) -> None:
    """Waits for the response to a request that may have arrived: cancelling it needs its id."""
    try:
        if steps is not None:
            await asyncio.wait({exchange}, timeout=_LATE)
        if steps is not None and exchange.done() and exchange.exception() is None:
            with contextlib.suppress(StopIteration, CountersignError):
                steps.send(exchange.result())
    finally:
        exchange.cancel()


def said(exchange: Exchange) -> Steps[Answer]:
    """One exchange; a problem document is raised."""
    answer = yield exchange
    if answer is None:
        raise Unexpected("the response is missing")
    if answer.status in (200, 201, 202, 204):
        return answer
    if answer.content_type == "application/problem+json":
        document = plain.decode(answer.text)
        if isinstance(document, dict) and document.get("status") == answer.status:
            raise problem(document)
    raise Unexpected(f"status {answer.status} without a problem document")


def _exchange(connection: Connection, exchange: Exchange) -> Answer:
    until = time.monotonic() + exchange.patience
    endpoint, nonce = connection.endpoint, new_nonce()
    question = _encode_request(connection, exchange, nonce)
    sent = False
    try:
        with _open(endpoint, min(_CONNECT, exchange.patience)) as wire:
            sent = True
            wire.settimeout(_left(until))
            wire.sendall(question)
            reading = Reading()
            while True:
                wire.settimeout(_left(until))
                answer = reading.feed(wire.recv(_PIECE))
                if answer is not None:
                    return _checked(connection, exchange, nonce, answer)
    except OSError as error:
        raise _lost(endpoint, error, sent=sent) from None


def _open(endpoint: Endpoint, patience: float) -> socket.socket:
    """Connects. With TLS, the other end has proved its certificate when this returns."""
    if not endpoint.path:
        until = time.monotonic() + patience
        settings = tls.context(endpoint)
        wire = socket.create_connection((endpoint.host, endpoint.port), patience)
        if settings is None:
            return wire
        try:
            wire.settimeout(_left(until))
            secured = settings.wrap_socket(wire, server_hostname=endpoint.host)
        except BaseException:
            wire.close()
            raise
        try:
            tls.check_peer(endpoint, secured)
        except BaseException:
            secured.close()
            raise
        return secured
    wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        wire.settimeout(patience)
        wire.connect(endpoint.path)
    except BaseException:
        wire.close()
        raise
    return wire


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


async def _exchange_async(connection: Connection, exchange: Exchange) -> Answer:
    endpoint, nonce = connection.endpoint, new_nonce()
    question = _encode_request(connection, exchange, nonce)
    sent = False
    try:
        settings = tls.context(endpoint)
        opening = (
            asyncio.open_unix_connection(endpoint.path)
            if endpoint.path
            else asyncio.open_connection(endpoint.host, endpoint.port, ssl=settings)
        )
        reader, writer = await asyncio.wait_for(opening, min(_CONNECT, exchange.patience))
        try:
            tls.check_peer(endpoint, writer.get_extra_info("ssl_object"))
            sent = True
            reading = _read_reply(reader, writer, question)
            answer = await asyncio.wait_for(reading, exchange.patience)
            return _checked(connection, exchange, nonce, answer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
    except (OSError, asyncio.TimeoutError) as error:
        raise _lost(endpoint, error, sent=sent) from None


async def _read_reply(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, question: bytes
) -> Answer:
    writer.write(question)
    await writer.drain()
    reading = Reading()
    while True:
        answer = reading.feed(await reader.read(_PIECE))
        if answer is not None:
            return answer


def _checked(connection: Connection, exchange: Exchange, nonce: str, answer: Answer) -> Answer:
    """The response, if the pinned key signed it. Only a success can let a call run."""
    if connection.signed and not exchange.public and 200 <= answer.status < 300:
        signed = SignedExchange(
            nonce=nonce,
            method=exchange.method,
            target=exchange.path,
            credential="" if connection.token is None else f"Bearer {connection.token}",
            request=(exchange.body or "").encode(),
            status=answer.status,
            response=answer.text.encode(),
        )
        check(connection.key, signed, answer.signature)
    return answer


def _lost(endpoint: Endpoint, error: BaseException, *, sent: bool) -> CountersignError:
    return tls.refusal(endpoint, error) or Unreachable(str(endpoint), _why(error), sent=sent)


def _why(error: BaseException) -> str:
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return "timed out"
    return str(error) or type(error).__name__


def _encode_request(connection: Connection, exchange: Exchange, nonce: str) -> bytes:
    token = connection.token
    for value in (exchange.path, token, exchange.key):
        if value is not None and not _VISIBLE.fullmatch(value):
            raise BadInput("an address, token or key contains an invalid character")
    lines = [
        f"{exchange.method} {exchange.path} HTTP/1.1",
        f"Host: {connection.endpoint.authority}",
        "Accept: application/json",
        "Connection: close",
    ]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    if connection.signed:
        lines.append(f"Countersign-Nonce: {nonce}")
    if exchange.key is not None:
        lines.append(f"Idempotency-Key: {exchange.key}")
    body = b"" if exchange.body is None else exchange.body.encode()
    if exchange.body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Reading:
    """Parses a response while it arrives."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._head: _Head | None = None

    def feed(self, piece: bytes) -> Answer | None:
        """The response when it is complete; an earlier end is an error."""
        if not piece:
            raise ConnectionError("the connection was closed")
        self._bytes += piece
        if self._head is None:
            at = self._bytes.find(b"\r\n\r\n")
            if at < 0:
                if len(self._bytes) > _LONGEST_HEAD:
                    raise Unexpected("the headers are too long")
                return None
            self._head = _head(bytes(self._bytes[:at]))
            del self._bytes[: at + 4]
        if len(self._bytes) > _LONGEST_ANSWER:
            raise Unexpected("the body is too long")
        head = self._head
        body = _whole(self._bytes, head.length)
        if body is None:
            return None
        try:
            return Answer(head.status, head.content_type, body.decode(), head.signature)
        except UnicodeDecodeError:
            raise Unexpected("the body is not UTF-8") from None


@dataclass(frozen=True)
class _Head:
    """The head of a response; no length for a chunked body."""

    status: int
    content_type: str
    length: int | None
    signature: str | None


def _head(head: bytes) -> _Head:
    try:
        first, *lines = head.decode("ascii").split("\r\n")
    except UnicodeDecodeError:
        raise Unexpected("the headers are not ASCII") from None
    status = re.match(r"HTTP/1\.1 ([0-9]{3})(?: |$)", first)
    if status is None:
        raise Unexpected("the response is not HTTP/1.1")
    length: int | None = None
    chunked = False
    content_type = ""
    signature: str | None = None
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise Unexpected("invalid header")
        name, value = name.lower(), value.strip()
        if name == "content-length":
            if length is not None or not re.fullmatch(r"[0-9]{1,18}", value):
                raise Unexpected("invalid Content-Length")
            length = int(value)
        elif name == "transfer-encoding" and value.lower() == "chunked" and not chunked:
            chunked = True
        elif name in ("transfer-encoding", "content-encoding"):
            raise Unexpected("unsupported encoding")
        elif name == "content-type":
            content_type = value.partition(";")[0].strip().lower()
        elif name == "countersign-signature":
            if signature is not None:
                raise Unexpected("the response has two signatures")
            signature = value
    if length is None and not chunked and status[1] == "204":
        length = 0
    # A body that ends with the connection could be truncated without notice.
    if (length is None) != chunked:
        raise Unexpected("the length of the body is missing")
    if length is not None and length > _LONGEST_ANSWER:
        raise Unexpected("the body is too long")
    return _Head(int(status[1]), content_type, length, signature)


def _whole(have: bytearray, length: int | None) -> bytes | None:
    if length is not None:
        if len(have) > length:
            raise Unexpected("the body is longer than Content-Length")
        return bytes(have) if len(have) == length else None
    body, at = bytearray(), 0
    while True:
        end = have.find(b"\r\n", at)
        if end < 0:
            return None
        size = bytes(have[at:end]).partition(b";")[0]
        if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", size):
            raise Unexpected("invalid chunk size")
        at = end + 2
        count = int(size, 16)
        if len(have) < at + count + 2:
            return None
        if have[at + count : at + count + 2] != b"\r\n":
            raise Unexpected("invalid chunk")
        if count == 0:
            return bytes(body)
        body += have[at : at + count]
        at += count + 2
