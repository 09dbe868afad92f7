//! Reads the ledger from a store's file, without the lock and without changing it.

use std::path::Path;

use rusqlite::Connection;

use super::options::SqliteOptions;
use super::{ledger, open, recorded};
use crate::error::{OpenError, StoreResult};
use crate::record::{LedgerSlice, RowComparison};

/// A store's file, opened read-only. A daemon may have it open at the same time.
#[derive(Debug)]
pub struct OfflineLedger {
    conn: Connection,
}

impl OfflineLedger {
    /// Opens the file.
    pub fn open(path: &Path) -> Result<OfflineLedger, OpenError> {
        Ok(OfflineLedger { conn: open::reader(path, &SqliteOptions::default())? })
    }

    /// A page of entries from an index on.
    pub fn entries(&self, from: u64, limit: u32) -> StoreResult<LedgerSlice> {
        ledger::entries(&self.conn, from, limit)
    }

    /// The rows of all requests compared with the entries about them.
    pub fn compare_rows(&self) -> StoreResult<RowComparison> {
        // One snapshot: a daemon may write at the same time.
        let snapshot = self.conn.unchecked_transaction()?;
        recorded::compare(&snapshot)
    }

    /// The newest signed checkpoint in the store.
    pub fn checkpoint(&self) -> StoreResult<Option<String>> {
        ledger::checkpoint(&self.conn)
    }
}
