//! What people say about calls that ran: whether they were right.

use countersign_json::canonical::Digest;
use countersign_types::id::Id;
use countersign_types::time::Timestamp;

/// A person's answer to "was that right?" after a call ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFeedback {
    /// The request of the call.
    pub request: Id,
    /// Whether it should not have run.
    pub regretted: bool,
    /// Who said so last.
    pub person: String,
    /// When.
    pub at: Timestamp,
}

/// A call that should not have run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegrettedCall {
    /// The request.
    pub request: Id,
    /// The agent.
    pub agent: String,
    /// The digest of the call.
    pub digest: Digest,
    /// When a person said so.
    pub at: Timestamp,
}
