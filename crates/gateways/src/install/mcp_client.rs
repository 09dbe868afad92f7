//! A program that uses MCP servers: the files that list them, and how long it waits for a call.

use super::json::JsonSyntax;

/// A program that uses MCP servers.
#[derive(Debug)]
pub struct McpClient {
    /// Its name on the command line.
    pub name: &'static str,
    /// The product's name.
    pub title: &'static str,
    /// Its files below the home folder.
    pub home: &'static [&'static str],
    /// Its files below a project.
    pub project: &'static [&'static str],
    /// The format of its files.
    pub format: McpFileFormat,
    /// The start of the name that it sends in the MCP handshake, if it is known.
    pub protocol_name: Option<&'static str>,
    /// How long it waits for a call, in seconds, minus a reserve.
    pub patience_seconds: u64,
}

impl McpClient {
    /// The patience of an unknown client: less than the usual minute.
    pub const DEFAULT_PATIENCE: u64 = 55;
}

/// The format of a file that lists MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpFileFormat {
    /// JSON: an object of servers under this name; each has `command` and `args`.
    Json {
        /// The name of the object.
        under: &'static str,
        /// The JSON that the client accepts.
        syntax: JsonSyntax,
        /// Where the file says how long a call may take.
        timeout: McpTimeoutField,
    },
    /// JSON: an object of servers under `mcp`; each has a list `command`.
    CommandList,
    /// TOML: a table `[mcp_servers.NAME]` for each server.
    Toml,
}

/// Where a file says how long a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpTimeoutField {
    /// Nowhere.
    None,
    /// `timeout`, in milliseconds.
    Milliseconds,
}

impl McpFileFormat {
    /// Standard JSON with `mcpServers`.
    pub const STRICT_JSON: McpFileFormat =
        McpFileFormat::mcp_servers(JsonSyntax::Strict, McpTimeoutField::None);
    /// JSON with comments and `mcpServers`.
    pub const JSON_WITH_COMMENTS: McpFileFormat =
        McpFileFormat::mcp_servers(JsonSyntax::Comments, McpTimeoutField::None);
    /// JSON with comments, `mcpServers` and a timeout for each server.
    pub const JSON_WITH_TIMEOUT: McpFileFormat =
        McpFileFormat::mcp_servers(JsonSyntax::Comments, McpTimeoutField::Milliseconds);

    /// JSON with `mcpServers`.
    pub const fn mcp_servers(syntax: JsonSyntax, timeout: McpTimeoutField) -> McpFileFormat {
        McpFileFormat::Json { under: "mcpServers", syntax, timeout }
    }
}
