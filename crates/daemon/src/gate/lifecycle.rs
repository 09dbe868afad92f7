//! The life of a stored request: waiting, decision, cancellation, redemption.

use std::time::Duration;

use countersign_json::canonical::CallDigest;
use countersign_store::{Applied, Redemption, Store as _, StoreError, StoredRequest, WriteContext};
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::{Choice, Event, Requester, State, Transition};
use tracing::Instrument as _;

use super::answer::Rejection;
use super::caller::Caller;
use super::log_span::request_span;
use super::state::Gate;
use super::waiters::AnswerWaiter;

impl Gate {
    /// Waits for the end of a request, at most this long. Returns the request in its current state.
    pub async fn wait(&self, id: Id, at_most: Duration) -> Result<StoredRequest, Rejection> {
        match tokio::time::timeout(at_most, self.store.wait_for_end(id)).await {
            Ok(ended) => Ok(ended?),
            Err(_) => self.store.request(id).await?.ok_or(Rejection::NoSuchRequest),
        }
    }

    /// Like `wait`, for the agent of the request: people see when it stops waiting.
    pub async fn wait_for_agent(
        &self,
        id: Id,
        at_most: Duration,
    ) -> Result<StoredRequest, Rejection> {
        let _listener = self.waiter(id);
        self.wait(id, at_most).await
    }

    /// Marks the agent as waiting until this is dropped.
    pub fn waiter(&self, id: Id) -> AnswerWaiter<'_> {
        self.waiters.add(id, &self.clock)
    }

    /// When the agent stopped waiting, if it waited before.
    pub fn stopped_waiting_at(&self, id: Id) -> Option<Timestamp> {
        self.waiters.left(id, self.clock.now().at)
    }

    /// Applies a person's decision.
    pub async fn decide(
        &self,
        id: Id,
        event: Event,
        note: WriteContext,
    ) -> Result<Applied, StoreError> {
        if matches!(event, Event::Answer { choice: Choice::Approve, .. }) {
            self.integrity.check()?;
        }
        self.apply(id, event, note).instrument(request_span(id)).await
    }

    async fn apply(&self, id: Id, event: Event, note: WriteContext) -> Result<Applied, StoreError> {
        let applied = self.store.apply(id, event, note).await?;
        let state = applied.stored.request.state;
        if state.has_ended() && applied.stored.request.requester.is_drill() {
            self.open_drill.ended(id);
        } else if state.has_ended() {
            if matches!(applied.change, Transition::Ended(_)) {
                self.metrics.ended(&applied.stored);
            }
            if state == State::Approved {
                self.deduplication.has_approval(&applied.stored);
            }
            tracing::debug!(state = state.label(), "a request has ended");
            self.has_ended(id, state).await;
        }
        Ok(applied)
    }

    /// Escalates or expires a request if it is due.
    pub async fn pass_time(&self, id: Id) -> Result<Applied, StoreError> {
        let note = WriteContext { policy: self.rules().hash, facts: None, edited: None };
        self.decide(id, Event::Time, note).await
    }

    /// Cancels a request by its agent.
    pub async fn cancel(&self, id: Id, caller: &Caller) -> Result<Applied, StoreError> {
        let note = WriteContext { policy: self.rules().hash, facts: None, edited: None };
        let by = Requester::Agent(caller.agent.clone());
        self.decide(id, Event::Cancel { by }, note).await
    }

    /// Redeems a permit.
    pub async fn redeem(
        &self,
        id: Id,
        agent: String,
        digest: CallDigest,
    ) -> Result<Redemption, StoreError> {
        let note = WriteContext { policy: self.rules().hash, facts: None, edited: None };
        self.integrity.check()?;
        // A clock that was set back could make an expired permit look valid.
        if !self.clock.now().reliable {
            return Ok(Redemption::Expired);
        }
        // An approval from before a crisis does not count in the crisis.
        if let Some(stored) = self.store.request(id).await? {
            let in_crisis =
                !stored.request.crisis && self.crises.holds(&agent, Some(&stored.session));
            if in_crisis || self.is_permit_void(&stored) {
                return Ok(Redemption::Expired);
            }
        }
        let redeemed = self.store.redeem(id, agent, digest, note).await?;
        if redeemed == Redemption::Accepted {
            // The call may run only after the mark says that the permit was used: a copy of the
            // store from before does not continue the mark.
            self.raise_mark().await?;
        }
        Ok(redeemed)
    }
}
