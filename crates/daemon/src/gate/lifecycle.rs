//! The life of a stored request: waiting, decision, cancellation, redemption.

use std::sync::Arc;
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
use super::uninterrupted::uninterrupted;
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
        let waiter = self.waiter(id);
        let stored = self.wait(id, at_most).await;
        waiter.answered();
        let stored = stored?;
        // The agent would run the call that was approved just before the freeze.
        self.check_approval(&stored)?;
        Ok(stored)
    }

    /// Like `wait_for_agent`, for the original API: its questions stay when their caller stops.
    pub async fn wait_for_original_client(
        &self,
        id: Id,
        at_most: Duration,
    ) -> Result<StoredRequest, Rejection> {
        let _waiter = self.waiter(id).keeping_question();
        let stored = self.wait(id, at_most).await?;
        self.check_approval(&stored)?;
        Ok(stored)
    }

    /// Marks the agent as waiting until this is dropped.
    pub fn waiter(&self, id: Id) -> AnswerWaiter<'_> {
        self.waiters.add(id, &self.clock)
    }

    /// Withdraws the questions of agents that stopped: no one would use the answers.
    pub async fn withdraw_abandoned(&self) -> Result<(), StoreError> {
        for id in self.waiters.abandoned(self.clock.now().at) {
            let Some(stored) = self.store.request(id).await? else {
                self.waiters.ended(id);
                continue;
            };
            let facts = Some(serde_json::json!({ "why": "the agent stopped" }).to_string());
            let note = WriteContext { policy: self.rules().hash, facts, edited: None };
            let by = stored.request.requester.clone();
            match self.apply_event(id, Event::Cancel { by }, note).await {
                Ok(_) => tracing::info!(%id, "the question of a stopped agent was withdrawn"),
                // It ended by itself meanwhile.
                Err(StoreError::Refused(_)) => self.waiters.ended(id),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// When the agent stopped waiting, if it waited before.
    pub fn stopped_waiting_at(&self, id: Id) -> Option<Timestamp> {
        self.waiters.left(id, self.clock.now().at)
    }

    /// Applies a person's decision, to its end: what it approves must also come into force if the
    /// client disconnects.
    pub async fn decide(
        self: &Arc<Gate>,
        id: Id,
        event: Event,
        note: WriteContext,
    ) -> Result<Applied, StoreError> {
        let gate = Arc::clone(self);
        uninterrupted(async move { gate.apply_event(id, event, note).await }).await
    }

    /// Applies an event. For a decision that a client sends: `decide`.
    pub(super) async fn apply_event(
        &self,
        id: Id,
        event: Event,
        note: WriteContext,
    ) -> Result<Applied, StoreError> {
        if matches!(event, Event::Answer { choice: Choice::Approve, .. } | Event::AnswerParts(_)) {
            self.integrity.check()?;
            if let Err(frozen) = self.freeze.check() {
                return Err(StoreError::Halted(frozen.to_string()));
            }
            self.check_takeover(id).await?;
            let event = self.with_demands(id, event).await?;
            return self.apply(id, event, note).instrument(request_span(id)).await;
        }
        self.apply(id, event, note).instrument(request_span(id)).await
    }

    async fn apply(&self, id: Id, event: Event, note: WriteContext) -> Result<Applied, StoreError> {
        let parts = match &event {
            Event::AnswerParts(given) => (given.keys(), given.grants.clone()),
            _ => (Vec::new(), Vec::new()),
        };
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
            self.note_crisis_answer(&applied.stored);
            self.session_memories.settle(id, state == State::Approved);
            self.grants.follow(&applied.stored, &parts.0, self.clock.now().at);
            parts.1.into_iter().for_each(|grant| self.grants.add(grant));
            self.learn(&applied.stored).await;
            if let Some(judge) = self.judge.current() {
                judge.decided(&applied.stored);
            }
            tracing::debug!(state = state.label(), "a request has ended");
            self.has_ended(id, state).await;
            if matches!(applied.change, Transition::Ended(_)) {
                Box::pin(self.apply_policy_change(&applied.stored)).await;
            }
        }
        Ok(applied)
    }

    /// Stores what sessions did since the last call.
    pub async fn save_session_memories(&self) {
        for saved in self.session_memories.take_changed(self.clock.now().at) {
            if let Err(error) = self.store.save_session_memory(saved.clone()).await {
                self.session_memories.mark_changed(&saved);
                tracing::error!(%error, "the memory of a session was not stored");
            }
        }
    }

    /// Escalates or expires a request if it is due.
    pub async fn pass_time(&self, id: Id) -> Result<Applied, StoreError> {
        let note = WriteContext { policy: self.rules().hash, facts: None, edited: None };
        self.apply_event(id, Event::Time, note).await
    }

    /// Cancels a request by its agent.
    pub async fn cancel(&self, id: Id, caller: &Caller) -> Result<Applied, StoreError> {
        let note = WriteContext { policy: self.rules().hash, facts: None, edited: None };
        let by = Requester::Agent(caller.agent.clone());
        self.apply_event(id, Event::Cancel { by }, note).await
    }

    /// Redeems a permit.
    pub async fn redeem(
        &self,
        id: Id,
        agent: String,
        digest: CallDigest,
    ) -> Result<Redemption, Rejection> {
        let note = WriteContext { policy: self.rules().hash, facts: None, edited: None };
        self.integrity.check()?;
        self.freeze.check()?;
        // A clock that was set back could make an expired permit look valid.
        if !self.clock.now().reliable {
            return Ok(Redemption::Expired);
        }
        // An approval from before a crisis does not count in the crisis.
        if let Some(stored) = self.store.request(id).await? {
            let in_crisis =
                !stored.request.crisis && self.crises.holds(&agent, Some(&stored.session));
            let taken_over = stored.request.crisis
                && self.crises.takeover(&agent, Some(&stored.session)).is_some();
            let void = self.is_permit_void(&stored) || self.is_suspended(&stored);
            if in_crisis || taken_over || void {
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
