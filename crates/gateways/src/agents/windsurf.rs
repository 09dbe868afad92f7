//! Windsurf: its list of MCP servers. It has no hook that Countersign uses.

use crate::install::{McpClient, McpFileFormat};

pub static MCP_CLIENT: McpClient = McpClient {
    name: "windsurf",
    title: "Windsurf",
    home: &[".codeium/windsurf/mcp_config.json"],
    project: &[],
    format: McpFileFormat::STRICT_JSON,
    protocol_name: None,
    patience_seconds: McpClient::DEFAULT_PATIENCE,
};
