"""Permits checked offline, and digests made as the daemon makes them."""

from __future__ import annotations

import base64
import builtins
import hashlib
import json
import time
from typing import Any

import pytest
from conftest import DaemonFixture
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from countersign import Call, PermitError, plain, verify_permit
from countersign.canon import canonical, digest

MAIL = Call(tool="send_email", arguments={"to": "ana@example.com", "n": 1.0}, cwd="/srv")

HARD: list[dict[str, Any]] = [
    {},
    {"a": [1, 1.5, -0.0, 0, 1e21, 1e-7, 1e20, 123456789.125, 5e-324, 1.7976931348623157e308]},
    {"big": 9007199254740993, "held": 9007199254740992, "huge": 10**40, "minus": -(10**30) - 1},
    {"\ue000": 1, "\U0001f600": 2, "z": 3, "é": 4, "": 5},
    {"text": '"\\\b\f\n\r\t\x00\x1f\x7f\u2028\U0001f600'},
    {"deep": {"b": [True, False, None, {"x": []}], "a": {}}},
    {"small": 0.1, "third": 1 / 3, "exp": 1.5e300, "neg": -2.5e-10, "point": 100000.5},
]


@pytest.fixture(scope="module")
def permit(running_daemon: DaemonFixture) -> str:
    client = running_daemon.client()
    with running_daemon.answering("approve"):
        found = client.ask(MAIL).permit
    assert found is not None
    return found


@pytest.mark.parametrize("arguments", HARD)
def test_digests_equal_the_daemons(
    running_daemon: DaemonFixture, arguments: dict[str, Any]
) -> None:
    for call in [
        Call(tool="read_file", arguments=arguments),
        Call(tool="read_file", arguments=arguments, cwd="/tmp/é", environment="production"),
    ]:
        assessed = running_daemon.client().assess(call)
        found = digest(call, "py")
        assert found.canonical == assessed["digest"]
        assert found.raw == assessed["raw_digest"]
        assert found.both_bind == assessed["both_bind"]


def test_the_digest_of_a_command_equals_the_daemons(running_daemon: DaemonFixture) -> None:
    call = Call(command='echo "é" > x')
    assert digest(call, "py").canonical == running_daemon.client().assess(call)["digest"]


@pytest.mark.parametrize(
    "written", ["1e400", "0.30000000000000001", "1E+2", "-0", "12e-1", "1e99999999999999999999"]
)
def test_numbers_are_written_as_the_program_writes_them(
    running_daemon: DaemonFixture, written: str
) -> None:
    # Python cannot hold some of these, so they are asked about as text.
    call = Call(tool="read_file", arguments={})
    object.__setattr__(call, "arguments_text", f'{{"n":{written}}}')
    assert digest(call, "py").canonical == running_daemon.client().assess(call)["digest"]


def test_a_permit_is_valid_for_its_call_only(running_daemon: DaemonFixture, permit: str) -> None:
    keys = running_daemon.client().jwks()
    claims = verify_permit(permit, keys, MAIL, agent="py")
    assert (claims["sub"], claims["tool"], claims["decided_by"]) == ("py", "send_email", "owner")
    same = Call(tool="send_email", arguments={"n": 1, "to": "ana@example.com"}, cwd="/srv")
    assert verify_permit(permit, keys, same, agent="py")
    other = Call(tool="send_email", arguments={"to": "eve@example.com", "n": 1.0}, cwd="/srv")
    elsewhere = Call(tool="send_email", arguments=dict(MAIL.arguments), cwd="/etc")
    for call in (other, elsewhere):
        with pytest.raises(PermitError, match="another call"):
            verify_permit(permit, keys, call, agent="py")
    with pytest.raises(PermitError):
        verify_permit(permit, keys, MAIL, agent="eve")


def test_a_permit_is_valid_until_it_expires(running_daemon: DaemonFixture, permit: str) -> None:
    keys = running_daemon.client().jwks()
    with pytest.raises(PermitError, match="expired"):
        verify_permit(permit, keys, MAIL, agent="py", now=time.time() + 3600)
    with pytest.raises(PermitError, match="not valid yet"):
        verify_permit(permit, keys, MAIL, agent="py", now=time.time() - 3600)


def test_no_changed_character_is_accepted(running_daemon: DaemonFixture, permit: str) -> None:
    keys = running_daemon.client().jwks()
    for at in range(0, len(permit), 3):
        for letter in "A-.=\n":
            if letter == permit[at]:
                continue
            with pytest.raises(PermitError):
                verify_permit(permit[:at] + letter + permit[at + 1 :], keys, MAIL, agent="py")
    for bad in ["", ".", "a.b.c", permit + "\n", permit + "=", permit[:-1], permit + ".x"]:
        with pytest.raises(PermitError):
            verify_permit(bad, keys, MAIL, agent="py")


