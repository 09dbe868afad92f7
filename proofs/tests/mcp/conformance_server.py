"""What the conformance suite asks of a server, with the official Python SDK, over HTTP.

It need not pass everything: the suite must come to the same counts direct and through the proxy.
"""

import base64
import sys

import mcp_types as types
from mcp.server.mcpserver import Context, Image, MCPServer

DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
SOUND = base64.b64encode(b"RIFF$\x00\x00\x00WAVEfmt ").decode()

server = MCPServer("conformance", instructions="For the conformance suite.")


@server.tool()
def test_simple_text() -> str:
    """A text."""
    return "This is a simple text response for testing."


@server.tool()
def test_image_content() -> Image:
    """An image."""
    return Image(data=base64.b64decode(DOT), format="png")


@server.tool(structured_output=False)
def test_audio_content() -> list[types.AudioContent]:
    """A sound."""
    return [types.AudioContent(type="audio", data=SOUND, mime_type="audio/wav")]


def embedded():
    text = types.TextResourceContents(
        uri="test://embedded-resource", mime_type="text/plain", text="This is an embedded resource content."
    )
    return types.EmbeddedResource(type="resource", resource=text)


@server.tool(structured_output=False)
def test_embedded_resource() -> list[types.EmbeddedResource]:
    """A resource in a result."""
    return [embedded()]


@server.tool(structured_output=False)
def test_multiple_content_types() -> list[types.ContentBlock]:
    """Several kinds in a result."""
    return [
        types.TextContent(type="text", text="Multiple content types test:"),
        types.ImageContent(type="image", data=DOT, mime_type="image/png"),
        embedded(),
    ]


@server.tool()
async def test_tool_with_progress(context: Context) -> str:
    """Reports progress."""
    for step in (0, 50, 100):
        await context.report_progress(step, 100)
    return "done"


@server.tool()
def test_error_handling() -> str:
    """Fails."""
    raise ValueError("This tool intentionally returns an error for testing")


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image."""
    return base64.b64decode(DOT)


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:  # noqa: A002: the suite's name
    """A template."""
    return '{"id":"' + id + '","templateTest":true,"data":"Data for ID: ' + id + '"}'


@server.prompt()
def test_simple_prompt() -> str:
    """A prompt."""
    return "This is a simple prompt for testing."


@server.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
