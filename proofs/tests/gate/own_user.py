"""A hostile agent: tries everything that a Unix user could do to a daemon of another user.

Arguments: folder, agent API port, people API port, daemon's process id, request id, and `attack` or
`control`. Prints one JSON object: for each attempt "done" or why it failed. `control` only makes
the attempts that change nothing, to show that they succeed for the daemon's own user.
"""

import ctypes
import http.client
import json
import os
import signal
import socket
import sqlite3
import sys

folder, agents, people, daemon, request, mode = sys.argv[1:7]
agents, people, daemon = int(agents), int(people), int(daemon)
state, run = f"{folder}/state", f"{folder}/run"
libc = ctypes.CDLL(None, use_errno=True)


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(f"{run}/agents.sock")


def ask(connection, method, path, body=None):
    """The status and the JSON of an answer."""
    text = None if body is None else json.dumps(body)
    headers = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, text, headers)
    answer = connection.getresponse()
    data = answer.read()
    try:
        return answer.status, json.loads(data)
    except ValueError:
        return answer.status, None


def tcp(port):
    return http.client.HTTPConnection("127.0.0.1", port, timeout=20)


def accepted(connection, method, path, body=None):
    status, _ = ask(connection, method, path, body)
    if status >= 400:
        raise PermissionError(f"status {status}")


def read(path):
    with open(path, "rb") as file:
        file.read(1)


def write(path):
    # Opened for appending, so that a success changes nothing but is seen.
    with open(path, "ab"):
        pass


def libc_call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def trace():
    libc_call(libc.ptrace(16, daemon, 0, 0))  # PTRACE_ATTACH
    libc.ptrace(17, daemon, 0, 0)


def squat(address, port):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind((address, port))
        taken.listen()


def replace_socket():
    os.unlink(f"{run}/agents.sock")


def edit_ledger():
    store = sqlite3.connect(f"{state}/countersign.db", timeout=1)
    store.execute("create table planted (x)")


def write_memory():
    with open(f"/proc/{daemon}/mem", "r+b"):
        pass


READS = {
    "list the state folder": lambda: os.listdir(state),
    "read the signing key": lambda: read(f"{state}/signing.key"),
    "read the facts key": lambda: read(f"{state}/facts.key"),
    "read the key of responses": lambda: read(f"{state}/response.key"),
    "read the TLS key": lambda: read(f"{state}/tls.key"),
    "read the store": lambda: read(f"{state}/countersign.db"),
    "read the ledger mark": lambda: read(f"{state}/ledger.mark"),
    "read the configuration": lambda: read(f"{folder}/countersign.toml"),
    "signal the daemon": lambda: os.kill(daemon, 0),
}
decision = {"choice": "approve", "reason": "as planned"}
ATTACKS = {
    "see the daemon's environment": lambda: read(f"/proc/{daemon}/environ"),
    "list the daemon's descriptors": lambda: os.listdir(f"/proc/{daemon}/fd"),
    "read the daemon's memory": lambda: read(f"/proc/{daemon}/mem"),
    "write the daemon's memory": write_memory,
    "trace the daemon": trace,
    "pause the daemon": lambda: os.kill(daemon, signal.SIGSTOP),
    "reload the daemon": lambda: os.kill(daemon, signal.SIGHUP),
    "stop the daemon": lambda: os.kill(daemon, signal.SIGTERM),
    "kill the daemon": lambda: os.kill(daemon, signal.SIGKILL),
    "limit the daemon": lambda: libc_call(libc.setpriority(0, daemon, 19)),
    "write the configuration": lambda: write(f"{folder}/countersign.toml"),
    "replace the configuration": lambda: os.rename(
        f"{folder}/countersign.toml", f"{folder}/old.toml"
    ),
    "write the program": lambda: write(f"{folder}/bin/gate"),
    "replace the program": lambda: os.rename(f"{folder}/bin/gate", f"{folder}/bin/old"),
    "plant a program": lambda: write(f"{folder}/bin/planted"),
    "write the unit": lambda: write(f"{folder}/countersign.service"),
    "replace the unit": lambda: os.unlink(f"{folder}/countersign.service"),
    "link the signing key": lambda: os.link(f"{state}/signing.key", "/tmp/" + str(os.getpid())),
    "move the state folder": lambda: os.rename(state, f"{folder}/elsewhere"),
    "plant a recovery code": lambda: os.mkdir(f"{state}/recovery"),
    "write the store": lambda: write(f"{state}/countersign.db"),
    "edit the ledger": edit_ledger,
    "open the socket to all": lambda: os.chmod(f"{run}/agents.sock", 0o777),
    "replace the socket": replace_socket,
    "plant a file beside the socket": lambda: write(f"{run}/frozen"),
    "take over the agent port": lambda: squat("0.0.0.0", agents),
    "take over the people port": lambda: squat("127.0.0.1", people),
    "become root": lambda: os.setuid(0),
    "decide over the socket": lambda: accepted(
        UnixConnection("localhost"), "POST", f"/v1/requests/{request}/decision", decision
    ),
    "decide over the people API": lambda: accepted(
        tcp(people), "POST", f"/v1/requests/{request}/decision", decision
    ),
    "respond over the socket": lambda: accepted(
        UnixConnection("localhost"),
        "POST",
        "/respond",
        {"request_id": request, "approved": True},
    ),
    "respond over the agent API": lambda: accepted(
        tcp(agents), "POST", "/respond", {"request_id": request, "approved": True}
    ),
    "confirm without a token": lambda: accepted(
        tcp(agents), "POST", "/confirm", {"action": "send_email", "description": "x"}
    ),
    "list people": lambda: accepted(tcp(people), "GET", "/v1/people"),
    "read the ledger over the people API": lambda: accepted(tcp(people), "GET", "/v1/ledger"),
    "grant itself everything": lambda: accepted(
        tcp(people), "POST", "/v1/grants", {"tool": "terminal"}
    ),
}


def attempt(action):
    try:
        action()
        return "done"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def submit():
    """What an agent may do: ask, and read what it asked."""
    submitted = []
    for command in ("git status", "git push --force origin main"):
        call = {"tool": "terminal", "command": command}
        submitted.append(ask(UnixConnection("localhost"), "POST", "/v1/requests?wait=0", call))
    safe, risky = submitted
    found = ask(UnixConnection("localhost"), "GET", f"/v1/requests/{risky[1].get('id')}")
    return {"safe": safe, "risky": risky, "found": found}


if mode == "submit":
    print(json.dumps(submit()))
elif mode == "connect":
    status = attempt(lambda: accepted(UnixConnection("localhost"), "GET", "/health"))
    print(json.dumps({"connect": status}))
else:
    attempts = READS if mode == "control" else READS | ATTACKS
    print(json.dumps({name: attempt(action) for name, action in attempts.items()}))
