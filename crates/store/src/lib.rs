//! What Countersign must not forget, and the words in which a backend promises to keep it.
//!
//! Every method of [`Store`] is a whole transition, never a row to be read, changed and written
//! back: whatever races, one of them wins and the other is told. *Durable* means that the answer
//! comes after the commit has reached the disk; *rides* means that it will be in the next commit.

pub mod backend;
pub mod error;
pub mod people;
pub mod record;
pub mod sqlite;
pub mod wake;

use std::future::Future;

use countersign_json::canonical::CallDigest;
use countersign_ledger::entry::Entry;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::Grant;
use countersign_workflow::request::{Event, Requester};

pub use backend::Backend;
pub use error::{OpenError, StoreError};
pub use people::{
    LinkedAccount, Passkey, PushSubscription, Role, StoredAgent, StoredLogin, StoredPerson,
};
pub use record::{
    AnnouncementKind, Applied, AttemptResult, CrisisSession, DeliveryAttempt, DeliveryStatus,
    EditRecord, IndexedEntry, LedgerSlice, MerkleProof, NewRequest, OutboxEntry, Redemption,
    RequestPage, RequestQuery, SimilarCalls, StoredRequest, Submission, TreeHead, WriteContext,
};
pub use sqlite::{OfflineLedger, SqliteOptions, SqliteStore};
pub use wake::StoreEvent;

/// What the store answers.
pub type StoreResult<T> = Result<T, StoreError>;

