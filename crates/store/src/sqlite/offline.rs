//! The ledger in the file of a store, read without holding or changing it.

use std::path::Path;

use rusqlite::Connection;

use super::options::SqliteOptions;
use super::{ledger, open};
use crate::error::OpenError;
use crate::{LedgerSlice, StoreResult};

/// A store's file, opened to be read. A daemon may have it open at the same time.
#[derive(Debug)]
pub struct OfflineLedger {
    conn: Connection,
}

impl OfflineLedger {
    /// Opens the file.
    pub fn open(path: &Path) -> Result<OfflineLedger, OpenError> {
        Ok(OfflineLedger { conn: open::reader(path, &SqliteOptions::default())? })
    }

    /// A page of entries from a place on.
    pub fn entries(&self, from: u64, limit: u32) -> StoreResult<LedgerSlice> {
        ledger::entries(&self.conn, from, limit)
    }

    /// The newest signed checkpoint that the store keeps itself.
    pub fn checkpoint(&self) -> StoreResult<Option<String>> {
        ledger::checkpoint(&self.conn)
    }
}
