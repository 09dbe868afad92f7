//! Feeds the flood limits, and records quarantines and rejections in the ledger.

use std::collections::HashSet;

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_risk::segments::APPROVED_ONLY;
use countersign_store::{Store as _, StoreError, StoreEvent, StoredRequest, WriteContext};
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use countersign_workflow::request::State;

use super::flood::Quarantine;
use super::integrity::owned_facts;
use super::state::Gate;

impl Gate {
    /// Counts a pending request.
    pub(super) async fn opened(&self, stored: &StoredRequest) {
        self.deduplication.opened(stored);
        let now = self.clock.now().at;
        let quarantine = self.flood.record_open(&self.rules().flood, stored, now);
        self.log_quarantine(quarantine).await;
    }

    /// Counts the end of a request.
    pub(super) async fn has_ended(&self, id: Id, state: State) {
        self.waiters.ended(id);
        // A freeze denies every pending request; no agent is to blame for that.
        let denied = state == State::Denied
            && self.freeze.check().is_ok()
            && !self.is_partly_approved(id).await;
        let now = self.clock.now().at;
        let quarantine = self.flood.record_end(&self.rules().flood, id, denied, now);
        self.log_quarantine(quarantine).await;
    }

    /// Whether a person approved parts of the denied command.
    async fn is_partly_approved(&self, id: Id) -> bool {
        let stored = self.store.request(id).await.ok().flatten();
        let decision = stored.and_then(|stored| stored.request.decision);
        decision.is_some_and(|decision| decision.reason.starts_with(APPROVED_ONLY))
    }

    /// Counts events that no caller waited for: a cancelled submission counts too.
    pub async fn record_event(&self, happening: StoreEvent) -> Result<(), StoreError> {
        match happening {
            StoreEvent::Asked(id) if !self.flood.knows(id) => {
                let stored = self.store.request(id).await?;
                if let Some(stored) = stored.filter(|stored| !stored.request.state.has_ended()) {
                    self.opened(&stored).await;
                }
            }
            StoreEvent::Ended(id, state) if self.flood.knows(id) => self.has_ended(id, state).await,
            _ => {}
        }
        Ok(())
    }

    /// Counts again from the store, after events were missed.
    pub async fn recount_open(&self) -> Result<(), StoreError> {
        let counted = self.flood.all_open();
        let pending = self.store.pending().await?;
        for stored in &pending {
            self.opened(stored).await;
        }
        let open: HashSet<Id> = pending.iter().map(|stored| stored.request.id).collect();
        for id in counted.into_iter().filter(|id| !open.contains(id)) {
            let ended = self.store.request(id).await?;
            let state = ended.map_or(State::Expired, |stored| stored.request.state);
            if state.has_ended() {
                self.has_ended(id, state).await;
            }
        }
        Ok(())
    }

    async fn log_quarantine(&self, quarantine: Option<Quarantine>) {
        let Some(Quarantine { agent, until }) = quarantine else { return };
        tracing::warn!(agent, %until, "an agent is in quarantine after too many denials");
        let mut entry = Entry::new(0, EntryKind::Quarantine, self.rules().hash);
        entry.agent = Some(agent.into());
        entry.facts = vec![("until".into(), Value::String(until.to_string().into()))];
        if let Err(error) = self.store.append(vec![entry]).await {
            tracing::error!(%error, "a quarantine could not be recorded in the ledger");
        }
    }

    /// The agents in quarantine.
    pub fn quarantines(&self) -> Vec<Quarantine> {
        self.flood.quarantines(self.clock.now().at)
    }

    /// A person ends an agent's quarantine, once that is in the ledger. Returns whether it was in
    /// one.
    pub async fn lift_quarantine(
        &self,
        agent: &str,
        person: &str,
        note: &WriteContext,
    ) -> Result<bool, StoreError> {
        if !self.quarantines().iter().any(|one| one.agent == agent) {
            return Ok(false);
        }
        let mut entry = Entry::new(0, EntryKind::Quarantine, note.policy);
        entry.agent = Some(agent.to_owned().into());
        entry.person = Some(person.to_owned().into());
        entry.facts = owned_facts(note);
        entry.facts.push(("lifted".into(), Value::Bool(true)));
        self.store.append(vec![entry]).await?;
        self.flood.lift_quarantine(agent, self.clock.now().at);
        Ok(true)
    }

    /// Records the rejections since the last call: one entry per agent.
    pub async fn log_refusals(&self) {
        let refused = self.flood.take_refusal_counts();
        if refused.is_empty() {
            return;
        }
        let policy = self.rules().hash;
        let entries = refused.into_iter().map(|refused| {
            tracing::warn!(
                agent = refused.agent,
                count = refused.count,
                why = refused.why,
                "requests were rejected by a limit"
            );
            let mut entry = Entry::new(0, EntryKind::Deny, policy);
            entry.agent = Some(refused.agent.into());
            entry.facts = vec![
                ("refused".into(), Value::Number(refused.count.to_string().into())),
                ("why".into(), Value::String(refused.why.into())),
            ];
            entry
        });
        if let Err(error) = self.store.append(entries.collect()).await {
            tracing::error!(%error, "rejected requests could not be recorded in the ledger");
        }
    }
}

#[cfg(test)]
mod tests;
