//! MCP servers and the labels of their tools.

use countersign_json::canonical::Digest;
use countersign_risk::tool_label::ToolLabel;
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use serde::{Deserialize, Serialize};

/// An MCP server as a gateway listed it. Its texts are the server's own, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredServer {
    /// From the digest of its name and its command or URL.
    pub id: Id,
    /// The name under which the agent calls it.
    pub name: String,
    /// Its command or URL.
    pub address: String,
    /// Its tools that the catalogue does not describe; not more than are stored.
    pub tools: Vec<ListedTool>,
    /// How many tools the server listed in all.
    pub tool_count: u32,
    /// When it was first listed.
    pub first_seen: Timestamp,
    /// When it was last listed.
    pub last_seen: Timestamp,
    /// When a tool without a label was first called.
    pub called: Option<Timestamp>,
}

/// A tool as its server lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedTool {
    /// Its name.
    pub name: String,
    /// What the server says about it; cut.
    pub description: String,
    /// The digest of its whole definition.
    pub definition: Digest,
    /// The label that its definition suggests.
    pub suggestion: Option<ToolLabel>,
    /// Whether its name or description has hidden or deceptive characters.
    pub deceptive: bool,
}

/// All labels of the tools of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLabels {
    /// The server.
    pub server: Id,
    /// The labels, the oldest first.
    pub labels: Vec<LabelledTool>,
    /// Who changed them last.
    pub person: String,
    /// When.
    pub at: Timestamp,
}

/// The label of one tool, for exactly one definition of the tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelledTool {
    /// The tool.
    pub tool: String,
    /// The digest of the definition that the person saw.
    pub definition: Digest,
    /// The label.
    pub label: ToolLabel,
}
