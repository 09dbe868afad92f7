//! Rebases a clock that was ahead for a while: a person confirms the time of the system clock.

use countersign_store::{Store as _, StoreError, WriteContext};
use countersign_types::time::{Clock as _, Timestamp};

use super::state::Gate;
use crate::ledger_mark::IntegrityFault;

/// How far the time that a person states may be from the system clock, in milliseconds.
const MAX_DIFFERENCE: u64 = 2 * 60 * 1_000;

/// Why a clock is not rebased.
#[derive(Debug, thiserror::Error)]
pub enum RebaseError {
    /// The clock is not behind.
    #[error("the system clock is not behind the ledger, so there is nothing to rebase")]
    NotBehind,
    /// The person and the machine disagree about the time.
    #[error(
        "the system clock of the daemon's machine says {0}, which is not the stated time; \
         correct the system clock first"
    )]
    OtherTime(Timestamp),
    /// There is another fault, which comes first.
    #[error("{0}")]
    Halted(String),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Gate {
    /// Sets the ledger's time back to the system clock, which must say what the person says. From
    /// then on this process approves nothing and stops, because what it remembers has the other
    /// time. Returns the time.
    pub async fn rebase_clock(
        &self,
        stated: Timestamp,
        person: &str,
        note: WriteContext,
    ) -> Result<Timestamp, RebaseError> {
        if self.clock.now().reliable {
            return Err(RebaseError::NotBehind);
        }
        let system = self.clock.system_time();
        if system.0.abs_diff(stated.0) > MAX_DIFFERENCE {
            return Err(RebaseError::OtherTime(system));
        }
        // Stopped first: between the two steps the clock looks right and the ledger is not.
        if !self.integrity.halt(IntegrityFault::ClockRebased) {
            let fault = self.integrity.fault().map(|fault| fault.advice());
            return Err(RebaseError::Halted(fault.unwrap_or_default()));
        }
        let before = self.clock.now().at;
        let to = self.clock.rebase();
        if let Err(error) = self.store.rebase_clock(to, person.to_owned(), note).await {
            self.clock.not_before(before);
            self.integrity.clear();
            return Err(error.into());
        }
        if let Some(mark) = self.integrity.mark() {
            mark.raise(self.store.tree_head().await?).await?;
        }
        tracing::warn!(person, %to, "the clock was rebased; the daemon stops");
        self.integrity.request_restart();
        Ok(to)
    }
}
