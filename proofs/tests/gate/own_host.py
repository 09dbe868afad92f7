"""The agent's host and a person, in the proof of a gate on another host.

Argument: `person`, `decide`, `ask` or `attack`. Standard input holds one JSON object; standard output
gets another one.
"""

import asyncio
import base64
import http.client
import json
import socket
import ssl
import sys
import threading
import time

given = json.load(sys.stdin)
sys.path.insert(0, given["sdk"])

from countersign import AsyncClient, Call, Client, CountersignError  # noqa: E402

AGENTS, PEOPLE = ("10.77.0.1", 6000), ("10.77.0.1", 6001)
PINNED = f"https://10.77.0.1:6000#{given['pin']}"


def trusted():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(given["certificate"])
    return context


def unchecked():
    """What an attacker uses: it trusts everything."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def request(place, method, path, body=None, token=None, step_up=None, host=None, context=None):
    """The status and the JSON of a response."""
    connection = http.client.HTTPSConnection(*place, timeout=20, context=context or trusted())
    headers = {} if body is None else {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if step_up:
        proof = base64.urlsafe_b64encode(step_up.encode()).decode().rstrip("=")
        headers["X-Countersign-Step-Up"] = f"passphrase {proof}"
    if host:
        headers["Host"] = host
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read()
    try:
        return answer.status, json.loads(text)
    except ValueError:
        return answer.status, None


def mail(number):
    return Call(tool="send_message", arguments={"to": "bo@example.org", "text": f"Report {number}"})


def client(address):
    return Client(address, given["token"], daemon_key=given["key"])


def person():
    login = {"name": "owner", "passphrase": given["passphrase"], "channel": "terminal"}
    owner = request(PEOPLE, "POST", "/v1/login", login)[1]["token"]
    made = request(
        PEOPLE, "POST", "/v1/agents", {"name": "remote"}, owner, step_up=given["passphrase"]
    )
    return {"owner": owner, "token": made[1]["token"]}


def decide():
    """Approves requests until so many are approved."""
    approved, until = [], time.monotonic() + 60
    while len(approved) < given["count"] and time.monotonic() < until:
        status, page = request(PEOPLE, "GET", "/v1/requests?state=pending", token=given["owner"])
        for found in page["requests"]:
            said = {"choice": "approve", "digest": found["digest"], "word": found["phrase"]}
            said["reason"] = "as planned"
            path = f"/v1/requests/{found['id']}/decision"
            status, _ = request(PEOPLE, "POST", path, said, given["owner"])
            if status == 200:
                approved.append(found["id"])
        time.sleep(0.05)
    return {"approved": approved}


def ask():
    blocking = client(PINNED).ask(mail(1))
    asynchronous = AsyncClient(PINNED, given["token"], daemon_key=given["key"])
    awaited = asyncio.run(asynchronous.ask(mail(2)))
    named = client(f"https://10.77.0.1:6000#ca:{given['certificate']}").ask(mail(3))
    return {
        "blocking": blocking.decided_by,
        "asynchronous": awaited.decided_by,
        "with a CA file": named.decided_by,
    }


class Impostor:
    """A TLS server with a certificate; it forwards to the gate whatever it can read."""

    def __init__(self, certificate, key, port):
        self.heard = b""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.listener = socket.create_server(("10.77.0.2", port))
        self.place = f"10.77.0.2:{port}"
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            plain, _ = self.listener.accept()
            threading.Thread(target=self.forward, args=(plain,), daemon=True).start()

    def forward(self, plain):
        try:
            inside = self.context.wrap_socket(plain, server_side=True)
            outside = unchecked().wrap_socket(socket.create_connection(AGENTS))
            data = inside.recv(65536)
            self.heard += data
            # The gate would refuse the impostor's own name.
            outside.sendall(data.replace(self.place.encode(), b"10.77.0.1:6000"))
            while data := outside.recv(65536):
                inside.sendall(data)
        except OSError:
            plain.close()


def believed(act):
    """Whether an attempt succeeded: "believed", or why it did not."""
    try:
        result = act()
    except (OSError, CountersignError, http.client.HTTPException) as error:
        return f"refused: {error}"
    return "believed" if result else "refused"


def plain_http(place):
    wire = socket.create_connection(place, timeout=20)
    wire.sendall(b"GET /health HTTP/1.1\r\nHost: 10.77.0.1:6000\r\nConnection: close\r\n\r\n")
    return wire.recv(4096).startswith(b"HTTP/1.1 2")


def old_version():
    context = unchecked()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return request(AGENTS, "GET", "/health", context=context)[0]


def answered(*how, **more):
    """Whether the gate did what was asked."""
    return request(*how, **more)[0] < 400


def attack():
    pending = client(PINNED).submit(mail(9))
    decision = {"choice": "approve", "digest": pending.digest, "word": pending.phrase}
    decision["reason"] = "mine"
    path, token = f"/v1/requests/{pending.id}/decision", given["token"]
    impostors = {
        "the right name with another key": Impostor(*given["impostor"], 7000),
        "the right key in an expired certificate": Impostor(*given["expired"], 7001),
    }
    results = {}
    for name, server in impostors.items():
        for how, trust in (("a pin", given["pin"]), ("a CA file", f"ca:{given['certificate']}")):
            address = f"https://{server.place}#{trust}"
            results[f"{name}, {how}"] = believed(lambda: client(address).ask(mail(1)))
            loop = AsyncClient(address, token, daemon_key=given["key"])
            results[f"{name}, {how}, on a loop"] = believed(lambda: asyncio.run(loop.ask(mail(1))))
    attempts = {
        "plain HTTP to the agent API": lambda: plain_http(AGENTS),
        "plain HTTP to the people API": lambda: plain_http(PEOPLE),
        "plain HTTP with the SDK": lambda: client("http://10.77.0.1:6000").submit(mail(1)),
        "TLS 1.2": old_version,
        "another host at the agent API": lambda: answered(
            AGENTS, "GET", "/v1/requests", token=token, host="evil.example"
        ),
        "another host at the people API": lambda: answered(
            PEOPLE, "GET", "/health", host="evil.example"
        ),
        "the people API without a credential": lambda: answered(PEOPLE, "GET", "/v1/requests"),
        "the people API as the agent": lambda: answered(
            PEOPLE, "GET", "/v1/requests", token=token
        ),
        "a decision as the agent": lambda: answered(PEOPLE, "POST", path, decision, token),
        "a decision without a credential": lambda: answered(PEOPLE, "POST", path, decision),
        "a decision at the agent API": lambda: answered(AGENTS, "POST", path, decision, token),
        "a guessed passphrase": lambda: answered(
            PEOPLE,
            "POST",
            "/v1/login",
            {"name": "owner", "passphrase": "guess", "channel": "terminal"},
        ),
    }
    results.update((name, believed(act)) for name, act in attempts.items())
    state = client(PINNED).get(pending.id).state
    heard = {name: len(server.heard) for name, server in impostors.items()}
    if given.get("serve"):
        # The hook is tried against the same impostors.
        print(json.dumps({"results": results, "heard": heard, "state": str(state.value)}))
        sys.stdout.flush()
        time.sleep(given["serve"])
        sys.exit(0)
    return {"results": results, "heard": heard, "state": str(state.value)}


print(json.dumps({"person": person, "decide": decide, "ask": ask, "attack": attack}[sys.argv[1]]()))
