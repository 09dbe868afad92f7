"""A stand-in for an MCP server: keeps every byte it is given, and answers by the specification.

Its tools are in the file TOOLS names; `crash` ends the process in the middle of a call, `steps`
reports progress, `never` does not answer, and a line after `say` comes back as it is.
"""

import json
import os
import sys

log = open(os.environ["LOG"], "ab", buffering=0)
out = sys.stdout.buffer
version = os.environ.get("VERSION", "2025-06-18")


def say(message):
    out.write(json.dumps(message).encode() + b"\n")
    out.flush()


def answer(message, result):
    say({"jsonrpc": "2.0", "id": message["id"], "result": result})


def tools():
    with open(os.environ["TOOLS"], encoding="utf-8") as file:
        return json.load(file)


def call(message):
    params = message["params"]
    name, arguments = params["name"], params.get("arguments", {})
    if name == "crash":
        os._exit(3)
    if name == "never":
        return
    if name == "steps":
        token = params["_meta"]["progressToken"]
        for step in (0, 1, 2):
            params = {"progressToken": token, "progress": step}
            say({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    text = {"type": "text", "text": "ran " + name + " " + json.dumps(arguments)}
    answer(message, {"content": [text], "isError": name == "fails"})


for line in sys.stdin.buffer:
    log.write(line)
    try:
        message = json.loads(line)
    except ValueError:
        continue
    if isinstance(message, list):
        results = [{"jsonrpc": "2.0", "id": one["id"], "result": {}} for one in message if "id" in one]
        say(results)
        continue
    method = message.get("method")
    if method == "initialize":
        said = {"protocolVersion": version, "capabilities": {"tools": {}}}
        said["serverInfo"] = {"name": "stand-in", "version": "1"}
        answer(message, {**said, "instructions": os.environ.get("INSTRUCTIONS", "")})
    elif method == "tools/list":
        answer(message, {"tools": tools()})
    elif method == "tools/call":
        call(message)
    elif method == "test/say":
        out.write(message["params"]["line"].encode() + b"\n")
        out.flush()
    elif method == "test/changed":
        say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    elif "id" in message and method:
        answer(message, {})