/// The contract. Any error means that nothing of the call was kept, and that the caller must not
/// act as if it had been.
pub trait Store: Send + Sync + 'static {
    // Requests.

    /// Keeps a new request with its ledger entry and announcement. Durable. The same agent with
    /// the same idempotency key gets the request that is there already. A request settled by a
    /// grant uses the grant up in the same commit, or fails with [`StoreError::GrantOver`]. No
    /// other end than by policy or grant can be brought along.
    fn submit(&self, new: NewRequest) -> impl Future<Output = StoreResult<Submission>> + Send;

    /// Lets an event happen to a request by core's state machine, with the store's own time.
    /// Durable, with votes, decision, ledger entries and announcements in one commit. What time
    /// alone does lets others go first.
    fn apply(
        &self,
        id: Id,
        event: Event,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<Applied>> + Send;

    /// Waits until the request has ended, and reads it then. Ends with an error, never with a
    /// guess, when the store closes or breaks. Commits that fail for a while (a full disk) do not
    /// end it, as they end no request: the caller bounds its wait by the deadline. Dropping the
    /// future takes the waiter away.
    fn wait_for_end(&self, id: Id) -> impl Future<Output = StoreResult<StoredRequest>> + Send;

    /// One request.
    fn request(&self, id: Id) -> impl Future<Output = StoreResult<Option<StoredRequest>>> + Send;

    /// The request that somebody asked with this idempotency key.
    fn request_by_key(
        &self,
        requester: Requester,
        key: String,
    ) -> impl Future<Output = StoreResult<Option<StoredRequest>>> + Send;

    /// Every request that has not ended, oldest first.
    fn pending(&self) -> impl Future<Output = StoreResult<Vec<StoredRequest>>> + Send;

    /// When time next changes something for each request that has not ended.
    fn deadlines(&self) -> impl Future<Output = StoreResult<Vec<(Id, Timestamp)>>> + Send;

    /// Requests by what a person looks for, newest first.
    fn find(&self, query: RequestQuery) -> impl Future<Output = StoreResult<RequestPage>> + Send;

    /// What became of this agent's calls of this tool before that request, as grave as it and no
    /// milder or graver: the newest few, and people's answers since then, counted among the tool's
    /// newest 2,000. Many mild calls say nothing of a grave one.
    fn similar_calls(
        &self,
        agent: String,
        tool: (String, Tier),
        before: Id,
        since: Timestamp,
    ) -> impl Future<Output = StoreResult<SimilarCalls>> + Send;

    /// Uses a permit: the approved call of this request, this agent, once, and in time. Durable.
    /// While the clock is unsettled nobody can say what is in time: refused.
    fn redeem(
        &self,
        id: Id,
        agent: String,
        digest: CallDigest,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<Redemption>> + Send;

    /// Keeps what the agent says came of a request that has ended; the first word counts. Durable.
    fn record_outcome(
        &self,
        id: Id,
        agent: String,
        outcome: String,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<StoredRequest>> + Send;

    // Passes and other entries.

    /// Writes down a call that nobody was asked about. *Rides* the next commit; waits for it when
    /// more passes are on their way than a crash may lose, or when the newest commit failed. Its
    /// time is set by the store.
    fn record_pass(&self, entry: Entry<'static>) -> impl Future<Output = StoreResult<()>> + Send;

    /// Writes any other entry. Durable. Its time is set by the store.
    fn append(&self, entries: Vec<Entry<'static>>) -> impl Future<Output = StoreResult<()>> + Send;

    // Grants.

    /// Keeps a grant. Durable.
    fn create_grant(
        &self,
        grant: Grant,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// Takes a grant back; `false` if there was none. Durable.
    fn revoke_grant(
        &self,
        id: Id,
        person: String,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// All grants, newest first; those that are over as well if `all`.
    fn grants(&self, all: bool) -> impl Future<Output = StoreResult<Vec<Grant>>> + Send;

    // Crisis.

    /// Puts a session into crisis context, or renews it. Durable.
    fn begin_crisis(
        &self,
        crisis: CrisisSession,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// A person lifts it; `false` if there was none. Durable.
    fn lift_crisis(
        &self,
        agent: String,
        session: String,
        person: String,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// Every session in crisis context.
    fn crises(&self) -> impl Future<Output = StoreResult<Vec<CrisisSession>>> + Send;

    // Who is who.

    /// Adds or changes a person. Durable.
    fn save_person(
        &self,
        person: StoredPerson,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// All people.
    fn people(&self) -> impl Future<Output = StoreResult<Vec<StoredPerson>>> + Send;

    /// Adds or changes an agent. Durable.
    fn save_agent(
        &self,
        agent: StoredAgent,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// All agents.
    fn agents(&self) -> impl Future<Output = StoreResult<Vec<StoredAgent>>> + Send;

    /// Keeps a login (a browser session or a person's token), or its end. Durable.
    fn save_login(
        &self,
        login: StoredLogin,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// All logins that have not ended.
    fn logins(&self) -> impl Future<Output = StoreResult<Vec<StoredLogin>>> + Send;

    /// Keeps an account elsewhere that somebody linked, or its end. Durable. An account that is
    /// another person's stays theirs: [`StoreError::Exists`].
    fn save_account(
        &self,
        account: LinkedAccount,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// All accounts that have not ended.
    fn accounts(&self) -> impl Future<Output = StoreResult<Vec<LinkedAccount>>> + Send;

    /// Keeps a passkey, that it was used, or its end. Durable. Key, person and credential never
    /// change, and an end stays.
    fn save_passkey(
        &self,
        passkey: Passkey,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// All passkeys that have not ended.
    fn passkeys(&self) -> impl Future<Output = StoreResult<Vec<Passkey>>> + Send;

    /// Keeps a browser that wants to be called, or its end. Durable.
    fn save_subscription(
        &self,
        subscription: PushSubscription,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// All subscriptions that have not ended.
    fn subscriptions(&self) -> impl Future<Output = StoreResult<Vec<PushSubscription>>> + Send;

    // Announcements.

    /// What has to be announced and is not done, oldest first, from behind a place on: what comes
    /// later has a greater one.
    fn outbox(
        &self,
        after: u64,
        limit: u32,
    ) -> impl Future<Output = StoreResult<Vec<OutboxEntry>>> + Send;

    /// Writes down one attempt to announce. Durable, but lets others go first: it may wait a moment
    /// for a commit that is made anyway. A final failure is a ledger entry.
    fn record_attempt(
        &self,
        attempt: DeliveryAttempt,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// A message that counted as arrived did not arrive after all, the platform says: a final
    /// failure of its announcement, which is taken up again. Which waiting request that was about;
    /// none if there is no such message, and then nothing changes.
    fn mark_undelivered(
        &self,
        channel: String,
        message: String,
        why: String,
        note: WriteContext,
    ) -> impl Future<Output = StoreResult<Option<Id>>> + Send;

    /// How announcements of a request went.
    fn deliveries(
        &self,
        request: Id,
    ) -> impl Future<Output = StoreResult<Vec<DeliveryStatus>>> + Send;

    // The ledger.

    /// Entries from a place on, with their leaf hashes; at most 4,096 or some MiB at once.
    fn entries(
        &self,
        from: u64,
        limit: u32,
    ) -> impl Future<Output = StoreResult<LedgerSlice>> + Send;

    /// The entries that speak of a request, in order.
    fn request_history(
        &self,
        request: Id,
    ) -> impl Future<Output = StoreResult<Vec<IndexedEntry>>> + Send;

    /// Size and root of the tree, as committed.
    fn tree_head(&self) -> impl Future<Output = StoreResult<TreeHead>> + Send;

    /// The RFC 6962 inclusion proof of an entry in the tree of `size`.
    fn inclusion_proof(
        &self,
        index: u64,
        size: u64,
    ) -> impl Future<Output = StoreResult<MerkleProof>> + Send;

    /// The RFC 6962 consistency proof between two sizes.
    fn consistency_proof(
        &self,
        old: u64,
        new: u64,
    ) -> impl Future<Output = StoreResult<MerkleProof>> + Send;

    /// Keeps a signed checkpoint, unless one of the same or a greater size is there. Durable. One
    /// of more entries than there are is refused.
    fn save_checkpoint(
        &self,
        size: u64,
        note: String,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// The newest signed checkpoint.
    fn checkpoint(&self) -> impl Future<Output = StoreResult<Option<String>>> + Send;

    // The store itself.

    /// What happens from now on, after its commit. A reader that falls behind is told so and
    /// reads the rows again.
    fn subscribe(&self) -> tokio::sync::broadcast::Receiver<StoreEvent>;

    /// Whether the newest commit succeeded. Tries one if the newest failed.
    fn is_healthy(&self) -> impl Future<Output = bool> + Send;

    /// Commits what rides, marks a clean stop, closes. Nothing may be asked afterwards.
    fn close(&self) -> impl Future<Output = StoreResult<()>> + Send;
}
