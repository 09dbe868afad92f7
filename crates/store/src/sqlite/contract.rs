//! The contract of a store, implemented by SQLite.

use std::sync::Arc;
use std::time::Duration;

use countersign_json::canonical::CallDigest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::Grant;
use countersign_workflow::request::{Event, Requester};
use countersign_workflow::review::ReviewEvent;
use tokio::sync::broadcast;

use super::batch::Batch;
use super::store::SqliteStore;
use super::{
    clock_rebase, credential_rows, credentials, crises, feedback, grants, ledger, outbox, people,
    permits, query, recorded, request_row, reviews, servers, session_memory,
};
use crate::{
    Applied, CallFeedback, ClockRebase, CredentialRows, CrisisSession, CrisisTakeover,
    DeliveryAttempt, DeliveryStatus, IndexedEntry, LedgerSlice, LinkedAccount, NewRequest,
    NewestEntries, OutboxEntry, Passkey, ProofPath, PushSubscription, Redemption, RegrettedCall,
    RequestQuery, RowComparison, ServerLabels, SimilarCalls, Store, StoreError, StoreEvent,
    StoreResult, StoredAgent, StoredLogin, StoredPerson, StoredRequest, StoredRequestPage,
    StoredReview, StoredServer, StoredSessionMemory, SubmitResult, TreeHead, WriteContext,
};

/// Methods that write one record with its context.
macro_rules! writes {
    ($($name:ident($record:ty) = $write:path;)*) => {
        $(async fn $name(&self, record: $record, context: WriteContext) -> StoreResult<()> {
            self.write(move |batch| $write(batch, &record, &context)).await
        })*
    };
}

/// Methods that read.
macro_rules! reads {
    ($($name:ident($($given:ident: $type:ty),*) -> $found:ty = $read:path;)*) => {
        $(async fn $name(&self, $($given: $type),*) -> StoreResult<$found> {
            self.read(move |conn| $read(conn, $($given),*)).await
        })*
    };
}

impl Store for SqliteStore {
    reads! {
        pending() -> Vec<StoredRequest> = request_row::pending;
        unused_approvals(now: Timestamp) -> Vec<Id> = query::unused_approvals;
        deadlines() -> Vec<(Id, Timestamp)> = request_row::deadlines;
        servers() -> Vec<StoredServer> = servers::servers;
        takeovers() -> Vec<CrisisTakeover> = crises::takeovers;
        crises() -> Vec<CrisisSession> = crises::crises;
        subscriptions() -> Vec<PushSubscription> = credentials::subscriptions;
        compare_rows() -> RowComparison = recorded::compare;
        regretted() -> Vec<RegrettedCall> = feedback::regretted;
        reviews(since: Option<Timestamp>) -> Vec<StoredReview> = reviews::list;
        feedback(request: Id) -> Option<CallFeedback> = feedback::of;
        deliveries(request: Id) -> Vec<DeliveryStatus> = outbox::deliveries;
        request_history(request: Id) -> Vec<IndexedEntry> = ledger::request_history;
        outbox(after: u64, limit: u32) -> Vec<OutboxEntry> = outbox::outbox;
        entries(from: u64, limit: u32) -> LedgerSlice = ledger::entries;
        checkpoint() -> Option<String> = ledger::checkpoint;
    }

    writes! {
        create_grant(Grant) = grants::create;
        save_labels(ServerLabels) = servers::save_labels;
        begin_crisis(CrisisSession) = crises::begin_crisis;
        save_person(StoredPerson) = credential_rows::save_person;
        save_agent(StoredAgent) = people::save_agent;
        save_login(StoredLogin) = people::save_login;
        save_account(LinkedAccount) = credentials::save_account;
        save_passkey(Passkey) = credentials::save_passkey;
        save_subscription(PushSubscription) = credentials::save_subscription;
        give_feedback(CallFeedback) = feedback::give;
        rebase_clock(ClockRebase) = clock_rebase::rebase;
    }

    async fn submit(&self, new: NewRequest) -> StoreResult<SubmitResult> {
        self.submit_request(new).await
    }

    async fn apply(&self, id: Id, event: Event, context: WriteContext) -> StoreResult<Applied> {
        self.apply_event(id, event, context).await
    }

    async fn wait_for_end(&self, id: Id) -> StoreResult<StoredRequest> {
        self.wait_until_end(id).await
    }

    async fn request(&self, id: Id) -> StoreResult<Option<StoredRequest>> {
        recorded::read_request(self, id).await
    }

    async fn request_by_key(
        &self,
        requester: Requester,
        key: String,
    ) -> StoreResult<Option<StoredRequest>> {
        self.read_recorded(move |conn, head| recorded::by_key(conn, &requester, &key, head)).await
    }

    async fn find(&self, query: RequestQuery) -> StoreResult<StoredRequestPage> {
        self.read_recorded(move |conn, head| recorded::find(conn, &query, head)).await
    }

    async fn similar_calls(
        &self,
        agent: String,
        tool: (String, Tier),
        before: Id,
        since: Timestamp,
    ) -> StoreResult<SimilarCalls> {
        self.read(move |conn| query::similar_calls(conn, &agent, &tool, before, since)).await
    }

    async fn redeem(
        &self,
        id: Id,
        agent: String,
        digest: CallDigest,
        context: WriteContext,
    ) -> StoreResult<Redemption> {
        self.write_validated(move |batch| permits::redeem(batch, id, &agent, &digest, &context))
            .await
    }

