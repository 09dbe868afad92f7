//! The MCP proxy: between any MCP client and any MCP server, byte for byte, `tools/call` gated.
