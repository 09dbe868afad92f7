//! Quarantines survive a restart: the ledger says which are still in force.

use std::collections::HashSet;

use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{Store as _, StoreError};
use countersign_types::time::{Clock as _, Timestamp};

use super::flood::Quarantine;
use super::state::Gate;

/// The number of ledger entries that are read at once: fewer than a slice can hold.
const SLICE: u32 = 60;

impl Gate {
    /// Continues the quarantines that were in force before the start. Entries older than a
    /// quarantine lasts are not read.
    pub async fn restore_quarantines(&self) -> Result<(), StoreError> {
        let (now, lasts) = (self.clock.now().at, self.rules().flood.quarantine);
        let mut decided = HashSet::new();
        let mut end = self.store.tree_head().await?.size;
        while end > 0 {
            let from = end.saturating_sub(u64::from(SLICE));
            let length = u32::try_from(end - from).unwrap_or(SLICE);
            let slice = self.store.entries(from, length).await?;
            for bytes in slice.entries.iter().rev() {
                let Ok(entry) = Entry::decode(bytes) else { continue };
                if Timestamp(entry.at).plus(lasts) <= now {
                    return Ok(());
                }
                let Some(quarantine) = quarantine_of(&entry) else { continue };
                // The newest entry about an agent decides.
                if decided.insert(quarantine.agent.clone()) && quarantine.until > now {
                    let Quarantine { agent, until } = &quarantine;
                    tracing::warn!(agent, %until, "the quarantine of an agent continues");
                    self.flood.restore_quarantine(quarantine);
                }
            }
            end = from;
        }
        Ok(())
    }
}

/// The quarantine that an entry is about; one that a person lifted has ended when it was lifted.
fn quarantine_of(entry: &Entry<'_>) -> Option<Quarantine> {
    if entry.kind != EntryKind::Quarantine {
        return None;
    }
    let until = entry.facts.iter().find(|(name, _)| name == "until");
    let until = until.and_then(|(_, until)| until.as_str()).and_then(Timestamp::parse);
    let agent = entry.agent.as_deref()?.to_owned();
    Some(Quarantine { agent, until: until.unwrap_or(Timestamp(entry.at)) })
}
