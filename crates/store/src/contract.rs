//! The contract of a store.
//!
//! Every method of [`Store`] is a whole transition, never a row to read, change and write back: of
//! two racing calls one wins and the other gets an error. *Durable* means that the method returns
//! after its commit has reached the disk.

use std::future::Future;

use countersign_json::canonical::CallDigest;
use countersign_ledger::entry::Entry;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::Grant;
use countersign_workflow::request::{Event, Requester};
use countersign_workflow::review::ReviewEvent;

use crate::error::StoreResult;
use crate::event::StoreEvent;
use crate::feedback::{CallFeedback, RegrettedCall};
use crate::newest_entries::NewestEntries;
use crate::people::{
    CredentialRows, LinkedAccount, Passkey, PushSubscription, StoredAgent, StoredLogin,
    StoredPerson,
};
use crate::record::{
    Applied, ClockRebase, CrisisSession, CrisisTakeover, DeliveryAttempt, DeliveryStatus,
    IndexedEntry, LedgerSlice, NewRequest, OutboxEntry, ProofPath, Redemption, RequestQuery,
    RowComparison, SimilarCalls, StoredRequest, StoredRequestPage, StoredSessionMemory,
    SubmitResult, TreeHead, WriteContext,
};
use crate::reviews::StoredReview;
use crate::servers::{ServerLabels, StoredServer};