def test_only_trusted_keys_are_accepted(running_daemon: DaemonFixture, permit: str) -> None:
    keys = json.loads(running_daemon.client().jwks())
    with pytest.raises(PermitError):
        verify_permit(permit, '{"keys":[]}', MAIL, agent="py")
    other = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
    with pytest.raises(PermitError, match="signature"):
        verify_permit(permit, json.dumps({"keys": [other]}), MAIL, agent="py")
    swapped = {**other, "kid": keys["keys"][0]["kid"]}
    with pytest.raises(PermitError, match="another key's id"):
        verify_permit(permit, json.dumps({"keys": [swapped]}), MAIL, agent="py")
    for bad in ["", "[]", '{"keys":3}', '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]}']:
        with pytest.raises(PermitError):
            verify_permit(permit, bad, MAIL, agent="py")


OURS = Ed25519PrivateKey.from_private_bytes(bytes([7]) * 32)


def packed(part: str | bytes) -> str:
    text = part.encode() if isinstance(part, str) else part
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def our_keys() -> tuple[str, str]:
    """A key set with a key of our own, and its id."""
    x = packed(OURS.public_key().public_bytes_raw())
    key = {"crv": "Ed25519", "kty": "OKP", "x": x}
    least = json.dumps(key, separators=(",", ":"))
    kid = packed(hashlib.sha256(least.encode()).digest())
    return json.dumps({"keys": [{**key, "kid": kid}]}), kid


def signed(header: str, payload: str) -> str:
    """A token with any words, properly signed."""
    message = f"{packed(header)}.{packed(payload)}"
    return f"{message}.{packed(OURS.sign(message.encode()))}"


def test_a_valid_signature_on_other_claims_is_rejected() -> None:
    keys, kid = our_keys()
    header = {"alg": "EdDSA", "kid": kid, "typ": "countersign-permit+jwt"}
    bound = digest(MAIL, "py")
    claims: dict[str, Any] = {
        "both_bind": False,
        "channel": "web",
        "decided_by": "ana",
        "digest": bound.canonical,
        "exp": 200,
        "iat": 100,
        "iss": "countersign",
        "jti": "p",
        "policy": "0" * 64,
        "raw_digest": bound.raw,
        "request": "r",
        "sub": "py",
        "tier": "HIGH",
        "tool": "send_email",
    }

    def written(value: dict[str, Any]) -> str:
        return json.dumps(value, separators=(",", ":"), sort_keys=True)

    def accepted(head: str, body: str, **more: Any) -> bool:
        try:
            verify_permit(signed(head, body), keys, MAIL, agent="py", now=150, **more)
        except PermitError:
            return False
        return True

    good = written(claims)
    assert accepted(written(header), good)
    heads: list[dict[str, Any]] = [
        {"alg": "none"},
        {"alg": "HS256"},
        {"typ": "JWT"},
        {"kid": "other"},
        {"crit": ["x"]},
    ]
    for change in heads:
        assert not accepted(written({**header, **change}), good), change
    assert not accepted(json.dumps(header), good)
    bodies: list[dict[str, Any]] = [
        {"sub": "eve"},
        {"digest": "1" * 64},
        {"both_bind": True, "raw_digest": "1" * 64},
        {"both_bind": 0},
        {"exp": 150},
        {"exp": "200"},
        {"exp": 200.5},
        {"iat": 151},
        {"exp": 90, "iat": 100},
        {"tier": "NONE"},
        {"more": 1},
        {"grant": None},
    ]
    for change in bodies:
        assert not accepted(written(header), written({**claims, **change})), change
    for missing in claims:
        less = {name: value for name, value in claims.items() if name != missing}
        assert not accepted(written(header), written(less)), missing
    # The same in other bytes, and the same key twice.
    assert not accepted(written(header), json.dumps(claims, sort_keys=True))
    assert not accepted(written(header), good[:-1] + ',"tool":"send_email"}')
    for_runner = written({**claims, "aud": "runner"})
    assert not accepted(written(header), for_runner)
    assert accepted(written(header), for_runner, audience="runner")


def test_without_cryptography_the_error_says_what_to_install(
    running_daemon: DaemonFixture, permit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = running_daemon.client().jwks()
    usual = builtins.__import__

    def poorer(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return usual(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", poorer)
    with pytest.raises(PermitError, match="pip install"):
        verify_permit(permit, keys, MAIL, agent="py")


def test_the_canonical_form_follows_rfc_8785() -> None:
    # The example of RFC 8785, section 3.2.2.
    text = (
        '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],'
        '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/",'
        '"literals":[null,true,false]}'
    )
    assert canonical(plain.exact(text))[0] == (
        '{"literals":[null,true,false],"numbers":[33333333333333329e-8,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
