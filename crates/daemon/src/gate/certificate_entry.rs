//! Ledger entries about certificates of the agents' fleet.

use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{Store as _, StoreError, WriteContext};

use super::integrity::owned_facts;
use super::state::Gate;

impl Gate {
    /// Records a change of the fleet's certificates, before it is made.
    pub async fn record_certificate(
        &self,
        person: Option<&str>,
        note: WriteContext,
    ) -> Result<(), StoreError> {
        self.integrity.check()?;
        let mut entry = Entry::new(0, EntryKind::Certificate, note.policy);
        entry.person = person.map(|name| name.to_owned().into());
        entry.facts = owned_facts(&note);
        self.store.append(vec![entry]).await
    }
}
