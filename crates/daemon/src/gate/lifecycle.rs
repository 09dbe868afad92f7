//! What becomes of a request that is kept: waited for, decided, taken back, redeemed.

use std::time::Duration;

use countersign_json::canonical::CallDigest;
use countersign_store::{Applied, Note, Redeemed, Store as _, StoreError, Stored};
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::{Event, Requester, State, Transition};
use tracing::Instrument as _;

use super::{AnswerWaiter, Caller, Gate, Rejection, request_span};

impl Gate {
    /// Waits for the end of a request, at most so long. The request as it then stands.
    pub async fn wait(&self, id: Id, at_most: Duration) -> Result<Stored, Rejection> {
        match tokio::time::timeout(at_most, self.store.ended(id)).await {
            Ok(ended) => Ok(ended?),
            Err(_) => self.store.request(id).await?.ok_or(Rejection::NoSuchRequest),
        }
    }

    /// The same for the agent that asked: people hear of it when it goes.
    pub async fn wait_for_agent(&self, id: Id, at_most: Duration) -> Result<Stored, Rejection> {
        let _listener = self.waiter(id);
        self.wait(id, at_most).await
    }

    /// The agent listens for the answer as long as it keeps this.
    pub fn waiter(&self, id: Id) -> AnswerWaiter<'_> {
        self.waiters.add(id, &self.clock)
    }

    /// Since when the agent no longer waits for the answer, if it did before.
    pub fn stopped_waiting_at(&self, id: Id) -> Option<Timestamp> {
        self.waiters.left(id, self.clock.now().at)
    }

    /// A person answers.
    pub async fn decide(&self, id: Id, event: Event, note: Note) -> Result<Applied, StoreError> {
        self.apply(id, event, note).instrument(request_span(id)).await
    }

    async fn apply(&self, id: Id, event: Event, note: Note) -> Result<Applied, StoreError> {
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

    /// Time passes for a request: it may climb or expire.
    pub async fn pass_time(&self, id: Id) -> Result<Applied, StoreError> {
        let note = Note { policy: self.rules().hash, facts: None, edited: None };
        self.decide(id, Event::Time, note).await
    }

    /// The agent takes its request back.
    pub async fn cancel(&self, id: Id, caller: &Caller) -> Result<Applied, StoreError> {
        let note = Note { policy: self.rules().hash, facts: None, edited: None };
        let by = Requester::Agent(caller.agent.clone());
        self.decide(id, Event::Cancel { by }, note).await
    }

    /// An executor uses a permit.
    pub async fn redeem(
        &self,
        id: Id,
        agent: String,
        digest: CallDigest,
    ) -> Result<Redeemed, StoreError> {
        let note = Note { policy: self.rules().hash, facts: None, edited: None };
        // A clock that went back could make a late permit look timely.
        if !self.clock.now().reliable {
            return Ok(Redeemed::Late);
        }
        // What was approved before a crisis was not approved in it.
        if let Some(stored) = self.store.request(id).await?
            && !stored.request.crisis
            && self.crises.holds(&agent, Some(&stored.session))
        {
            return Ok(Redeemed::Late);
        }
        self.store.redeem(id, agent, digest, note).await
    }
}
