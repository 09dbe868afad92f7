//! Whether the store is the one that this daemon signed last. While it is not, nothing is approved
//! and no permit is redeemed, until a person acknowledges the store.

use std::borrow::Cow;

use countersign_json as json;
use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{Store as _, StoreError, StoredRequest, WriteContext};
use countersign_types::time::Clock as _;

use super::integrity_state::Integrity;
use super::state::Gate;
use crate::ledger_mark::{IntegrityFault, LedgerMark};

impl Gate {
    /// The state of the store.
    pub fn integrity(&self) -> &Integrity {
        &self.integrity
    }

    /// Raises the mark to the committed ledger. Not while there is a fault, so that a restart finds
    /// the fault again.
    pub async fn raise_mark(&self) -> Result<(), StoreError> {
        let Some(mark) = self.integrity.mark() else { return Ok(()) };
        if self.integrity.fault().is_some() {
            return Ok(());
        }
        mark.raise(self.store.tree_head().await?).await
    }

    /// Whether the permit of this approval is void: a person accepted a rolled-back store since
    /// then, in which the permit may look unused.
    pub fn is_permit_void(&self, stored: &StoredRequest) -> bool {
        let decision = stored.request.decision.as_ref();
        let mark = self.integrity.mark();
        mark.zip(decision).is_some_and(|(mark, decision)| mark.is_void(decision.at))
    }

    /// Checks that the file of the store is still the one that was opened.
    pub fn check_file(&self) -> Option<IntegrityFault> {
        let replaced = self.integrity.mark().is_some_and(LedgerMark::is_store_replaced);
        replaced.then_some(IntegrityFault::StoreReplaced)
    }

    /// Accepts the store as it is, after an entry in its ledger. Returns the fault and the entry.
    pub async fn acknowledge(
        &self,
        person: &str,
        note: WriteContext,
    ) -> Result<(IntegrityFault, Entry<'static>), StoreError> {
        let fault = self.integrity.fault().filter(|it| *it != IntegrityFault::ClockRebased);
        let fault = fault.ok_or(StoreError::NotFound("ledger fault"))?;
        let mut entry = Entry::new(self.clock.now().at.0, EntryKind::Acknowledge, note.policy);
        entry.person = Some(person.to_owned().into());
        entry.facts = owned_facts(&note);
        let what = Value::String(fault.to_string().into());
        entry.facts.retain(|(name, _)| name != "fault");
        entry.facts.push(("fault".into(), what));
        self.store.append(vec![entry.clone()]).await?;
        if let Some(mark) = self.integrity.mark() {
            mark.replace(self.store.tree_head().await?, self.clock.now().at).await?;
        }
        self.integrity.clear();
        tracing::warn!(person, %fault, "the store was acknowledged");
        Ok((fault, entry))
    }
}

/// The facts of a note, for an entry that the gate writes itself.
pub fn owned_facts(note: &WriteContext) -> Vec<(Cow<'static, str>, Value<'static>)> {
    let facts = note.facts.as_deref().map(json::parse);
    let Some(Ok(Value::Object(facts))) = facts else { return Vec::new() };
    let owned = |(name, value): (Cow<'_, str>, Value<'_>)| {
        (Cow::Owned(name.into_owned()), value.into_owned())
    };
    facts.into_iter().map(owned).collect()
}
