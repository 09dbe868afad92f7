//! Freezes and thaws: every call is refused at once, and comes back in two stages.

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{Store as _, StoreError, StoredRequest, WriteContext};
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use countersign_workflow::request::{Event, State, StopCause};

use super::answer::Rejection;
use super::freeze_state::FreezeState;
use super::integrity::owned_facts;
use super::join_in_order::join_in_order;
use super::state::Gate;
use crate::freeze::{Freeze, FreezeStage};
use crate::ledger_mark::LedgerMark;

/// How many requests are denied at once: far fewer than the store accepts.
const DENIED_AT_ONCE: usize = 128;

impl Gate {
    /// The freeze in force.
    pub fn freeze_state(&self) -> &FreezeState {
        &self.freeze
    }

    /// Refuses every call from now on and denies the pending ones. Returns how many were denied. An
    /// error means that the freeze may not survive a restart; it is in force all the same.
    pub async fn freeze(&self, person: &str, note: WriteContext) -> Result<usize, StoreError> {
        let _changing = self.freeze.changing.lock().await;
        let freeze = match self.freeze.current() {
            Some(known) if known.stage == FreezeStage::Frozen => known,
            _ => Freeze {
                stage: FreezeStage::Frozen,
                by: person.to_owned(),
                since: self.clock.now().at,
            },
        };
        // Memory first: nothing that fails below may leave calls running.
        self.freeze.set(Some(freeze.clone()));
        tracing::warn!(person, "everything was frozen");
        let marked = self.mark_freeze(Some(freeze.clone())).await;
        let mut entry = Entry::new(0, EntryKind::Frozen, note.policy);
        entry.person = Some(person.to_owned().into());
        entry.facts = owned_facts(&note);
        let recorded = self.store.append(vec![entry]).await;
        let denied = self.deny_pending(&freeze.by).await;
        marked?;
        recorded?;
        denied
    }

    /// Denies all pending requests, oldest first; returns how many. Many share a commit. An error
    /// of one does not leave the others pending.
    async fn deny_pending(&self, by: &str) -> Result<usize, StoreError> {
        let pending = self.store.pending().await?;
        let pending = pending.iter().map(|stored| &stored.request);
        let pending: Vec<Id> =
            pending.filter(|request| !request.requester.is_drill()).map(|one| one.id).collect();
        let mut failed = None;
        for ids in pending.chunks(DENIED_AT_ONCE) {
            let denied = join_in_order(ids.iter().map(|id| self.deny_frozen(*id, by))).await;
            failed = failed.or(denied.into_iter().find_map(Result::err));
        }
        failed.map_or(Ok(pending.len()), Err)
    }

    /// Ends one stage of the freeze. Returns the stage that was ended; `None` if another one is in
    /// force.
    pub async fn thaw(
        &self,
        stage: FreezeStage,
        person: &str,
        note: WriteContext,
    ) -> Result<Option<FreezeStage>, StoreError> {
        let _changing = self.freeze.changing.lock().await;
        let Some(current) = self.freeze.current().filter(|it| it.stage == stage) else {
            return Ok(None);
        };
        let next = (stage == FreezeStage::Frozen)
            .then_some(Freeze { stage: FreezeStage::GrantsSuspended, ..current });
        let mut entry = Entry::new(0, EntryKind::Thawed, note.policy);
        entry.person = Some(person.to_owned().into());
        entry.facts = owned_facts(&note);
        entry.facts.retain(|(name, _)| name != "ended");
        entry.facts.push(("ended".into(), Value::String(stage.label().into())));
        self.store.append(vec![entry]).await?;
        self.mark_freeze(next.clone()).await?;
        self.freeze.set(next);
        tracing::warn!(person, stage = stage.label(), "a stage of the freeze was ended");
        Ok(Some(stage))
    }

    /// Denies a request that became pending while everything was being frozen.
    pub(super) async fn deny_if_frozen(
        &self,
        stored: StoredRequest,
    ) -> Result<StoredRequest, StoreError> {
        let Some(freeze) = self.freeze.current() else { return Ok(stored) };
        if freeze.stage != FreezeStage::Frozen || stored.request.state.has_ended() {
            return Ok(stored);
        }
        self.deny_frozen(stored.request.id, &freeze.by).await?;
        Ok(self.store.request(stored.request.id).await?.unwrap_or(stored))
    }

    async fn deny_frozen(&self, id: Id, by: &str) -> Result<(), StoreError> {
        let event = Event::Stop { person: by.to_owned(), cause: StopCause::Freeze };
        match self.apply_event(id, event, self.note()).await {
            // It ended by itself meanwhile.
            Ok(_) | Err(StoreError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether an approval does not count any more or yet: it is from before the freeze.
    pub fn is_suspended(&self, stored: &StoredRequest) -> bool {
        let Some(freeze) = self.freeze.current() else { return false };
        let decided = stored.request.decision.as_ref().map(|decision| decision.at);
        freeze.stage == FreezeStage::Frozen || decided.is_none_or(|at| at <= freeze.since)
    }

    /// Rejects an approval that does not count now, so that its agent does not hear of it.
    pub fn check_approval(&self, stored: &StoredRequest) -> Result<(), Rejection> {
        if stored.request.state != State::Approved || !self.is_suspended(stored) {
            return Ok(());
        }
        self.freeze.check()?;
        let by = self.freeze.current().map(|freeze| freeze.by);
        Err(Rejection::ApprovalSuspended(by.unwrap_or_default()))
    }

    async fn mark_freeze(&self, freeze: Option<Freeze>) -> Result<(), StoreError> {
        let Some(mark) = self.integrity.mark() else { return Ok(()) };
        if self.integrity.fault().is_some() {
            // The mark stays as it is, so that a restart finds the fault again; the ledger says
            // what is frozen until then.
            mark.keep_freeze(freeze);
            return Ok(());
        }
        mark.set_freeze(freeze, self.store.tree_head().await?).await
    }

    /// Continues the freeze that was in force before the start, by the ledger mark and by the
    /// ledger: deleting the mark, or restoring an older one, must not thaw anything.
    pub async fn restore_freeze(&self, recorded: Option<Freeze>) -> Result<(), StoreError> {
        let marked = self.integrity.mark().and_then(LedgerMark::freeze);
        let freeze = Freeze::stricter(marked.clone(), recorded);
        if let Some(freeze) = &freeze {
            tracing::warn!(by = freeze.by, stage = freeze.stage.label(), "the freeze continues");
        }
        self.freeze.set(freeze.clone());
        if freeze == marked { Ok(()) } else { self.mark_freeze(freeze).await }
    }
}

#[cfg(test)]
mod tests;
