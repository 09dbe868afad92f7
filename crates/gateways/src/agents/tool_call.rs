//! The tool call that a stand-in model proposes.

use serde_json::Value;

/// The call that the model proposes.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelToolCall {
    /// The tool's name in the agent's request.
    pub tool: String,
    /// The namespace of the tool, if the agent gives each MCP server one.
    pub namespace: Option<String>,
    /// Its arguments: an object.
    pub arguments: Value,
}

impl ModelToolCall {
    /// A call of one of the agent's own tools.
    pub fn built_in(tool: &str, arguments: Value) -> ModelToolCall {
        ModelToolCall { tool: tool.to_owned(), namespace: None, arguments }
    }
}