/// A store. An error means that nothing of the call was stored; the caller must not act as if it
/// had been.
pub trait Store: Send + Sync + 'static {
    // Requests.

    /// Stores a new request with its ledger entry and announcement. Durable. The same agent with
    /// the same idempotency key gets the existing request. A request decided by a grant consumes
    /// one use of the grant in the same commit, or fails with
    /// [`StoreError::GrantInactive`](crate::StoreError::GrantInactive). A new request is pending,
    /// or decided by policy or grant; it cannot bring any other decision.
    fn submit(&self, new: NewRequest) -> impl Future<Output = StoreResult<SubmitResult>> + Send;

    /// Applies an event to a request through the state machine of `workflow`, with the store's own
    /// time. Durable; votes, decision, ledger entries and announcements are in one commit. Events
    /// that only the passing of time causes are deferred behind other writes.
    fn apply(
        &self,
        id: Id,
        event: Event,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<Applied>> + Send;

    /// Waits until the request has ended and returns it. Fails when the store closes or its writer
    /// stops. Commits that fail for a while (a full disk) do not end the wait, because they end no
    /// request: the caller bounds its wait by the deadline. Dropping the future removes the waiter.
    fn wait_for_end(&self, id: Id) -> impl Future<Output = StoreResult<StoredRequest>> + Send;

    /// One request. Fails with [`StoreError::Unrecorded`](crate::StoreError::Unrecorded) if its row
    /// says approved and the ledger has no entry of the approval; so do the other methods that
    /// return requests of one agent. A permit that was used according to the ledger is used,
    /// whatever the row says.
    fn request(&self, id: Id) -> impl Future<Output = StoreResult<Option<StoredRequest>>> + Send;

    /// The request that this requester made with this idempotency key.
    fn request_by_key(
        &self,
        requester: Requester,
        key: String,
    ) -> impl Future<Output = StoreResult<Option<StoredRequest>>> + Send;

    /// Every request that has not ended, oldest first.
    fn pending(&self) -> impl Future<Output = StoreResult<Vec<StoredRequest>>> + Send;

    /// The requests that people approved and whose permit is unused and valid now, oldest first, as
    /// their rows say: [`request`](Store::request) says what the ledger says.
    fn unused_approvals(&self, now: Timestamp)
    -> impl Future<Output = StoreResult<Vec<Id>>> + Send;

    /// The next escalation or deadline of each request that has not ended.
    fn deadlines(&self) -> impl Future<Output = StoreResult<Vec<(Id, Timestamp)>>> + Send;

    /// Requests that match a query, newest first.
    fn find(
        &self,
        query: RequestQuery,
    ) -> impl Future<Output = StoreResult<StoredRequestPage>> + Send;

    /// Earlier calls of this tool by this agent, before that request and of the same tier, because
    /// many approved low-risk calls say nothing about a high-risk one: the newest few, and the
    /// decisions since a time, counted among the tool's newest 2,000 requests.
    fn similar_calls(
        &self,
        agent: String,
        tool: (String, Tier),
        before: Id,
        since: Timestamp,
    ) -> impl Future<Output = StoreResult<SimilarCalls>> + Send;

    /// Redeems a permit: for the approved call of this request, by this agent, once, before it
    /// expires. Durable. Refused while the clock is unreliable, because expiry cannot be checked.
    fn redeem(
        &self,
        id: Id,
        agent: String,
        digest: CallDigest,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<Redemption>> + Send;

    /// Stores the outcome that the agent reports for an ended request; only the first report
    /// counts. Durable.
    fn record_outcome(
        &self,
        id: Id,
        agent: String,
        outcome: String,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<StoredRequest>> + Send;

    // Reviews of calls that ran first.

    /// Reviews, newest first: those that have not ended, or all that began since a time.
    fn reviews(
        &self,
        since: Option<Timestamp>,
    ) -> impl Future<Output = StoreResult<Vec<StoredReview>>> + Send;

    /// One review. Fails with [`StoreError::Unrecorded`](crate::StoreError::Unrecorded) if the
    /// ledger has no entry of its beginning with the same snapshot.
    fn review(&self, request: Id)
    -> impl Future<Output = StoreResult<Option<StoredReview>>> + Send;

    /// Applies an event to a review through the state machine of `workflow`. Durable.
    fn apply_review(
        &self,
        request: Id,
        event: ReviewEvent,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<StoredReview>> + Send;

    // What people say about calls that ran.

    /// Stores whether a person regrets a call that ran; the last answer counts. Durable.
    fn give_feedback(
        &self,
        feedback: CallFeedback,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// What people said about a call.
    fn feedback(
        &self,
        request: Id,
    ) -> impl Future<Output = StoreResult<Option<CallFeedback>>> + Send;

    /// The calls that should not have run, the newest first.
    fn regretted(&self) -> impl Future<Output = StoreResult<Vec<RegrettedCall>>> + Send;

    // Passes and other entries.

    /// Records a call that ran without a question. Returns before its commit, which follows within
    /// milliseconds; waits for the commit when as many passes are unsynced as a crash may lose, or
    /// when the last commit failed. The store sets the entry's time.
    fn record_pass(&self, entry: Entry<'static>) -> impl Future<Output = StoreResult<()>> + Send;

    /// Appends any other entries. Durable. The store sets their time.
    fn append(&self, entries: Vec<Entry<'static>>) -> impl Future<Output = StoreResult<()>> + Send;

    /// Sets the time of the ledger back: the entry of the rebase and all that follow have the time
    /// `to` or a later one. Ends every pending request, grant, login and permit, because their
    /// times are of the other clock. Fails if `to` is not before the newest entry. Durable.
    fn rebase_clock(
        &self,
        rebase: ClockRebase,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    // Grants.

    /// Stores a new grant. Durable. An approval for the session is not stored here: `apply` stores
    /// it with its decision, and it is believed only with the ledger entries of its request.
    fn create_grant(
        &self,
        grant: Grant,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// Revokes a grant or an approval for the session; `false` if there is no such active one.
    /// Durable.
    fn revoke_grant(
        &self,
        id: Id,
        person: String,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// All active grants, newest first; with `all`, expired and revoked ones as well.
    fn grants(&self, all: bool) -> impl Future<Output = StoreResult<Vec<Grant>>> + Send;

    // MCP servers.

    /// Stores what an MCP server listed. Durable. Servers without labels are forgotten beyond a
    /// limit, the one that was not listed for the longest time first.
    fn save_server(&self, server: StoredServer) -> impl Future<Output = StoreResult<()>> + Send;

    /// All MCP servers, the most recent first.
    fn servers(&self) -> impl Future<Output = StoreResult<Vec<StoredServer>>> + Send;

    /// Replaces all labels of a server's tools. Durable.
    fn save_labels(
        &self,
        labels: ServerLabels,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// The labels of all servers. Rows that the ledger does not confirm are left out.
    fn labels(&self) -> impl Future<Output = StoreResult<Vec<ServerLabels>>> + Send;

    // Sessions.

    /// Stores what a session did before. Durable, but deferred. Sessions that were idle for
    /// [`SESSION_IDLE`](crate::SESSION_IDLE) are forgotten, and the oldest beyond a limit.
    fn save_session_memory(
        &self,
        saved: StoredSessionMemory,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// What all sessions did before, the most recent first.
    fn session_memories(
        &self,
    ) -> impl Future<Output = StoreResult<Vec<StoredSessionMemory>>> + Send;

    // Crisis.

    /// Marks a session as in crisis, or renews the mark. Durable.
    fn begin_crisis(
        &self,
        crisis: CrisisSession,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// Removes the mark by a person's decision; `false` if there was none. Durable.
    fn lift_crisis(
        &self,
        agent: String,
        session: String,
        person: String,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// Every session in crisis.
    fn crises(&self) -> impl Future<Output = StoreResult<Vec<CrisisSession>>> + Send;

    /// Records that a person took over a conversation; `false` if it is not in a crisis. Durable.
    fn take_over(
        &self,
        taken: CrisisTakeover,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// Who took over which session in crisis.
    fn takeovers(&self) -> impl Future<Output = StoreResult<Vec<CrisisTakeover>>> + Send;

    // People and agents.

    /// Adds or changes a person. Durable.
    fn save_person(
        &self,
        person: StoredPerson,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// All people that the ledger confirms.
    fn people(&self) -> impl Future<Output = StoreResult<Vec<StoredPerson>>> + Send {
        async { Ok(self.credentials().await?.people) }
    }

    /// Adds or changes an agent. Durable.
    fn save_agent(
        &self,
        agent: StoredAgent,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// All agents that the ledger confirms.
    fn agents(&self) -> impl Future<Output = StoreResult<Vec<StoredAgent>>> + Send {
        async { Ok(self.credentials().await?.agents) }
    }

    /// Stores a login (a browser session or a person's token), or its end. Durable.
    fn save_login(
        &self,
        login: StoredLogin,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// All logins that have neither ended nor expired, and that the ledger confirms.
    fn logins(&self) -> impl Future<Output = StoreResult<Vec<StoredLogin>>> + Send {
        async { Ok(self.credentials().await?.logins) }
    }

    /// Stores an account of a chat platform that a person linked, or its end. Durable. An account
    /// that belongs to another person fails with
    /// [`StoreError::Exists`](crate::StoreError::Exists).
    fn save_account(
        &self,
        account: LinkedAccount,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// All accounts that have not ended, and that the ledger confirms.
    fn accounts(&self) -> impl Future<Output = StoreResult<Vec<LinkedAccount>>> + Send {
        async { Ok(self.credentials().await?.accounts) }
    }

    /// Stores a passkey, its use or its end. Durable. Key, person and credential never change, and
    /// an ended passkey stays ended.
    fn save_passkey(
        &self,
        passkey: Passkey,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// All passkeys that have not ended, and that the ledger confirms.
    fn passkeys(&self) -> impl Future<Output = StoreResult<Vec<Passkey>>> + Send {
        async { Ok(self.credentials().await?.passkeys) }
    }

    /// People, agents, logins, linked accounts and passkeys of one moment. A row counts only if the
    /// newest ledger entry about it has its digest.
    fn credentials(&self) -> impl Future<Output = StoreResult<CredentialRows>> + Send;

    /// Records the rows of a store of an earlier version, whose entries have no digests; does
    /// nothing if the ledger has a digest. Returns how many rows were recorded. Durable.
    fn adopt_credentials(
        &self,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<u64>> + Send;

    /// Stores a browser's push subscription, or its end. Durable.
    fn save_subscription(
        &self,
        subscription: PushSubscription,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// All subscriptions that have not ended.
    fn subscriptions(&self) -> impl Future<Output = StoreResult<Vec<PushSubscription>>> + Send;

    // Announcements.

    /// Announcements that are not done, oldest first, with a sequence number greater than `after`.
    fn outbox(
        &self,
        after: u64,
        limit: u32,
    ) -> impl Future<Output = StoreResult<Vec<OutboxEntry>>> + Send;

    /// Records one delivery attempt. Durable, but deferred: it may wait a moment for another write
    /// to share its commit. A delivery and a final failure are ledger entries.
    fn record_attempt(
        &self,
        attempt: DeliveryAttempt,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// Records that the platform reports a message as undelivered after it counted as delivered,
    /// and announces the request again. Returns the pending request; `None`, without a change, if
    /// no pending request has such a message.
    fn mark_undelivered(
        &self,
        channel: String,
        message: String,
        why: String,
        context: WriteContext,
    ) -> impl Future<Output = StoreResult<Option<Id>>> + Send;

    /// The deliveries of a request's announcements.
    fn deliveries(
        &self,
        request: Id,
    ) -> impl Future<Output = StoreResult<Vec<DeliveryStatus>>> + Send;

    // The ledger.

    /// Entries from an index on, with their leaf hashes; at most 4,096 or about 4 MiB per call.
    fn entries(
        &self,
        from: u64,
        limit: u32,
    ) -> impl Future<Output = StoreResult<LedgerSlice>> + Send;

    /// The ledger entries about a request, in order.
    fn request_history(
        &self,
        request: Id,
    ) -> impl Future<Output = StoreResult<Vec<IndexedEntry>>> + Send;

    /// Compares the rows of all requests with the entries about them. Reads the whole ledger.
    fn compare_rows(&self) -> impl Future<Output = StoreResult<RowComparison>> + Send;

    /// Whether the entries were those of the tree's head when the store was opened. In a changed
    /// ledger no grant is believed.
    fn has_intact_ledger(&self) -> impl Future<Output = StoreResult<bool>> + Send;

    /// The newest entries about what is in force, as they were when the store was opened.
    fn newest_entries(&self) -> impl Future<Output = StoreResult<NewestEntries>> + Send;

    /// Size and root of the committed tree.
    fn tree_head(&self) -> impl Future<Output = StoreResult<TreeHead>> + Send;

    /// The RFC 6962 inclusion proof of an entry in the tree of `size`.
    fn inclusion_proof(
        &self,
        index: u64,
        size: u64,
    ) -> impl Future<Output = StoreResult<ProofPath>> + Send;

    /// The RFC 6962 consistency proof between two sizes.
    fn consistency_proof(
        &self,
        old: u64,
        new: u64,
    ) -> impl Future<Output = StoreResult<ProofPath>> + Send;

    /// Stores a signed checkpoint, unless one of the same or a greater size exists. Durable. Fails
    /// if the ledger has fewer entries than the checkpoint.
    fn save_checkpoint(
        &self,
        size: u64,
        context: String,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// The newest signed checkpoint.
    fn checkpoint(&self) -> impl Future<Output = StoreResult<Option<String>>> + Send;

    // The store itself.

    /// Events from now on, each after its commit. A receiver that falls behind gets
    /// `RecvError::Lagged` and must read the rows again.
    fn subscribe(&self) -> tokio::sync::broadcast::Receiver<StoreEvent>;

    /// Whether the last commit succeeded. Tries a new one if the last failed.
    fn is_healthy(&self) -> impl Future<Output = bool> + Send;

    /// Commits unsynced passes, marks a clean stop and closes. Every later call fails.
    fn close(&self) -> impl Future<Output = StoreResult<()>> + Send;
}
