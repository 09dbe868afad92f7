//! What a person says that a tool of an MCP server does.

use serde::{Deserialize, Serialize};

/// The label of a tool, from the least to the most severe. A label can take away only what the
/// tool's name is guessed to mean; what the arguments say is assessed for every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolLabel {
    /// It only reads.
    Reads,
    /// It changes data.
    Changes,
    /// It sends something to people or services.
    Sends,
    /// It runs commands or code.
    Runs,
}

impl ToolLabel {
    /// Every label.
    pub const ALL: [ToolLabel; 4] =
        [ToolLabel::Reads, ToolLabel::Changes, ToolLabel::Sends, ToolLabel::Runs];

    /// The word in the API, in the ledger and on the pages.
    pub const fn word(self) -> &'static str {
        match self {
            ToolLabel::Reads => "reads",
            ToolLabel::Changes => "changes",
            ToolLabel::Sends => "sends",
            ToolLabel::Runs => "runs",
        }
    }

    /// Parses a word.
    pub fn parse(word: &str) -> Option<ToolLabel> {
        ToolLabel::ALL.into_iter().find(|label| label.word() == word)
    }
}
