//! The MCP proxy: between any MCP client and any MCP server, byte for byte, `tools/call` gated.

mod judge;
mod message;
mod pins;
mod scan;
mod tools;
mod words;
