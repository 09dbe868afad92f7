//! Grants as the people API shows and takes them.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// A standing permission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrantRecord {
    /// Its id.
    pub id: String,
    /// `exact`, `command`, `tool_call`, `action`, `targets`, `to_self`, `same_question` or
    /// `same_program`.
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
    /// What it covers, in words.
    #[serde(default)]
    pub words: Option<String>,
    /// How many calls it covers in an hour.
    #[serde(default)]
    pub per_hour: Option<u32>,
    /// When it covered a call last.
    #[serde(default)]
    pub last_used: Option<Time>,
    /// What was used of its budget, in words.
    #[serde(default)]
    pub budget_words: Vec<String>,
}

/// A new grant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewGrant {
    /// `action`, `targets`, `to_self` or `tool_call`.
    pub shape: String,
    /// The tool, unless a request says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The request whose call was shown, for `tool_call`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Conditions on arguments, such as `repository=acme/shop`, for `tool_call`.
    #[serde(rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
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
    /// How many calls it covers in an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<u32>,
    /// How much money it covers in all, such as `amount:USD:500`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend: Option<String>,
    /// How many different recipients it covers in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipients: Option<u32>,
}

/// A new grant for commands of one form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewCommandGrant {
    /// `command`.
    pub shape: &'static str,
    /// The request that it was made from.
    pub request: String,
    /// The command, with holes such as `<path>`.
    pub pattern: String,
    /// Only for this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How long it lasts, in minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// How many calls it covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
    /// How many calls it covers in an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<u32>,
}

/// The grants that can be given for a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeProposals {
    /// The request.
    pub request: String,
    /// Its agent.
    pub agent: String,
    /// The shapes, the narrowest first.
    pub shapes: Vec<ShapeProposalRecord>,
    /// Why there are none.
    #[serde(default)]
    pub why_none: Option<String>,
}

/// Commands of one form that could have a grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeProposalRecord {
    /// The commands, with holes.
    pub patterns: Vec<String>,
    /// In words.
    pub words: String,
    /// Calls above this tier are asked about.
    pub tier: String,
    /// What it would have covered before.
    pub also_allows: AlsoAllows,
}

/// What a grant would have covered of the calls that people answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlsoAllows {
    /// How many that people approved.
    pub approved: u32,
    /// How many that people denied.
    pub denied: u32,
    /// Some of them, the denied ones first.
    pub examples: Vec<AllowedExample>,
}

/// A command that people answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedExample {
    /// Its request.
    pub request: String,
    /// The command.
    pub command: String,
    /// Whether people denied it.
    pub denied: bool,
    /// When it was asked.
    pub at: Time,
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

/// All suggestions of grants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantSuggestionList {
    /// Calls that people approved many times in a row.
    pub suggestions: Vec<GrantSuggestionRecord>,
    /// Commands of one form that people approved many times in a row.
    #[serde(default)]
    pub forms: Vec<FormSuggestionRecord>,
}

/// Commands of one form that people approved many times in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormSuggestionRecord {
    /// The newest approved request.
    pub request: String,
    /// How often people approved commands of the form.
    pub approvals: u32,
    /// The agent.
    pub agent: String,
    /// The commands with holes.
    pub pattern: String,
    /// The approved commands.
    pub commands: Vec<String>,
    /// When the newest was asked.
    pub last: Time,
    /// The shape, and what it would have covered before.
    #[serde(flatten)]
    pub shape: ShapeProposalRecord,
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
    /// A request for the call, from which the grant takes its text.
    pub request: String,
    /// Only for this agent.
    pub agent: String,
    /// How long it lasts, in minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
}
