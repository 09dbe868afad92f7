//! Reviews of calls that ran before a person looked at them.

use countersign_json::canonical::Digest;
use countersign_types::id::Id;
use countersign_types::time::{Millis, Timestamp};
use countersign_workflow::review::ReviewState;

/// The review of a call that is about to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReview {
    /// The id of the snapshot of its files.
    pub snapshot: String,
    /// The folder of the snapshots.
    pub folder: String,
    /// The digest of the files before the call. Each snapshot counts for one call.
    pub before: Digest,
    /// How many files and folders the snapshot has.
    pub files: u32,
    /// How many bytes.
    pub bytes: u64,
    /// How long a person has time to look.
    pub window: Millis,
}

/// A review as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReview {
    /// The request of the call.
    pub request: Id,
    /// The agent.
    pub agent: String,
    /// The session.
    pub session: String,
    /// The tool.
    pub tool: String,
    /// A summary of the call in one sentence.
    pub brief: String,
    /// The id of the snapshot of its files.
    pub snapshot: String,
    /// The folder of the snapshots.
    pub folder: String,
    /// The digest of the files before the call.
    pub before: Digest,
    /// How many files and folders the snapshot has.
    pub files: u32,
    /// How many bytes.
    pub bytes: u64,
    /// When the call was allowed.
    pub opened: Timestamp,
    /// Until when a person has time to look.
    pub until: Timestamp,
    /// Where it stands.
    pub state: ReviewState,
    /// The digest of the files after the call, if the hook reported it.
    pub after: Option<Digest>,
    /// Who kept or rejected the changes.
    pub person: Option<String>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Why the last roll-back failed.
    pub note: String,
    /// Whether the roll-back that is in progress replaces later changes too, as the ledger says.
    /// Lists do not read it.
    pub force: bool,
}
