//! Grants at hand: what people gave, and the seed's whitelist file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, Kind};
use countersign_store::{Backend, Store as _, StoreError, WriteContext};
use countersign_types::id::Id;
use countersign_types::time::{Moment, Timestamp};
use countersign_workflow::grant::{Asked, Grant};
use tokio::sync::Mutex;

use super::whitelist::{self, Listed};

/// Who gave what stands in the whitelist file. No person can have this name.
pub const WHITELIST: &str = "whitelist file";

/// The grants that may be used now. The store has the last word when one is used.
#[derive(Debug, Default)]
pub struct Grants {
    given: RwLock<Vec<Grant>>,
    /// What the whitelist file says now, by name. What it does not say any more is still kept in
    /// the store, and never used.
    listed: RwLock<HashMap<Id, String>>,
    /// Held while the store is read: an older reading never replaces a newer one.
    reading: Mutex<()>,
}

impl Grants {
    /// Reads the grants that live now.
    pub async fn read(&self, store: &Backend) -> Result<(), StoreError> {
        let _reading = self.reading.lock().await;
        let mut kept = store.grants(false).await?;
        // Counted ones last: they are not used up where another would do.
        kept.sort_by_key(|grant| (grant.uses_left.is_some(), grant.made_at));
        *self.given.write().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(())
    }

    /// Which of them cover a call; uncounted ones first, then the oldest.
    pub fn covering(&self, asked: &Asked<'_>, now: Moment) -> Vec<Id> {
        let given = self.given.read().unwrap_or_else(PoisonError::into_inner);
        let listed = self.listed.read().unwrap_or_else(PoisonError::into_inner);
        let said = |grant: &&Grant| grant.made_by != WHITELIST || listed.contains_key(&grant.id);
        let covers = |grant: &&Grant| grant.covers(asked, now).is_ok();
        given.iter().filter(said).filter(covers).map(|grant| grant.id).collect()
    }

    /// Whether it could be used now, as far as is known here.
    pub fn in_force(&self, grant: &Grant, now: Timestamp) -> bool {
        let listed = self.listed.read().unwrap_or_else(PoisonError::into_inner);
        grant.is_live(now) && (grant.made_by != WHITELIST || listed.contains_key(&grant.id))
    }

    /// What it is called in decisions, if it has a name beside its id.
    pub fn name(&self, id: Id) -> Option<String> {
        self.listed.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// A person gave one.
    pub fn add(&self, grant: Grant) {
        let mut given = self.given.write().unwrap_or_else(PoisonError::into_inner);
        if given.iter().all(|known| known.id != grant.id) {
            given.push(grant);
        }
    }

    /// One is over.
    pub fn drop(&self, id: Id) {
        self.given.write().unwrap_or_else(PoisonError::into_inner).retain(|grant| grant.id != id);
    }

    /// Reads the seed's whitelist file again. One that cannot be trusted or understood permits
    /// nothing, and the log says why.
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
            (None, _) => whitelist::usual(),
            (Some(Ok(listed)), _) => listed,
            (Some(Err(error)), file) => {
                let file = file.map(|file| file.display().to_string()).unwrap_or_default();
                tracing::error!(file, %error, "the whitelist is refused: nothing in it counts");
                Vec::new()
            }
        };
        let names = listed.iter().map(|item| (item.id(), format!("whitelist:{}", item.action)));
        let names: HashMap<Id, String> = names.collect();
        // First what counts from now on: if the store fails then, less counts, not more.
        *self.listed.write().unwrap_or_else(PoisonError::into_inner) = names;
        for item in &listed {
            let note = WriteContext { policy, facts: None, edited: None };
            match store.create_grant(grant(item, now), note).await {
                // One that is there may have been taken back by a person: that stays.
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

fn grant(item: &Listed, now: Timestamp) -> Grant {
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

/// What the ledger keeps: which permissions of the file are in force from here on.
fn told(listed: &[Listed], refused: bool, policy: Digest) -> Entry<'static> {
    let mut entry = Entry::new(0, Kind::Config, policy);
    let ids = listed.iter().take(1_000).map(|item| Value::String(item.id().to_string().into()));
    let word = if refused { "refused" } else { "read" };
    entry.facts = vec![
        ("grants".into(), Value::Array(ids.collect())),
        ("whitelist".into(), Value::String(word.into())),
    ];
    entry
}
