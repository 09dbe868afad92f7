//! What becomes of a request that is kept: waited for, decided, taken back, redeemed.

use std::time::Duration;

use countersign_json::canonical::CallDigest;
use countersign_store::{Applied, Redemption, Store as _, StoreError, StoredRequest, WriteContext};
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::{Change, Event, Requester, State};
use tracing::Instrument as _;

use super::{Caller, Gate, Listener, Rejection, request_span};

impl Gate {
    /// Waits for the end of a request, at most so long. The request as it then stands.
    pub async fn wait(&self, id: Id, at_most: Duration) -> Result<StoredRequest, Rejection> {
        match tokio::time::timeout(at_most, self.store.wait_for_end(id)).await {
            Ok(ended) => Ok(ended?),
            Err(_) => self.store.request(id).await?.ok_or(Rejection::NoSuchRequest),
        }
    }

    /// The same for the agent that asked: people hear of it when it goes.
    pub async fn wait_as_agent(
        &self,
        id: Id,
        at_most: Duration,
    ) -> Result<StoredRequest, Rejection> {
        let _listener = self.listener(id);
        self.wait(id, at_most).await
    }

    /// The agent listens for the answer as long as it keeps this.
    pub fn listener(&self, id: Id) -> Listener<'_> {
        self.listening.listen(id, &self.clock)
    }

    /// Since when the agent no longer waits for the answer, if it did before.
    pub fn left_since(&self, id: Id) -> Option<Timestamp> {
        self.listening.left(id, self.clock.now().at)
    }

    /// A person answers.
    pub async fn decide(
        &self,
        id: Id,
        event: Event,
        note: WriteContext,
    ) -> Result<Applied, StoreError> {
        self.apply(id, event, note).instrument(request_span(id)).await
    }

    async fn apply(&self, id: Id, event: Event, note: WriteContext) -> Result<Applied, StoreError> {
        let applied = self.store.apply(id, event, note).await?;
        let state = applied.stored.request.state;
        if state.has_ended() && applied.stored.request.requester.is_drill() {
            self.open_drill.ended(id);
        } else if state.has_ended() {
            if matches!(applied.change, Change::Ended(_)) {
                self.metrics.ended(&applied.stored);
            }
            if state == State::Approved {
                self.joins.has_approval(&applied.stored);
            }
            tracing::debug!(state = state.label(), "a request has ended");
            self.has_ended(id, state).await;
        }
        Ok(applied)
    }

    /// Time passes for a request: it may climb or expire.
    pub async fn pass_time(&self, id: Id) -> Result<Applied, StoreError> {
        let note = WriteContext { policy: self.rules().hash, facts: None, edited: None };
        self.decide(id, Event::Time, note).await
    }

    /// The agent takes its request back.
    pub async fn cancel(&self, id: Id, caller: &Caller) -> Result<Applied, StoreError> {
        let note = WriteContext { policy: self.rules().hash, facts: None, edited: None };
        let by = Requester::Agent(caller.agent.clone());
        self.decide(id, Event::Cancel { by }, note).await
    }

    /// An executor uses a permit.
    pub async fn redeem(
        &self,
        id: Id,
        agent: String,
        digest: CallDigest,
    ) -> Result<Redemption, StoreError> {
        let note = WriteContext { policy: self.rules().hash, facts: None, edited: None };
        // A clock that went back could make a late permit look timely.
        if !self.clock.now().settled {
            return Ok(Redemption::Expired);
        }
        // What was approved before a crisis was not approved in it.
        if let Some(stored) = self.store.request(id).await?
            && !stored.request.crisis
            && self.crises.holds(&agent, Some(&stored.session))
        {
            return Ok(Redemption::Expired);
        }
        self.store.redeem(id, agent, digest, note).await
    }
}
