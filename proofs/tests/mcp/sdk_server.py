"""A server of the official Python SDK: tools, a resource and a prompt, over stdio or HTTP."""

import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("fixture", instructions="For proofs.")


@server.tool()
def read_note(name: str) -> str:
    """Reads a note."""
    return f"note {name}"


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def send_message(to: str, text: str) -> dict[str, str]:
    """Sends a message."""
    return {"to": to, "text": text}


@server.tool()
def fails() -> str:
    """Fails."""
    raise ValueError("on purpose")


@server.tool()
async def in_steps(context: Context) -> str:
    """Reports progress."""
    for step in (1, 2, 3):
        await context.report_progress(step, 3)
    return "done"


@server.resource("note://a")
def note() -> str:
    """A note."""
    return "text"


@server.prompt()
def greet(name: str) -> str:
    """Greets."""
    return f"Hello {name}"


if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run("stdio")
