//! The active grants in memory: those that people made, and those of the whitelist file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{Backend, Store as _, StoreError, WriteContext};
use countersign_types::id::Id;
use countersign_types::time::{Moment, Timestamp};
use countersign_workflow::grant::{Grant, GrantQuery};
use tokio::sync::Mutex;

use super::whitelist::{self, WhitelistEntry};

/// The author of the grants in the whitelist file. No person can have this name.
pub const WHITELIST: &str = "whitelist file";

/// The active grants. The store checks again when one is used.
#[derive(Debug, Default)]
pub struct GrantCache {
    given: RwLock<Vec<Grant>>,
    /// The current grants of the whitelist file, by name. Those removed from the file remain in the
    /// store and are never used.
    listed: RwLock<HashMap<Id, String>>,
    /// Held while the store is read: an older reading never replaces a newer one.
    reading: Mutex<()>,
}

impl GrantCache {
    /// Reads the active grants.
    pub async fn read(&self, store: &Backend) -> Result<(), StoreError> {
        let _reading = self.reading.lock().await;
        let mut kept = store.grants(false).await?;
        // Counted grants last, so that they are not consumed where another covers the call.
        kept.sort_by_key(|grant| (grant.uses_left.is_some(), grant.made_at));
        *self.given.write().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(())
    }

    /// The grants that cover a call; uncounted ones first, then the oldest.
    pub fn covering(&self, asked: &GrantQuery<'_>, now: Moment) -> Vec<Id> {
        let given = self.given.read().unwrap_or_else(PoisonError::into_inner);
        let listed = self.listed.read().unwrap_or_else(PoisonError::into_inner);
        let said = |grant: &&Grant| grant.made_by != WHITELIST || listed.contains_key(&grant.id);
        let covers = |grant: &&Grant| grant.covers(asked, now).is_ok();
        given.iter().filter(said).filter(covers).map(|grant| grant.id).collect()
    }

    /// Whether a grant is active, as far as is known in memory.
    pub fn in_force(&self, grant: &Grant, now: Timestamp) -> bool {
        let listed = self.listed.read().unwrap_or_else(PoisonError::into_inner);
        grant.is_active(now) && (grant.made_by != WHITELIST || listed.contains_key(&grant.id))
    }

    /// The name of a grant in decisions, if it has one besides its id.
    pub fn name(&self, id: Id) -> Option<String> {
        self.listed.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// Adds a grant of a person.
    pub fn add(&self, grant: Grant) {
        let mut given = self.given.write().unwrap_or_else(PoisonError::into_inner);
        if given.iter().all(|known| known.id != grant.id) {
            given.push(grant);
        }
    }

    /// Removes a grant.
    pub fn drop(&self, id: Id) {
        self.given.write().unwrap_or_else(PoisonError::into_inner).retain(|grant| grant.id != id);
    }

    /// Reads the whitelist file again. A file that is not private or not valid permits nothing, and
    /// the log says why.
    pub async fn read_whitelist(
        &self,
        store: &Backend,
        file: Option<&Path>,
        policy: Digest,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let read = file.map(whitelist::read);
        let refused = matches!(read, Some(Err(_)));
        let listed = match (read, file) {
            (None, _) => whitelist::defaults(),
            (Some(Ok(listed)), _) => listed,
            (Some(Err(error)), file) => {
                let file = file.map(|file| file.display().to_string()).unwrap_or_default();
                tracing::error!(file, %error, "the whitelist file was rejected: none of its grants is active");
                Vec::new()
            }
        };
        let names = listed.iter().map(|item| (item.id(), format!("whitelist:{}", item.action)));
        let names: HashMap<Id, String> = names.collect();
        // Memory first: if the store fails afterwards, fewer grants are active, not more.
        *self.listed.write().unwrap_or_else(PoisonError::into_inner) = names;
        for item in &listed {
            let note = WriteContext { policy, facts: None, edited: None };
            match store.create_grant(grant(item, now), note).await {
                // An existing grant may have been revoked by a person and stays revoked.
                Ok(()) | Err(StoreError::Exists(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if file.is_some() {
            store.append(vec![told(&listed, refused, policy)]).await?;
        }
        self.read(store).await
    }
}

fn grant(item: &WhitelistEntry, now: Timestamp) -> Grant {
    Grant {
        id: item.id(),
        shape: item.shape.clone(),
        agent: None,
        session: None,
        made_by: WHITELIST.to_owned(),
        made_at: now,
        expires: None,
        uses_left: None,
        revoked: None,
    }
}

/// The ledger entry: which grants of the file are active from now on.
fn told(listed: &[WhitelistEntry], refused: bool, policy: Digest) -> Entry<'static> {
    let mut entry = Entry::new(0, EntryKind::Config, policy);
    let ids = listed.iter().take(1_000).map(|item| Value::String(item.id().to_string().into()));
    let word = if refused { "refused" } else { "read" };
    entry.facts = vec![
        ("grants".into(), Value::Array(ids.collect())),
        ("whitelist".into(), Value::String(word.into())),
    ];
    entry
}
