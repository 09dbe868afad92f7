//! The request document: a call, and how it stands.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// How a request stands. Any other word is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits for a person.
    Pending,
    /// It may run, once.
    Approved,
    /// It may not run.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// The agent took it back.
    Cancelled,
}

impl State {
    /// The word in documents.
    pub const fn word(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Approved => "approved",
            State::Denied => "denied",
            State::Expired => "expired",
            State::Cancelled => "cancelled",
        }
    }
}

/// A call that was asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Its name; none if nobody had to be asked.
    pub id: Option<String>,
    /// How it stands.
    pub state: State,
    /// How it ended, if it has.
    pub decision: Option<Decision>,
    /// The tool.
    pub tool: String,
    /// What would happen, in one sentence.
    pub brief: Option<String>,
    /// SAFE to CRITICAL.
    pub tier: String,
    /// 0 to 4.
    #[serde(default)]
    pub points: Option<f64>,
    /// `points / 4`.
    #[serde(default)]
    pub risk: Option<f64>,
    /// 0 to 1.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// Two words from the digest.
    pub phrase: String,
    /// Of the canonical call, in hex.
    pub digest: String,
    /// Of the arguments as they came, in hex.
    pub raw_digest: String,
    /// Whether both must match when the call runs.
    pub both_bind: bool,
    /// Who asks.
    pub agent: String,
    /// In which session.
    #[serde(default)]
    pub session: Option<String>,
    /// The batch it belongs to.
    #[serde(default)]
    pub group: Option<String>,
    /// Whether somebody may be in crisis.
    pub crisis: bool,
    /// Since when.
    pub created: Time,
    /// Until when somebody may answer.
    pub deadline: Time,
    /// How far up the ladder it has climbed.
    pub rung: String,
    /// How many people it takes.
    pub quorum: Quorum,
    /// How many have said yes.
    #[serde(default)]
    pub approvals: u32,
    /// The permit, to the agent that asked.
    #[serde(default)]
    pub permit: Option<String>,
    /// Until when the permit can be used.
    #[serde(default)]
    pub permit_until: Option<Time>,
    /// The arguments to run instead, if a person changed them.
    #[serde(default)]
    pub edited_arguments: Option<serde_json::Value>,
    /// The gate only watches: it would have asked.
    #[serde(default)]
    pub observed: bool,
    /// What people see (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<serde_json::Value>,
    /// How the edited call was judged, if one was approved (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<EditedSummary>,
    /// The card of the edited call, if one was approved (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_card: Option<serde_json::Value>,
    /// Who said what (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub votes: Option<Vec<Vote>>,
    /// How announcements went (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<Vec<serde_json::Value>>,
    /// When the permit was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redeemed: Option<Time>,
    /// What the agent says came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<serde_json::Value>,
    /// The agent's own words (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What is said of a drill once it is over (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drill: Option<Drill>,
    /// The grant that was given with the answer (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
}

impl Request {
    /// Why it ended so, in the words of whoever ended it.
    pub fn reason(&self) -> &str {
        self.decision.as_ref().map_or("", |decision| &decision.reason)
    }

    /// Who ended it, in words.
    pub fn decided_by(&self) -> String {
        self.decision.as_ref().map_or_else(|| "nobody yet".to_owned(), |one| one.by.words())
    }
}

/// A call that a person edited and approved, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditedSummary {
    /// What it does, in one sentence.
    pub brief: String,
    /// SAFE to CRITICAL.
    pub tier: String,
    /// Two words from its digest.
    pub phrase: String,
    /// Its digest, in hex.
    pub digest: String,
}

/// A made-up call, so that people go on reading. No agent asked for it, and nothing runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drill {
    /// Which one.
    pub name: String,
    /// Whether people caught it; none where nobody answered.
    pub caught: Option<bool>,
    /// What is said of it.
    pub words: String,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The same word as the state.
    pub result: State,
    /// Who ended it.
    pub by: Decider,
    /// Through which channel.
    #[serde(default)]
    pub channel: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// When.
    pub at: Time,
}

/// Who ended a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decider {
    /// `people`, `deadline`, `agent`, `policy` or `grant`.
    pub kind: String,
    /// Their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<String>,
    /// The grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
}

impl Decider {
    /// In words.
    pub fn words(&self) -> String {
        match self.kind.as_str() {
            "people" => self.people.join(" and "),
            "deadline" => "the deadline".to_owned(),
            "agent" => "the agent itself".to_owned(),
            "policy" => "the rules".to_owned(),
            "grant" => format!("grant {}", self.grant.as_deref().unwrap_or("unknown")),
            other => other.to_owned(),
        }
    }
}

/// How many people it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quorum {
    /// To approve.
    pub approve: u8,
    /// To deny.
    pub deny: u8,
}

/// One person's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    /// Whose.
    pub person: String,
    /// `approve` or `deny`.
    pub choice: String,
    /// Through which channel.
    #[serde(default)]
    pub channel: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// When.
    pub at: Time,
}
