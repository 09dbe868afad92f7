//! What goes into the store and what comes out of it.

use countersign_json::canonical::Digest;
use countersign_types::id::Id;
use countersign_types::time::{Span, Timestamp};
use countersign_workflow::request::{Change, Request, Rung, State};

/// Under which circumstances something is written; part of every ledger entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteContext {
    /// The hash of the policy in force.
    pub policy: Digest,
    /// Further facts for the entry, as a JSON object; already free of secrets.
    pub facts: Option<String>,
    /// The call to run instead, with an edited approval.
    pub edited: Option<EditRecord>,
}

/// A call as a person changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditRecord {
    /// The arguments to run, as JSON.
    pub arguments: String,
    /// Its card, as JSON: how it was judged when it was approved; free of secrets.
    pub card: String,
}

/// A request to be kept.
#[derive(Debug, Clone)]
pub struct NewRequest {
    /// The state machine's part: pending, or settled by policy or grant.
    pub request: Request,
    /// The tool.
    pub tool: String,
    /// The session, as the agent named it.
    pub session: String,
    /// One plain sentence.
    pub brief: String,
    /// The card people see, as JSON; free of secrets.
    pub card: String,
    /// The card that replaces it when the request ends, with its own brief, where less may be kept
    /// than a person must see to answer.
    pub card_after: Option<String>,
    /// What the surface that asked needs again, as JSON; free of secrets.
    pub detail: String,
    /// The agent's idempotency key.
    pub idempotency: Option<String>,
    /// The batch it belongs to.
    pub group: Option<Id>,
    /// How long after its approval a permit can be used.
    pub permit_for: Span,
    /// Policy and facts.
    pub note: WriteContext,
}

/// A request as kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRequest {
    /// The state machine's part.
    pub request: Request,
    /// The tool.
    pub tool: String,
    /// The session.
    pub session: String,
    /// One plain sentence.
    pub brief: String,
    /// The card, as JSON.
    pub card: String,
    /// What the surface that asked needs again, as JSON.
    pub detail: String,
    /// The batch it belongs to.
    pub group: Option<Id>,
    /// The policy in force when it was asked.
    pub policy: Digest,
    /// Until when its permit can be used; none unless approved.
    pub permit_until: Option<Timestamp>,
    /// When its permit was used.
    pub redeemed: Option<Timestamp>,
    /// The arguments to run instead, as JSON, if a person changed them.
    pub edited: Option<String>,
    /// The card of the edited call, as JSON; none of edits from before it was recorded.
    pub edited_card: Option<String>,
    /// What the agent says came of it, as JSON.
    pub outcome: Option<String>,
}

/// What became of a submission.
#[derive(Debug, Clone)]
pub enum Submission {
    /// It is new.
    New(StoredRequest),
    /// The same key was there already; this is that request as it stands now.
    Existing(StoredRequest),
}

/// What became of an event.
#[derive(Debug, Clone)]
pub struct Applied {
    /// The request afterwards.
    pub stored: StoredRequest,
    /// What followed.
    pub change: Change,
}

/// What became of a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redemption {
    /// It is used now, and never again.
    Accepted,
    /// It was used before, then.
    AlreadyUsed(Timestamp),
    /// It came too late.
    Expired,
    /// The request was never approved; it stands so.
    NotApproved(State),
    /// It was for another call.
    AnotherCall,
    /// It was for another agent.
    AnotherAgent,
}

/// What a person looks for. All parts must fit.
#[derive(Debug, Clone, Default)]
pub struct RequestQuery {
    /// In this state.
    pub state: Option<State>,
    /// By this agent.
    pub agent: Option<String>,
    /// In this session.
    pub session: Option<String>,
    /// In this batch.
    pub group: Option<Id>,
    /// With this text in tool, sentence, command, arguments, two words, agent, session or id.
    pub text: Option<String>,
    /// Older than this one.
    pub before: Option<Id>,
    /// At most so many; nought counts as 50, and more than 500 as 500.
    pub limit: u32,
}

/// A page of requests, newest first.
#[derive(Debug, Clone, Default)]
pub struct RequestPage {
    /// The requests.
    pub requests: Vec<StoredRequest>,
    /// Where the next page begins, if there is one.
    pub next: Option<Id>,
    /// The search stopped at its limit before the page was full; `next` continues it.
    pub truncated: bool,
}

/// What became of earlier calls of the same agent with the same tool.
#[derive(Debug, Clone, Default)]
pub struct SimilarCalls {
    /// The newest that have ended, newest first.
    pub newest: Vec<StoredRequest>,
    /// How many of the counted ones people approved.
    pub approved: u32,
    /// How many people denied.
    pub denied: u32,
    /// How many nobody answered in time.
    pub expired: u32,
}

/// A session in crisis context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrisisSession {
    /// The agent whose session it is.
    pub agent: String,
    /// The session.
    pub session: String,
    /// Level 1 to 6; the highest seen.
    pub level: u8,
    /// Whether danger was near.
    pub imminent: bool,
    /// Since when.
    pub since: Timestamp,
}

/// What has to be announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEntry {
    /// Its place in the outbox: the number of the ledger's entry that it speaks of.
    pub seq: u64,
    /// About which request.
    pub request: Id,
    /// What happened.
    pub news: AnnouncementKind,
    /// Since when.
    pub at: Timestamp,
    /// What was tried so far.
    pub tried: Vec<DeliveryStatus>,
}

/// What is announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnouncementKind {
    /// A person is asked.
    Asked,
    /// More people are asked.
    Escalated(Rung),
    /// It is over; prompts are withdrawn.
    Ended(State),
}

/// One attempt to announce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// Which announcement.
    pub seq: u64,
    /// Through which channel.
    pub channel: String,
    /// How it went.
    pub result: AttemptResult,
    /// Whether the announcement is done with, for all channels.
    pub done: bool,
}

/// How an attempt went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptResult {
    /// It arrived; what the channel calls the message.
    Delivered(String),
    /// Not yet; tried again at this time.
    Retry(String, Timestamp),
    /// Given up.
    Failed(String),
}

/// How an announcement went through one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryStatus {
    /// The channel.
    pub channel: String,
    /// How often it was tried.
    pub attempts: u32,
    /// How it went last.
    pub result: AttemptResult,
    /// When.
    pub at: Timestamp,
}

/// Some entries of the ledger, in order.
#[derive(Debug, Clone, Default)]
pub struct LedgerSlice {
    /// The place of the first.
    pub from: u64,
    /// Their canonical bytes.
    pub entries: Vec<Vec<u8>>,
    /// Their leaf hashes.
    pub leaves: Vec<Digest>,
}

/// One entry of the ledger and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedEntry {
    /// Its place.
    pub seq: u64,
    /// Its canonical bytes.
    pub entry: Vec<u8>,
}

/// The tree as committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeHead {
    /// How many entries.
    pub size: u64,
    /// RFC 6962 root.
    pub root: Digest,
}

/// A proof; none if the tree has no such place.
pub type MerkleProof = Option<Vec<Digest>>;
