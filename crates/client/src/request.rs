//! The request document: a call and its state.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// The state of a request. Any other word is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// It waits for a decision.
    Pending,
    /// It may run, once.
    Approved,
    /// It must not run.
    Denied,
    /// Not answered in time.
    Expired,
    /// The agent cancelled it.
    Cancelled,
}

impl RequestStatus {
    /// The word in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            RequestStatus::Pending => "pending",
            RequestStatus::Approved => "approved",
            RequestStatus::Denied => "denied",
            RequestStatus::Expired => "expired",
            RequestStatus::Cancelled => "cancelled",
        }
    }
}

/// The opinion of the model judge on a call that people decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeNote {
    /// The model.
    pub model: String,
    /// `deny` or `allow`.
    pub verdict: String,
    /// What worries the model, as a stable word.
    pub concern: String,
    /// The opinion in one sentence.
    pub text: String,
}

/// A call that was submitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the members of the JSON record")]
pub struct RequestRecord {
    /// Its id; `None` if the call needed no approval.
    pub id: Option<String>,
    /// Its state.
    pub state: RequestStatus,
    /// The decision, if it has ended.
    pub decision: Option<DecisionRecord>,
    /// The tool.
    pub tool: String,
    /// A summary in one sentence.
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
    /// Digest of the canonical call, in hexadecimal.
    pub digest: String,
    /// Digest of the arguments as received, in hexadecimal.
    pub raw_digest: String,
    /// Whether both must match when the call runs.
    pub both_bind: bool,
    /// The agent.
    pub agent: String,
    /// The agent program that a hook names, by its own name; only a label below the agent.
    #[serde(default)]
    pub agent_kind: Option<String>,
    /// The version of that program, as it says it.
    #[serde(default)]
    pub agent_version: Option<String>,
    /// The session.
    #[serde(default)]
    pub session: Option<String>,
    /// The batch it belongs to.
    #[serde(default)]
    pub group: Option<String>,
    /// Whether the session is in a crisis.
    pub crisis: bool,
    /// When it was created.
    pub created: Time,
    /// The deadline.
    pub deadline: Time,
    /// The escalation level.
    pub level: String,
    /// How many people must decide.
    pub quorum: QuorumRecord,
    /// How many people approved so far.
    #[serde(default)]
    pub approvals: u32,
    /// The permit, for the agent that submitted the call.
    #[serde(default)]
    pub permit: Option<String>,
    /// When the permit expires.
    #[serde(default)]
    pub permit_until: Option<Time>,
    /// The arguments to run instead, if a person edited them.
    #[serde(default)]
    pub edited_arguments: Option<serde_json::Value>,
    /// The review, if the call may run before a person looks at it.
    #[serde(default)]
    pub review: Option<ReviewNote>,
    /// The gate only observes: it would have asked.
    #[serde(default)]
    pub observed: bool,
    /// What people see (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<serde_json::Value>,
    /// Where the call would run (to people only, where the card comes with a list).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceRecord>,
    /// The assessment of the edited call, if one was approved (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<EditedSummary>,
    /// The card of the edited call, if one was approved (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_card: Option<serde_json::Value>,
    /// The edit that several people must approve (to people only). While it is pending, the
    /// digest, tier, summary and card of this record are those of the edited call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_edit: Option<ProposedEditRecord>,
    /// The card of that edit (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_card: Option<serde_json::Value>,
    /// The card of the call as the agent requested it, if there is such an edit (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_card: Option<serde_json::Value>,
    /// What the model judge thinks of it (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeNote>,
    /// The votes (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub votes: Option<Vec<VoteRecord>>,
    /// The notifications (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<Vec<serde_json::Value>>,
    /// When the permit was redeemed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redeemed: Option<Time>,
    /// The outcome that the agent reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<serde_json::Value>,
    /// The agent's own description (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The explanation of a drill, after it ended (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drill: Option<DrillRecord>,
    /// Whether it can be approved for the rest of its session (to people only).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub session_scope: bool,
    /// The repository for which it can be approved (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_scope: Option<String>,
    /// The grant that was given with the decision (to people only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
}

