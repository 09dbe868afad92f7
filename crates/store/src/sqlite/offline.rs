//! The ledger in the file of a store, read without holding or changing it.

use std::path::Path;

use rusqlite::Connection;

use super::options::Options;
use super::{ledger, open};
use crate::error::OpenError;
use crate::{Kept, Slice};

/// A store's file, opened to be read. A daemon may have it open at the same time.
#[derive(Debug)]
pub struct Offline {
    conn: Connection,
}

impl Offline {
    /// Opens the file.
    pub fn open(path: &Path) -> Result<Offline, OpenError> {
        Ok(Offline { conn: open::reader(path, &Options::default())? })
    }

    /// A page of entries from a place on.
    pub fn entries(&self, from: u64, limit: u32) -> Kept<Slice> {
        ledger::entries(&self.conn, from, limit)
    }

    /// The newest signed checkpoint that the store keeps itself.
    pub fn checkpoint(&self) -> Kept<Option<String>> {
        ledger::checkpoint(&self.conn)
    }
}
