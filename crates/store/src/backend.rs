//! All backends behind one type, so that the daemon needs no generics.

use countersign_json::canonical::CallDigest;
use countersign_ledger::entry::Entry;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::Grant;
use countersign_workflow::request::{Event, Requester};
use countersign_workflow::review::ReviewEvent;

use crate::sqlite::SqliteStore;
use crate::{
    Applied, CallFeedback, ClockRebase, CredentialRows, CrisisSession, CrisisTakeover,
    DeliveryAttempt, DeliveryStatus, IndexedEntry, LedgerSlice, LinkedAccount, NewRequest,
    NewestEntries, OutboxEntry, Passkey, ProofPath, PushSubscription, Redemption, RegrettedCall,
    RequestQuery, RowComparison, ServerLabels, SimilarCalls, Store, StoreEvent, StoreResult,
    StoredAgent, StoredLogin, StoredPerson, StoredRequest, StoredRequestPage, StoredReview,
    StoredServer, StoredSessionMemory, SubmitResult, TreeHead, WriteContext,
};

/// One of the backends. A new backend is a new variant.
#[derive(Debug)]
pub enum Backend {
    /// A file on this machine.
    Sqlite(SqliteStore),
}

macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {
        impl Store for Backend {
            $(async fn $name(&self, $($arg: $type),*) -> $out {
                match self {
                    Backend::Sqlite(store) => store.$name($($arg),*).await,
                }
            })*

            fn subscribe(&self) -> tokio::sync::broadcast::Receiver<StoreEvent> {
                match self {
                    Backend::Sqlite(store) => store.subscribe(),
                }
            }
        }
    };
}

forward! {
    submit(new: NewRequest) -> StoreResult<SubmitResult>;
    apply(id: Id, event: Event, context: WriteContext) -> StoreResult<Applied>;
    wait_for_end(id: Id) -> StoreResult<StoredRequest>;
    request(id: Id) -> StoreResult<Option<StoredRequest>>;
    request_by_key(requester: Requester, key: String) -> StoreResult<Option<StoredRequest>>;
    pending() -> StoreResult<Vec<StoredRequest>>;
    unused_approvals(now: Timestamp) -> StoreResult<Vec<Id>>;
    deadlines() -> StoreResult<Vec<(Id, Timestamp)>>;
    find(query: RequestQuery) -> StoreResult<StoredRequestPage>;
    similar_calls(
        agent: String,
        tool: (String, Tier),
        before: Id,
        since: Timestamp
    ) -> StoreResult<SimilarCalls>;
    redeem(
        id: Id,
        agent: String,
        digest: CallDigest,
        context: WriteContext
    ) -> StoreResult<Redemption>;
    record_outcome(
        id: Id,
        agent: String,
        outcome: String,
        context: WriteContext
    ) -> StoreResult<StoredRequest>;
    reviews(since: Option<Timestamp>) -> StoreResult<Vec<StoredReview>>;
    review(request: Id) -> StoreResult<Option<StoredReview>>;
    apply_review(
        request: Id,
        event: ReviewEvent,
        context: WriteContext
    ) -> StoreResult<StoredReview>;
    give_feedback(feedback: CallFeedback, context: WriteContext) -> StoreResult<()>;
    feedback(request: Id) -> StoreResult<Option<CallFeedback>>;
    regretted() -> StoreResult<Vec<RegrettedCall>>;
    record_pass(entry: Entry<'static>) -> StoreResult<()>;
    append(entries: Vec<Entry<'static>>) -> StoreResult<()>;
    rebase_clock(rebase: ClockRebase, context: WriteContext) -> StoreResult<()>;
    create_grant(grant: Grant, context: WriteContext) -> StoreResult<()>;
    revoke_grant(id: Id, person: String, context: WriteContext) -> StoreResult<bool>;
    grants(all: bool) -> StoreResult<Vec<Grant>>;
    save_server(server: StoredServer) -> StoreResult<()>;
    servers() -> StoreResult<Vec<StoredServer>>;
    save_labels(labels: ServerLabels, context: WriteContext) -> StoreResult<()>;
    labels() -> StoreResult<Vec<ServerLabels>>;
    save_session_memory(saved: StoredSessionMemory) -> StoreResult<()>;
    session_memories() -> StoreResult<Vec<StoredSessionMemory>>;
    begin_crisis(crisis: CrisisSession, context: WriteContext) -> StoreResult<()>;
    lift_crisis(
        agent: String,
        session: String,
        person: String,
        context: WriteContext
    ) -> StoreResult<bool>;
    crises() -> StoreResult<Vec<CrisisSession>>;
    take_over(taken: CrisisTakeover, context: WriteContext) -> StoreResult<bool>;
    takeovers() -> StoreResult<Vec<CrisisTakeover>>;
    save_person(person: StoredPerson, context: WriteContext) -> StoreResult<()>;
    save_agent(agent: StoredAgent, context: WriteContext) -> StoreResult<()>;
    save_login(login: StoredLogin, context: WriteContext) -> StoreResult<()>;
    save_account(account: LinkedAccount, context: WriteContext) -> StoreResult<()>;
    save_passkey(passkey: Passkey, context: WriteContext) -> StoreResult<()>;
    credentials() -> StoreResult<CredentialRows>;
    adopt_credentials(context: WriteContext) -> StoreResult<u64>;
    save_subscription(subscription: PushSubscription, context: WriteContext) -> StoreResult<()>;
    subscriptions() -> StoreResult<Vec<PushSubscription>>;
    outbox(after: u64, limit: u32) -> StoreResult<Vec<OutboxEntry>>;
    record_attempt(attempt: DeliveryAttempt, context: WriteContext) -> StoreResult<()>;
    mark_undelivered(
        channel: String,
        message: String,
        why: String,
        context: WriteContext
    ) -> StoreResult<Option<Id>>;
    deliveries(request: Id) -> StoreResult<Vec<DeliveryStatus>>;
    entries(from: u64, limit: u32) -> StoreResult<LedgerSlice>;
    request_history(request: Id) -> StoreResult<Vec<IndexedEntry>>;
    compare_rows() -> StoreResult<RowComparison>;
    has_intact_ledger() -> StoreResult<bool>;
    newest_entries() -> StoreResult<NewestEntries>;
    tree_head() -> StoreResult<TreeHead>;
    inclusion_proof(index: u64, size: u64) -> StoreResult<ProofPath>;
    consistency_proof(old: u64, new: u64) -> StoreResult<ProofPath>;
    save_checkpoint(size: u64, note: String) -> StoreResult<()>;
    checkpoint() -> StoreResult<Option<String>>;
    is_healthy() -> bool;
    close() -> StoreResult<()>;
}
