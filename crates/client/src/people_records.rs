//! What the people API takes and returns about logins, decisions and searches.

use serde::{Deserialize, Serialize};

use crate::error::ProblemDetails;
use crate::request::{DrillRecord, RequestRecord, RequestStatus};
use crate::time::Time;

/// A new login.
#[derive(Clone, Deserialize)]
pub struct LoginToken {
    /// The token: whoever has it acts as this person.
    pub token: String,
    /// The person.
    pub person: String,
    /// Their role.
    pub role: String,
    /// When it expires.
    pub expires: Time,
}

/// Approve or deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionChoice {
    /// It may run, once.
    Approve,
    /// It must not run.
    Deny,
}

/// For how long an approval counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionScope {
    /// For this request only.
    #[default]
    Once,
    /// Also for later calls of the session that ask about nothing else.
    Session,
    /// Also for later calls in the repository that ask about nothing else.
    Repository,
}

impl DecisionScope {
    /// Whether it counts for this request only, which is the default of the API.
    pub fn is_once(&self) -> bool {
        *self == DecisionScope::Once
    }
}

/// A grant that is given with an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GrantWithApproval {
    /// `exact` or `action`.
    pub shape: &'static str,
    /// `session` or `until`.
    pub scope: &'static str,
    /// How long it lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
}

/// The result of one decision of a batch.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct DecisionResult {
    /// Which request.
    pub id: String,
    /// The new state; `None` if the decision was rejected.
    pub state: Option<RequestStatus>,
    /// Why it was rejected.
    #[serde(default)]
    pub problem: Option<ProblemDetails>,
    /// What to tell the person if it was a drill.
    #[serde(default)]
    pub drill: Option<DrillRecord>,
}

/// A search. All conditions must match.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The state.
    pub state: Option<RequestStatus>,
    /// The agent.
    pub agent: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The batch.
    pub group: Option<String>,
    /// A text that occurs in it.
    pub q: Option<String>,
    /// Older than this request.
    pub before: Option<String>,
    /// The maximum number of results.
    pub limit: Option<u32>,
    /// Whether each result has its card and its place.
    pub cards: bool,
}

/// A person's answer to one request.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct DecisionAnswer<'a> {
    /// Approve or deny.
    pub choice: DecisionChoice,
    /// For how long an approval counts.
    #[serde(skip_serializing_if = "DecisionScope::is_once")]
    pub scope: DecisionScope,
    /// The digest of the call that the person was shown.
    pub digest: &'a str,
    /// The reason.
    pub reason: &'a str,
    /// The word that the person typed from the call's two words. Approving HIGH requires it.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub word: &'a str,
    /// A grant that comes with the approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<&'a GrantWithApproval>,
    /// The parts of a compound command that are approved, if the command as a whole is not.
    #[serde(skip_serializing_if = "<[u8]>::is_empty")]
    pub segments: &'a [u8],
}

impl<'a> DecisionAnswer<'a> {
    /// An answer about the call with this digest, without a reason, a word or a grant.
    pub fn new(choice: DecisionChoice, digest: &'a str) -> DecisionAnswer<'a> {
        let scope = DecisionScope::Once;
        DecisionAnswer { choice, scope, digest, reason: "", word: "", grant: None, segments: &[] }
    }
}

/// A page of requests, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestPage {
    /// The requests.
    pub requests: Vec<RequestRecord>,
    /// The start of the next page.
    pub next: Option<String>,
    /// The search stopped at its limit; `next` continues it.
    #[serde(default)]
    pub truncated: bool,
}

impl std::fmt::Debug for LoginToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginToken").field("person", &self.person).finish_non_exhaustive()
    }
}
