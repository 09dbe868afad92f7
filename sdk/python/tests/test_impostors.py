"""Fake daemons that approve everything: the SDK believes none of them."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import DaemonFixture
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from countersign import AsyncClient, Call, Client, CountersignError, Untrusted, ed25519, gated
from countersign.daemon_key import DaemonKey, SignedExchange

_TIME = "2026-11-14T23:59:59.999Z"
_APPROVED = {
    "id": None, "state": "approved", "tool": "pay", "brief": None, "tier": "SAFE",
    "decision": {"result": "approved", "by": {"kind": "policy"}, "scope": "once", "channel": "",
                 "reason": "", "at": _TIME},
    "points": 0.0, "risk": 0.0, "confidence": 1.0, "phrase": "olive-tractor", "digest": "a" * 64,
    "raw_digest": "b" * 64, "both_bind": False, "agent": "py", "session": "", "group": None,
    "crisis": False, "created": _TIME, "deadline": _TIME, "level": "first",
    "quorum": {"approve": 0, "deny": 0}, "approvals": 0, "permit": None, "permit_until": None,
    "edited_arguments": None, "redeemed": None, "reported": None, "observed": False,
}  # fmt: skip

#: Makes the signature of an answer from what the client sent.
Forgery = Callable[[SignedExchange], "str | None"]

_KEY = Ed25519PrivateKey.from_private_bytes(b"\7" * 32)
_OTHER = Ed25519PrivateKey.from_private_bytes(b"\x08" * 32)


def _public(key: Ed25519PrivateKey) -> DaemonKey:
    return DaemonKey(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))


def _signed(key: Ed25519PrivateKey, exchange: SignedExchange, **changed: Any) -> str:
    signature = key.sign(SignedExchange(**{**exchange.__dict__, **changed}).text())
    return base64.urlsafe_b64encode(signature).decode().rstrip("=")


FORGERIES: dict[str, Forgery] = {
    "no signature": lambda _: None,
    "not base64": lambda _: "approved",
    "zeros": lambda _: "A" * 86,
    "another key": lambda exchange: _signed(_OTHER, exchange),
    "a replayed nonce": lambda exchange: _signed(_KEY, exchange, nonce="n" * 43),
    "another call": lambda exchange: _signed(_KEY, exchange, request=b"{}"),
    "another path": lambda exchange: _signed(_KEY, exchange, target="/v1/requests/0"),
    "another agent": lambda exchange: _signed(_KEY, exchange, credential="Bearer csa_other"),
    "another decision": lambda exchange: _signed(_KEY, exchange, response=b"denied"),
}


@contextmanager
def impostor(forgery: Forgery, path: Path | None = None) -> Iterator[str]:
    """A daemon that approves everything, on a port or on a socket."""
    if path is None:
        listener = socket.create_server(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    else:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen()
        address = f"unix:{path}"

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                _approve(connection, forgery)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield address
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _approve(connection: socket.socket, forgery: Forgery) -> None:
    stream = connection.makefile("rb")
    method, target, _ = stream.readline().decode().split(" ")
    headers: dict[str, str] = {}
    while line := stream.readline().decode().strip():
        name, _, value = line.partition(": ")
        headers[name.lower()] = value
    body = stream.read(int(headers.get("content-length", "0")))
    text = json.dumps(_APPROVED).encode()
    signature = forgery(
        SignedExchange(
            nonce=headers.get("countersign-nonce", ""),
            method=method,
            target=target,
            credential=headers.get("authorization", ""),
            request=body,
            status=200,
            response=text,
        )
    )
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n"
    if signature is not None:
        head += f"Countersign-Signature: {signature}\r\n"
    connection.sendall(head.encode() + b"\r\n" + text)


def test_the_stand_in_is_believed_with_the_pinned_key() -> None:
    # Otherwise the tests below would pass for another reason.
    with impostor(lambda exchange: _signed(_KEY, exchange)) as address:
        assert Client(address, "csa_x", daemon_key=_public(_KEY)).ask(
            Call(tool="pay", arguments={})
        )


@pytest.mark.parametrize("name", FORGERIES)
def test_no_impostor_is_believed(name: str, tmp_path: Path) -> None:
    call, key = Call(tool="pay", arguments={"amount": 5}), _public(_KEY)
    ran: list[int] = []
    for path in (None, tmp_path / "agents.sock"):
        with impostor(FORGERIES[name], path) as address:
            client = Client(address, "csa_x", daemon_key=key)
            with pytest.raises(Untrusted):
                client.ask(call)
            with pytest.raises(Untrusted):
                client.clear(call)
            with pytest.raises(Untrusted):
                asyncio.run(AsyncClient(address, "csa_x", daemon_key=key).clear(call))

            @gated(client=client)
            def pay(amount: int) -> None:
                ran.append(amount)

            with pytest.raises(CountersignError):
                pay(amount=5)
    assert ran == []


def test_no_variable_chooses_another_key(
    running_daemon: DaemonFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = tmp_path / "evil"
    evil.mkdir()
    text = base64.urlsafe_b64encode(_public(_OTHER).raw).decode().rstrip("=")
    for folder in (evil, evil / "countersign"):
        folder.mkdir(exist_ok=True)
        (folder / "daemon.pub").write_text(f"countersign-daemon-key-1 {text}\n")
    for name in ("COUNTERSIGN_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "COUNTERSIGN_KEY"):
        monkeypatch.setenv(name, str(evil))
    with impostor(FORGERIES["another key"]) as address:
        monkeypatch.setenv("COUNTERSIGN_AGENTS", address)
        with pytest.raises(Untrusted):
            Client().ask(Call(tool="pay", arguments={}))


def test_without_a_pinned_key_no_daemon_is_believed(
    running_daemon: DaemonFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(Untrusted, match="countersign keys trust"):
        Client().ask(Call(tool="bash", arguments={"command": "ls"}))
    # The key of a daemon that this user runs is found without a setting.
    own = tmp_path / "elsewhere/.local/state/countersign"
    own.mkdir(parents=True)
    (own / "daemon.pub").write_text(running_daemon.key_file.read_text())
    assert Client().ask(Call(tool="bash", arguments={"command": "ls"}))
    (own / "daemon.pub").chmod(0o664)
    with pytest.raises(Untrusted, match="other users"):
        Client().ask(Call(tool="bash", arguments={"command": "ls"}))


def test_the_vectors_of_rfc_8032() -> None:
    vectors = [
        (
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39"
            "701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f36"
            "13d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f7"
            "60984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    ]
    order = 2**252 + 27742317777372353535851937790883648493
    for key, message, signature in vectors:
        parts = bytes.fromhex(key), bytes.fromhex(message), bytes.fromhex(signature)
        assert ed25519.verify(*parts)
        assert not ed25519.verify(parts[0], parts[1] + b"x", parts[2])
        for bit in (0, 255, 256, 511):
            changed = bytearray(parts[2])
            changed[bit // 8] ^= 1 << bit % 8
            assert not ed25519.verify(parts[0], parts[1], bytes(changed))
        # The same signature with a larger scalar.
        larger = int.from_bytes(parts[2][32:], "little") + order
        assert not ed25519.verify(parts[0], parts[1], parts[2][:32] + larger.to_bytes(32, "little"))
        assert not ed25519.verify(bytes([1]) + bytes(31), parts[1], parts[2])
        assert not ed25519.verify(parts[0][:31], parts[1], parts[2])
