"""https to a real daemon: only the pinned key or the given authority is believed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from conftest import SETTINGS, DaemonFixture

from countersign import (
    AsyncClient,
    BadInput,
    Call,
    CertificateRefused,
    Client,
    CountersignError,
    Endpoint,
    Untrusted,
    tls,
)

MAIL = Call(tool="send_email", arguments={"to": "ana@example.com"}, description="The notes")
WITH_TLS = SETTINGS.replace("[listen]\n", "[listen]\ntls = true\n")

Ask = Callable[[str, DaemonFixture], object]


def ask_blocking(address: str, key: DaemonFixture) -> object:
    return Client(address, key.token, daemon_key=key.key_file).ask(MAIL)


def ask_on_a_loop(address: str, key: DaemonFixture) -> object:
    return asyncio.run(AsyncClient(address, key.token, daemon_key=key.key_file).ask(MAIL))


@pytest.fixture(params=[ask_blocking, ask_on_a_loop])
def ask(request: pytest.FixtureRequest) -> Ask:
    """The same operation, by each client."""
    found: Ask = request.param
    return found


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonFixture]:
    fixture = DaemonFixture(tmp_path_factory.mktemp("tls"), WITH_TLS)
    yield fixture
    fixture.stop()


@pytest.fixture(scope="module")
def impostor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonFixture]:
    """Another daemon: the same names in its certificate, another key."""
    fixture = DaemonFixture(tmp_path_factory.mktemp("impostor"), WITH_TLS)
    yield fixture
    fixture.stop()


def test_a_person_approves_over_https(ask: Ask, gate: DaemonFixture) -> None:
    certificate = gate.folder / "state/tls.crt"
    for trust in (gate.pin, f"ca:{certificate}"):
        with gate.answering("approve"):
            assert ask(f"https://{gate.agents}#{trust}", gate)


def test_another_key_is_refused_and_hears_nothing(
    ask: Ask, gate: DaemonFixture, impostor: DaemonFixture
) -> None:
    before = impostor.kept()
    certificate = gate.folder / "state/tls.crt"
    for trust in (gate.pin, f"ca:{certificate}"):
        with pytest.raises(CertificateRefused, match="nothing was sent"):
            ask(f"https://{impostor.agents}#{trust}", gate)
    assert impostor.kept() == before


@pytest.mark.parametrize(("days", "why"), [(500, "expired"), (-500, "not valid yet")])
def test_a_certificate_outside_its_validity_is_refused(
    ask: Ask, gate: DaemonFixture, monkeypatch: pytest.MonkeyPatch, days: int, why: str
) -> None:
    at = datetime.now(timezone.utc) + timedelta(days=days)
    monkeypatch.setattr(tls, "_now", lambda: at)
    with pytest.raises(CertificateRefused, match=why):
        ask(f"https://{gate.agents}#{gate.pin}", gate)


def test_the_right_certificate_does_not_replace_the_daemon_s_signature(
    gate: DaemonFixture, impostor: DaemonFixture
) -> None:
    address = f"https://{impostor.agents}#{impostor.pin}"
    client = Client(address, impostor.token, daemon_key=gate.key_file)
    with impostor.answering("approve"), pytest.raises(Untrusted):
        client.ask(MAIL)


def test_plain_http_to_a_tls_port_fails(gate: DaemonFixture) -> None:
    with pytest.raises(CountersignError):
        Client(gate.agents, gate.token, daemon_key=gate.key_file).submit(MAIL)


def test_an_https_address_must_name_what_is_trusted(gate: DaemonFixture) -> None:
    for bad in ("", "#", "#none", "#sha256:00", "#ca:relative.pem"):
        with pytest.raises(BadInput, match="countersign keys tls"):
            Endpoint.parse(f"https://127.0.0.1:6000{bad}")
    with pytest.raises(BadInput):
        Endpoint.parse(f"http://127.0.0.1:6000#{gate.pin}")


def test_a_ca_file_that_others_can_change_is_refused(gate: DaemonFixture, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text((gate.folder / "state/tls.crt").read_text())
    file.chmod(0o666)
    with pytest.raises(BadInput, match="other users can change"):
        ask_blocking(f"https://{gate.agents}#ca:{file}", gate)
