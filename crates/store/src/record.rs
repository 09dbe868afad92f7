//! The records that callers write to the store and read from it.

use countersign_json::canonical::Digest;
use countersign_risk::session_answer::SessionQuestion;
use countersign_types::id::Id;
use countersign_types::time::{Millis, Timestamp};
use countersign_workflow::grant::GrantCost;
use countersign_workflow::request::{EscalationLevel, Request, State, Transition};

use crate::reviews::NewReview;

/// The context of a write, which becomes part of its ledger entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteContext {
    /// The digest of the policy in force.
    pub policy: Digest,
    /// Further facts for the entry, as a JSON object; already redacted.
    pub facts: Option<String>,
    /// The edited call, for an approval with edits.
    pub edited: Option<EditRecord>,
}

/// A call as a person edited it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditRecord {
    /// The arguments to run, as JSON.
    pub arguments: String,
    /// Its card, as JSON: its assessment when it was edited; redacted.
    pub card: String,
}

/// A request to be stored.
#[derive(Debug, Clone)]
pub struct NewRequest {
    /// The state machine's part: pending, or decided by policy or grant.
    pub request: Request,
    /// The tool.
    pub tool: String,
    /// The session, as the agent named it.
    pub session: String,
    /// A summary in one sentence.
    pub brief: String,
    /// The card that people see, as JSON; redacted.
    pub card: String,
    /// The card that replaces it when the request ends, with its own summary, if the first one
    /// shows more than may be kept.
    pub card_after: Option<String>,
    /// Data that the calling API needs to build its response again, as JSON; redacted.
    pub detail: String,
    /// The agent's idempotency key.
    pub idempotency: Option<String>,
    /// The batch it belongs to.
    pub group: Option<Id>,
    /// What it asks about, if it has a session.
    pub session_question: SessionQuestion,
    /// Further approvals for the session that cover the call together with the grant that decided
    /// it.
    pub further_grants: Vec<Id>,
    /// What it takes from the budget of the grant that decided it.
    pub grant_cost: GrantCost,
    /// How long after the approval its permit is valid.
    pub permit_for: Millis,
    /// The review, if the call may run before a person looks at it.
    pub review: Option<NewReview>,
    /// Policy and facts.
    pub context: WriteContext,
}

/// A request as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRequest {
    /// The state machine's part.
    pub request: Request,
    /// The tool.
    pub tool: String,
    /// The session.
    pub session: String,
    /// A summary in one sentence.
    pub brief: String,
    /// The card, as JSON.
    pub card: String,
    /// Data that the calling API needs to build its response again, as JSON.
    pub detail: String,
    /// The batch it belongs to.
    pub group: Option<Id>,
    /// What it asks about, if it has a session.
    pub session_question: SessionQuestion,
    /// The digest of the policy in force when it was made.
    pub policy: Digest,
    /// When its permit expires; `None` unless approved.
    pub permit_until: Option<Timestamp>,
    /// When its permit was redeemed.
    pub redeemed: Option<Timestamp>,
    /// The edited arguments, as JSON, if a person edited the call.
    pub edited: Option<String>,
    /// The card of the edited call, as JSON; `None` for edits made before cards were recorded.
    pub edited_card: Option<String>,
    /// The call of the request's proposed edit, if it has one.
    pub proposed: Option<EditRecord>,
    /// The outcome that the agent reported, as JSON.
    pub outcome: Option<String>,
}

/// The result of a submission.
#[derive(Debug, Clone)]
pub enum SubmitResult {
    /// The request is new.
    New(StoredRequest),
    /// The idempotency key exists; this is its request in its current state.
    Existing(StoredRequest),
}

/// The result of an event.
#[derive(Debug, Clone)]
pub struct Applied {
    /// The request afterwards.
    pub stored: StoredRequest,
    /// The state change.
    pub change: Transition,
}

/// The result of redeeming a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redemption {
    /// Accepted. It cannot be used again.
    Accepted,
    /// It was already redeemed, at this time.
    AlreadyUsed(Timestamp),
    /// It has expired.
    Expired,
    /// The request is not approved; this is its state.
    NotApproved(State),
    /// It is for another call.
    AnotherCall,
    /// It is for another agent.
    AnotherAgent,
}

/// A search for requests. All given parts must match.
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
    /// With this text in tool, summary, command, arguments, two words, agent, session or id.
    pub text: Option<String>,
    /// Older than this request.
    pub before: Option<Id>,
    /// The maximum number of results; 0 means 50, and the limit is 500.
    pub limit: u32,
}

/// A page of requests, newest first.
#[derive(Debug, Clone, Default)]
pub struct StoredRequestPage {
    /// The requests.
    pub requests: Vec<StoredRequest>,
    /// The `before` of the next page, if there is one.
    pub next: Option<Id>,
    /// The search reached its limit before the page was full; `next` continues it.
    pub truncated: bool,
}

