//! The steps of a request: stored, changed, awaited.

use std::time::Duration;

use countersign_types::id::Id;
use countersign_workflow::request::Event;

use super::batch::Batch;
use super::store::SqliteStore;
use super::{apply, recorded, requests};
use crate::{
    Applied, NewRequest, StoreError, StoreResult, StoredRequest, SubmitResult, WriteContext,
};

impl SqliteStore {
    /// Stores a request.
    pub(super) async fn submit_request(&self, new: NewRequest) -> StoreResult<SubmitResult> {
        // Whether a grant still covers the call shows only when one of its uses is consumed.
        if new.request.decision.is_some() {
            return self.write(move |batch| requests::submit(batch, new)).await;
        }
        self.write_validated(move |batch| requests::submit(batch, new)).await
    }

    /// Applies an event to a request.
    pub(super) async fn apply_event(
        &self,
        id: Id,
        event: Event,
        context: WriteContext,
    ) -> StoreResult<Applied> {
        let time = matches!(event, Event::Time);
        let work = move |batch: &mut Batch<'_>| apply::apply(batch, id, event, &context);
        // When many requests expire at once, agents and people do not queue behind them.
        if time {
            return self.write_deferred(Duration::ZERO, work).await;
        }
        self.write_validated(work).await
    }

    /// Waits until a request has ended.
    pub(super) async fn wait_until_end(&self, id: Id) -> StoreResult<StoredRequest> {
        let waiter = self.shared.waiters.register(id);
        let read = self.read_recorded(move |conn, head| recorded::request(conn, id, head));
        let stored = read.await?.ok_or(StoreError::NotFound("request"))?;
        if stored.request.state.has_ended() {
            return Ok(stored);
        }
        waiter.ended().await.ok_or(StoreError::Closed)
    }
}
