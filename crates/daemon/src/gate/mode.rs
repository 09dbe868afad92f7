//! The mode in force. The file can tighten it at once; to loosen it, a person must confirm the
//! change, because whoever can edit a file could otherwise turn the gate off.

use countersign_ledger::entry::{Entry, EntryKind};
use countersign_risk::verdict::Mode;
use countersign_store::{MODE_FACT, Store as _, StoreError, WriteContext};
use std::sync::{Arc, PoisonError};

use super::integrity::owned_facts;
use super::state::Gate;
use super::uninterrupted::uninterrupted;
use crate::config::{DaemonRules, mode_name, strictness};
use crate::recorded_settings::mode_fact;

impl Gate {
    /// The mode that the file asks for and that waits for a person's confirmation.
    pub fn requested_mode(&self) -> Option<Mode> {
        *self.requested_mode.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rules with the mode that holds: that of the file, unless it is weaker than the confirmed
    /// one.
    pub(super) async fn confirmed(
        &self,
        mut rules: DaemonRules,
    ) -> Result<DaemonRules, StoreError> {
        let Some(mark) = self.integrity.mark() else { return Ok(rules) };
        let (asked, confirmed) = (rules.mode, mark.mode());
        let accepted = strictness(asked) >= strictness(confirmed);
        if accepted && asked != confirmed && self.integrity.fault().is_none() {
            // From now on the way back needs a confirmation again.
            mark.set_mode(asked, self.store.tree_head().await?).await?;
        }
        if !accepted {
            rules.set_mode(confirmed);
        }
        *self.requested_mode.write().unwrap_or_else(PoisonError::into_inner) =
            (!accepted).then_some(asked);
        Ok(rules)
    }

    /// Applies the confirmed mode to the rules of the start.
    pub async fn apply_confirmed_mode(&self) -> Result<(), StoreError> {
        let rules = self.confirmed((*self.rules()).clone()).await?;
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        Ok(())
    }

    /// A person confirms the mode that the file asks for. Returns the mode that held before; `None`
    /// if the file asks for another one.
    pub async fn confirm_mode(
        self: &Arc<Gate>,
        mode: Mode,
        person: &str,
        note: WriteContext,
    ) -> Result<Option<Mode>, StoreError> {
        let (gate, person) = (Arc::clone(self), person.to_owned());
        uninterrupted(async move { gate.use_requested_mode(mode, &person, note).await }).await
    }

    async fn use_requested_mode(
        &self,
        mode: Mode,
        person: &str,
        note: WriteContext,
    ) -> Result<Option<Mode>, StoreError> {
        self.integrity.check()?;
        let _turn = self.changing_rules.lock().await;
        let Some(mark) = self.integrity.mark() else { return Ok(None) };
        if self.requested_mode() != Some(mode) {
            return Ok(None);
        }
        let before = self.rules().mode;
        let mut rules = (*self.rules()).clone();
        rules.set_mode(mode);
        let mut entry = Entry::new(0, EntryKind::Config, rules.hash);
        entry.person = Some(person.to_owned().into());
        entry.facts = owned_facts(&note);
        entry.facts.retain(|(name, _)| name != MODE_FACT);
        entry.facts.push(mode_fact(mode));
        self.store.append(vec![entry]).await?;
        mark.set_mode(mode, self.store.tree_head().await?).await?;
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        *self.requested_mode.write().unwrap_or_else(PoisonError::into_inner) = None;
        tracing::warn!(person, mode = mode_name(mode), "the mode was confirmed");
        Ok(Some(before))
    }
}
