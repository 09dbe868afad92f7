//! Grants as the people API shows and takes them.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// A standing permission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrantRecord {
    /// Its id.
    pub id: String,
    /// `exact`, `action`, `targets`, `to_self`, `same_question` or `same_program`.
    pub shape: String,
    /// The tool.
    #[serde(default)]
    pub tool: Option<String>,
    /// Permitted recipients or commands.
    #[serde(default)]
    pub targets: Vec<String>,
    /// The repository of an approval for a repository.
    #[serde(default)]
    pub repository: Option<String>,
    /// The digests of the exact call.
    #[serde(default)]
    pub digest: Option<serde_json::Value>,
    /// Only for this agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// Only in this session.
    #[serde(default)]
    pub session: Option<String>,
    /// Who gave it.
    #[serde(default)]
    pub made_by: String,
    /// When.
    #[serde(default)]
    pub made_at: Option<Time>,
    /// When it expires.
    #[serde(default)]
    pub expires: Option<Time>,
    /// How many calls it may still cover.
    #[serde(default)]
    pub uses_left: Option<u32>,
    /// When it was revoked.
    #[serde(default)]
    pub revoked: Option<Time>,
}

/// A new grant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewGrant {
    /// `action`, `targets` or `to_self`.
    pub shape: String,
    /// The tool.
    pub tool: String,
    /// Permitted recipients or commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Only for this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Only in this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How long it lasts, in minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// How many calls it covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
}

/// A call that people approved many times in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantSuggestionRecord {
    /// The newest approved request for it.
    pub request: String,
    /// How often people approved it in a row.
    pub approvals: u32,
    /// The agent.
    pub agent: String,
    /// Its tier.
    pub tier: String,
    /// What it does.
    pub brief: String,
    /// The whole call.
    pub call: String,
    /// When it was asked for the first time in this row.
    pub first: Time,
    /// And the last time.
    pub last: Time,
    /// The digest of the call in its canonical form.
    pub digest: String,
    /// The digest of the call as received.
    pub raw_digest: String,
    /// Whether both digests must match.
    pub both_bind: bool,
}

/// A grant for exactly one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExactGrant {
    /// `exact`.
    pub shape: &'static str,
    /// The digest of the canonical call, in hexadecimal.
    pub digest: String,
    /// The digest of its arguments as received.
    pub raw_digest: String,
    /// Whether both must match.
    pub both_bind: bool,
    /// Only for this agent.
    pub agent: String,
    /// How long it lasts, in minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
}
