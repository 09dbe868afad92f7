//! The names that tools of MCP servers have in calls.

/// A name that fits into a path and into a tool's name.
pub fn plain_mcp_name(text: &str) -> String {
    text.chars().map(plain).take(64).collect()
}

/// The name of a server's tool in calls; hooks of the same host use the same name.
pub fn mcp_tool_name(server: &str, tool: &str) -> String {
    let tool: String = tool.chars().map(plain).collect();
    format!("mcp__{}__{tool}", plain_mcp_name(server))
}

const fn plain(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }
}