    async fn record_outcome(
        &self,
        id: Id,
        agent: String,
        outcome: String,
        context: WriteContext,
    ) -> StoreResult<StoredRequest> {
        self.write_validated(move |batch| {
            permits::record_outcome(batch, id, &agent, outcome, &context)
        })
        .await
    }

    async fn review(&self, request: Id) -> StoreResult<Option<StoredReview>> {
        self.read_recorded(move |conn, head| reviews::one(conn, request, head)).await
    }

    async fn apply_review(
        &self,
        request: Id,
        event: ReviewEvent,
        context: WriteContext,
    ) -> StoreResult<StoredReview> {
        self.write_validated(move |batch| reviews::apply(batch, request, &event, &context)).await
    }

    async fn record_pass(&self, entry: Entry<'static>) -> StoreResult<()> {
        self.push_pass(entry).await
    }

    async fn append(&self, entries: Vec<Entry<'static>>) -> StoreResult<()> {
        self.write_validated(move |batch| {
            let opinions = entries.iter().filter(|entry| entry.kind == EntryKind::JudgeOpinion);
            let about: Vec<Id> =
                opinions.filter_map(|entry| Id::parse(entry.request.as_deref()?)).collect();
            batch.append_all(entries)?;
            for id in about {
                batch.publish(StoreEvent::Opinion(id));
            }
            Ok(())
        })
        .await
    }

    async fn revoke_grant(
        &self,
        id: Id,
        person: String,
        context: WriteContext,
    ) -> StoreResult<bool> {
        self.write(move |batch| grants::revoke(batch, id, &person, &context)).await
    }

    async fn grants(&self, all: bool) -> StoreResult<Vec<Grant>> {
        grants::read_grants(self, all).await
    }

    async fn save_server(&self, server: StoredServer) -> StoreResult<()> {
        self.write(move |batch| servers::save_server(batch, &server)).await
    }

    async fn labels(&self) -> StoreResult<Vec<ServerLabels>> {
        let shared = Arc::clone(&self.shared);
        self.read_recorded(move |conn, head| servers::labels(conn, head, &shared.revocations)).await
    }

    async fn save_session_memory(&self, saved: StoredSessionMemory) -> StoreResult<()> {
        self.write_deferred(Duration::ZERO, move |batch| session_memory::save(batch, &saved)).await
    }

    async fn session_memories(&self) -> StoreResult<Vec<StoredSessionMemory>> {
        let now = self.clock.now().at;
        self.read(move |conn| session_memory::all(conn, now)).await
    }

    async fn lift_crisis(
        &self,
        agent: String,
        session: String,
        person: String,
        context: WriteContext,
    ) -> StoreResult<bool> {
        self.write(move |batch| crises::lift_crisis(batch, &agent, &session, &person, &context))
            .await
    }

    async fn take_over(&self, taken: CrisisTakeover, context: WriteContext) -> StoreResult<bool> {
        self.write(move |batch| crises::take_over(batch, &taken, &context)).await
    }

    async fn credentials(&self) -> StoreResult<CredentialRows> {
        credential_rows::read(self).await
    }

    async fn adopt_credentials(&self, context: WriteContext) -> StoreResult<u64> {
        self.write(move |batch| credential_rows::adopt(batch, &context)).await
    }

    async fn record_attempt(
        &self,
        attempt: DeliveryAttempt,
        context: WriteContext,
    ) -> StoreResult<()> {
        let work = move |batch: &mut Batch<'_>| outbox::record_attempt(batch, &attempt, &context);
        self.write_deferred(self.shared.options.pass_delay, work).await
    }

    async fn mark_undelivered(
        &self,
        channel: String,
        message: String,
        why: String,
        context: WriteContext,
    ) -> StoreResult<Option<Id>> {
        self.write(move |batch| {
            outbox::mark_undelivered(batch, (&channel, &message), &why, &context)
        })
        .await
    }

    async fn has_intact_ledger(&self) -> StoreResult<bool> {
        Ok(self.shared.revocations.is_intact())
    }

    async fn newest_entries(&self) -> StoreResult<NewestEntries> {
        Ok(self.shared.revocations.newest_entries().clone())
    }

    async fn tree_head(&self) -> StoreResult<TreeHead> {
        self.check_open()?;
        Ok(self.shared.head())
    }

    async fn inclusion_proof(&self, index: u64, size: u64) -> StoreResult<ProofPath> {
        let committed = self.shared.head().size;
        self.read(move |conn| ledger::inclusion_proof_of(conn, committed, index, size)).await
    }

    async fn consistency_proof(&self, old: u64, new: u64) -> StoreResult<ProofPath> {
        let committed = self.shared.head().size;
        self.read(move |conn| ledger::consistency_proof_of(conn, committed, old, new)).await
    }

    async fn save_checkpoint(&self, size: u64, note: String) -> StoreResult<()> {
        if size > self.shared.head().size {
            return Err(StoreError::Invalid(format!("the ledger has fewer than {size} entries")));
        }
        self.write(move |batch| ledger::save_checkpoint(batch.conn, size, &note)).await
    }

    fn subscribe(&self) -> broadcast::Receiver<StoreEvent> {
        self.shared.events.subscribe()
    }

    async fn is_healthy(&self) -> bool {
        self.probe().await
    }

    async fn close(&self) -> StoreResult<()> {
        self.stop().await
    }
}
