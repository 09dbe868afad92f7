//! The fault of the store, if there is one, and the mark that it is compared with.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use countersign_store::StoreError;
use tokio::sync::Notify;

use crate::ledger_mark::{IntegrityFault, LedgerMark};

/// The state of the store, as far as it is known.
#[derive(Default)]
pub struct Integrity {
    fault: RwLock<Option<IntegrityFault>>,
    /// How often people acknowledged a fault since the start.
    acknowledged: AtomicU64,
    mark: OnceLock<LedgerMark>,
    restart: Notify,
}

impl Integrity {
    /// The fault, if there is one.
    pub fn fault(&self) -> Option<IntegrityFault> {
        self.fault.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Fails if there is a fault.
    pub fn check(&self) -> Result<(), StoreError> {
        self.fault().map_or(Ok(()), |fault| Err(StoreError::Halted(fault.advice())))
    }

    /// Stops approvals. Returns whether they were not stopped before; the first fault stays.
    pub fn halt(&self, fault: IntegrityFault) -> bool {
        let mut known = self.fault.write().unwrap_or_else(PoisonError::into_inner);
        if known.is_some() {
            return false;
        }
        tracing::error!(%fault, "nothing is approved until an administrator acknowledges this");
        *known = Some(fault);
        true
    }

    /// Ends the fault, because a person acknowledged it.
    pub fn clear(&self) {
        *self.fault.write().unwrap_or_else(PoisonError::into_inner) = None;
        self.acknowledged.fetch_add(1, Ordering::AcqRel);
    }

    /// How often people acknowledged a fault.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Acquire)
    }

    /// Asks the daemon to stop, because what it remembers does not hold any more.
    pub fn request_restart(&self) {
        self.restart.notify_one();
    }

    /// Waits until the daemon must stop.
    pub async fn restart_requested(&self) {
        self.restart.notified().await;
    }

    /// The mark, once it is set.
    pub fn mark(&self) -> Option<&LedgerMark> {
        self.mark.get()
    }

    /// Uses this mark from now on.
    pub fn set_mark(&self, mark: LedgerMark) {
        // The daemon sets it once, at its start.
        let _ = self.mark.set(mark);
    }
}