impl RequestRecord {
    /// Who asks, for people: `PROGRAM (uid:1000)`, or the agent alone.
    pub fn asking_name(&self) -> String {
        match self.agent_kind.as_deref().filter(|kind| *kind != self.agent) {
            Some(kind) => format!("{kind} ({})", self.agent),
            None => self.agent.clone(),
        }
    }

    /// Who asks, with the version of the program if it says one: `PROGRAM 1.2.3 (uid:1000)`.
    pub fn asking_label(&self) -> String {
        let kind = self.agent_kind.as_deref();
        match (kind, &self.agent_version) {
            (Some(kind), Some(version)) if kind != self.agent => {
                format!("{kind} {version} ({})", self.agent)
            }
            (Some(_), Some(version)) => format!("{} {version}", self.agent),
            _ => self.asking_name(),
        }
    }

    /// The reason of the decision.
    pub fn reason(&self) -> &str {
        self.decision.as_ref().map_or("", |decision| &decision.reason)
    }

    /// Who decided, for people.
    pub fn decided_by(&self) -> String {
        self.decision.as_ref().map_or_else(|| "pending".to_owned(), |one| one.by.describe())
    }
}

/// Where a call would run, as its agent said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceRecord {
    /// The folder of the project.
    #[serde(default)]
    pub project: Option<String>,
    /// The agent program.
    #[serde(default)]
    pub host: Option<String>,
}

/// A call that may run before a person looks at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewNote {
    /// The snapshot of its files.
    pub snapshot: String,
}

/// An edit that several people must approve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedEditRecord {
    /// The person who edited the call.
    pub by: String,
    /// When.
    pub at: Time,
    /// How many people must approve it.
    pub needed: u32,
    /// The edited call.
    pub edited: EditedSummary,
    /// The call as the agent requested it.
    pub original: EditedSummary,
}

/// A summary of an edited call, or of the original next to it.
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

/// A made-up call that keeps people attentive. No agent submitted it, and it never runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrillRecord {
    /// Which one.
    pub name: String,
    /// Whether people caught it; `None` if it was not answered.
    pub caught: Option<bool>,
    /// The explanation.
    pub words: String,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// The same word as the state.
    pub result: RequestStatus,
    /// Who decided.
    pub by: DeciderRecord,
    /// The channel.
    #[serde(default)]
    pub channel: String,
    /// The reason.
    #[serde(default)]
    pub reason: String,
    /// When.
    pub at: Time,
    /// For how long an approval counts: `once`, `session` or `repository`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

impl DecisionRecord {
    /// For how long people approved, behind the word "approved"; empty for once.
    pub fn scope_text(&self) -> &'static str {
        match self.scope.as_deref() {
            Some("session") => " for this session",
            Some("repository") => " for this repository",
            _ => "",
        }
    }
}

/// Who decided a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeciderRecord {
    /// `people`, `deadline`, `agent`, `policy`, `grant` or `judge`.
    pub kind: String,
    /// Their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<String>,
    /// The grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// The model of the judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl DeciderRecord {
    /// A description for people.
    pub fn describe(&self) -> String {
        match self.kind.as_str() {
            "people" => self.people.join(" and "),
            "deadline" => "the deadline".to_owned(),
            "agent" => "the agent itself".to_owned(),
            "policy" => "the rules".to_owned(),
            "grant" => format!("grant {}", self.grant.as_deref().unwrap_or("unknown")),
            "judge" => {
                format!("the model judge {}", self.model.as_deref().unwrap_or("unknown"))
            }
            other => other.to_owned(),
        }
    }
}

/// How many people must decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuorumRecord {
    /// To approve.
    pub approve: u8,
    /// To deny.
    pub deny: u8,
}

/// One person's vote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoteRecord {
    /// The person.
    pub person: String,
    /// `approve` or `deny`.
    pub choice: String,
    /// The channel.
    #[serde(default)]
    pub channel: String,
    /// The reason.
    #[serde(default)]
    pub reason: String,
    /// When.
    pub at: Time,
}
