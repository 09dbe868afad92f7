"""A real MCP server with one tool that deletes a file, over standard input and output."""

import os

from mcp.server.fastmcp import FastMCP

server = FastMCP("files")


@server.tool()
def delete(path: str) -> str:
    """Deletes a file."""
    os.remove(path)
    return "deleted"


if __name__ == "__main__":
    server.run()
