//! Ledger entries about certificates of the agents' fleet.

use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{Store as _, StoreError, WriteContext};
use countersign_types::time::Clock as _;

use super::integrity::owned_facts;
use super::state::Gate;

impl Gate {
    /// Records a change of the fleet's certificates, before it is made. Returns the entry.
    pub async fn record_certificate(
        &self,
        person: Option<&str>,
        note: WriteContext,
    ) -> Result<Entry<'static>, StoreError> {
        self.integrity.check()?;
        let now = self.clock.now().at;
        let mut entry = Entry::new(now.0, EntryKind::Certificate, note.policy);
        entry.person = person.map(|name| name.to_owned().into());
        entry.facts = owned_facts(&note);
        self.store.append(vec![entry.clone()]).await?;
        Ok(entry)
    }
}
