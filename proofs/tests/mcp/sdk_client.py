"""A client of the official Python SDK: does everything it can, prints what came back.

sdk_client.py MODE stdio COMMAND… | sdk_client.py MODE http URL
"""

import asyncio
import json
import sys

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client


def plain(value):
    return json.loads(value.model_dump_json(by_alias=True))


async def attempt(said, name, what):
    try:
        said[name] = plain(await what)
    except Exception as error:  # noqa: BLE001: what fails must fail alike
        said[name] = type(error).__name__ + ": " + str(error)[:200]


async def main():
    mode, how, *rest = sys.argv[1:]
    if how == "stdio":
        reached = stdio_client(StdioServerParameters(command=rest[0], args=rest[1:]))
    else:
        reached = rest[0]
    said = {}
    steps = []

    async def progress(value, total, message):
        steps.append(value)

    async with Client(reached, mode=mode) as client:
        said["version"] = client.protocol_version
        await attempt(said, "tools", client.list_tools())
        await attempt(said, "resources", client.list_resources())
        await attempt(said, "prompts", client.list_prompts())
        await attempt(said, "resource", client.read_resource("note://a"))
        await attempt(said, "prompt", client.get_prompt("greet", {"name": "bo"}))
        await attempt(said, "read", client.call_tool("read_note", {"name": "a"}))
        await attempt(said, "add", client.call_tool("add", {"a": 2, "b": 3}))
        await attempt(said, "send", client.call_tool("send_message", {"to": "bo", "text": "hi"}))
        await attempt(said, "fails", client.call_tool("fails", {}))
        await attempt(said, "wrong", client.call_tool("add", {"a": "x"}))
        await attempt(said, "unknown", client.call_tool("no_such_tool", {}))
        await attempt(said, "steps", client.call_tool("in_steps", {}, progress_callback=progress))
        many = [client.call_tool("send_message", {"to": str(n), "text": "x"}) for n in range(10)]
        said["many"] = [plain(one) for one in await asyncio.gather(*many)]
    said["progress"] = [step for step in steps if step >= 1]
    print(json.dumps(said, sort_keys=True))


asyncio.run(main())
