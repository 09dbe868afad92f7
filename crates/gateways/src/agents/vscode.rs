//! VS Code: its list of MCP servers. It has no hook that Countersign uses.

use crate::install::json::JsonSyntax;
use crate::install::{McpClient, McpFileFormat, McpTimeoutField};

pub static MCP_CLIENT: McpClient = McpClient {
    name: "vscode",
    title: "VS Code",
    home: &[".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json"],
    project: &[".vscode/mcp.json"],
    format: McpFileFormat::Json {
        under: "servers",
        syntax: JsonSyntax::Json5,
        timeout: McpTimeoutField::None,
    },
    protocol_name: None,
    patience_seconds: McpClient::DEFAULT_PATIENCE,
};
