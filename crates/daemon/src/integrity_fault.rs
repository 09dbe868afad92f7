//! What is wrong with the store, and what to do about it.

/// What is wrong with the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntegrityFault {
    /// The ledger does not continue what was signed.
    #[error(
        "the store was rolled back or replaced: its ledger has {found} entries and does not \
         continue the {signed} entries that were signed before"
    )]
    RolledBack {
        /// The number of entries that were signed.
        signed: u64,
        /// The number of entries in the store.
        found: u64,
    },
    /// The ledger was signed before, and the mark is gone.
    #[error("the ledger mark is missing: ledger.mark beside the signing key was deleted")]
    MarkMissing,
    /// The mark is not one of ours.
    #[error("the ledger mark is invalid: ledger.mark was not signed by this daemon's key")]
    MarkInvalid,
    /// The mark is from before the newest checkpoint.
    #[error("the ledger mark is older than the newest checkpoint: an old ledger.mark was restored")]
    MarkOutdated,
    /// The entries of the ledger do not have the root of its tree.
    #[error("entries of the ledger were changed; `countersign ledger verify` names the first one")]
    EntriesChanged,
    /// The file of the store is another one than the daemon opened.
    #[error(
        "the file of the store was deleted or replaced while the daemon was running; restart it"
    )]
    StoreReplaced,
    /// A person rebased the clock; what this process remembers is of the other time.
    #[error("the clock was rebased; the daemon stops and must be started again")]
    ClockRebased,
}

impl IntegrityFault {
    /// The fault, and what to do.
    pub fn advice(&self) -> String {
        if *self == IntegrityFault::ClockRebased {
            return self.to_string();
        }
        format!(
            "{self}. Nothing is approved until an administrator acknowledges this: countersign \
             ledger acknowledge, or the page Ledger of the inbox"
        )
    }
}