/// Earlier calls of the same tool by the same agent, with their decisions.
#[derive(Debug, Clone, Default)]
pub struct SimilarCalls {
    /// The newest ended requests, newest first.
    pub newest: Vec<StoredRequest>,
    /// How many people approved.
    pub approved: u32,
    /// How many people denied.
    pub denied: u32,
    /// How many expired without a decision.
    pub expired: u32,
}

/// A session in crisis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrisisSession {
    /// The agent of the session.
    pub agent: String,
    /// The session.
    pub session: String,
    /// The highest level detected, 1 to 6.
    pub level: u8,
    /// Whether the danger was imminent.
    pub imminent: bool,
    /// When it began.
    pub since: Timestamp,
}

/// A person sets the time of the ledger back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockRebase {
    /// The right time.
    pub to: Timestamp,
    /// Who.
    pub person: String,
}

/// A person who took over a conversation in a crisis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrisisTakeover {
    /// The agent of the session.
    pub agent: String,
    /// The session.
    pub session: String,
    /// Who took over.
    pub person: String,
    /// When.
    pub at: Timestamp,
}

/// After this time without a call that writes files, the memory of a session is forgotten.
pub const SESSION_IDLE: Millis = Millis::from_seconds(24 * 60 * 60);

/// What a session did before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSessionMemory {
    /// The agent, as authenticated.
    pub agent: String,
    /// The session, as the agent named it.
    pub session: String,
    /// The memory, as JSON; redacted.
    pub memory: String,
    /// When it last changed.
    pub used: Timestamp,
}

/// An announcement in the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEntry {
    /// Its sequence number: the number of the ledger entry that it announces.
    pub seq: u64,
    /// The request.
    pub request: Id,
    /// What is announced.
    pub news: AnnouncementKind,
    /// When it happened.
    pub at: Timestamp,
    /// The deliveries so far.
    pub tried: Vec<DeliveryStatus>,
}

/// What is announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnouncementKind {
    /// A new request.
    Asked,
    /// The request was escalated.
    Escalated(EscalationLevel),
    /// The request ended; messages that ask for a decision are withdrawn.
    Ended(State),
}

/// One attempt to deliver an announcement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// The sequence number of the announcement.
    pub seq: u64,
    /// The channel.
    pub channel: String,
    /// The result.
    pub result: AttemptResult,
    /// Whether the announcement is done on all channels.
    pub done: bool,
}

/// The result of a delivery attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptResult {
    /// Delivered, with the channel's id of the message.
    Delivered(String),
    /// Failed for this reason; retried at this time.
    Retry(String, Timestamp),
    /// Failed for good, for this reason.
    Failed(String),
}

/// The state of an announcement's delivery through one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryStatus {
    /// The channel.
    pub channel: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The last result.
    pub result: AttemptResult,
    /// The time of the last attempt.
    pub at: Timestamp,
}

/// Consecutive entries of the ledger.
#[derive(Debug, Clone, Default)]
pub struct LedgerSlice {
    /// The index of the first entry.
    pub from: u64,
    /// Their canonical bytes.
    pub entries: Vec<Vec<u8>>,
    /// Their leaf hashes.
    pub leaves: Vec<Digest>,
}

/// One ledger entry with its index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedEntry {
    /// Its index.
    pub seq: u64,
    /// Its canonical bytes.
    pub entry: Vec<u8>,
}

/// The rows of requests, grants, people, agents and their credentials compared with the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowComparison {
    /// How many requests have a row.
    pub requests: u64,
    /// How many rows differ.
    pub differences: u64,
    /// The first of them.
    pub listed: Vec<RowDifference>,
}

/// A row that differs from its ledger entries: of a request or grant, or of a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowDifference {
    /// The request or grant.
    pub request: Option<Id>,
    /// The person, agent, session, linked account or passkey, in words.
    pub credential: Option<String>,
    /// Its state in the row; `None` if there is no row.
    pub row: Option<String>,
    /// Its state in the ledger; `None` if there is no entry.
    pub ledger: Option<String>,
}

impl RowDifference {
    /// A request or grant.
    pub(crate) fn of_request(id: Id, row: Option<String>, ledger: Option<String>) -> RowDifference {
        RowDifference { request: Some(id), credential: None, row, ledger }
    }
}

/// The head of the committed tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeHead {
    /// The number of entries.
    pub size: u64,
    /// The RFC 6962 root hash.
    pub root: Digest,
}

/// An RFC 6962 proof; `None` if the tree has no such entry or size.
pub type ProofPath = Option<Vec<Digest>>;
