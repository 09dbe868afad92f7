//! Finds a ledger entry about a request, and proves that it is in the tree.

use countersign_ledger::entry::Entry;
use countersign_ledger::merkle::{leaf_hash, verify_inclusion};
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use rusqlite::Connection;

use super::errors::{signed, unsigned};
use super::ledger::{entries, inclusion_proof_of};
use crate::error::StoreResult;
use crate::record::TreeHead;

/// An entry in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoundEntry {
    /// Its number, from 0.
    pub seq: u64,
    /// Its time.
    pub at: Timestamp,
}

/// The newest entry about a request that fits and is in the tree.
pub(super) fn newest_entry(
    conn: &Connection,
    id: Id,
    head: TreeHead,
    fits: impl Fn(&Entry<'_>) -> bool,
) -> StoreResult<Option<FoundEntry>> {
    let sql = "SELECT seq FROM story WHERE request = ?1 AND seq < ?2 ORDER BY seq DESC";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(rusqlite::params![id.as_bytes(), signed(head.size)?])?;
    let name = id.to_string();
    while let Some(row) = rows.next()? {
        let seq = unsigned(row.get(0)?)?;
        let Some(bytes) = entries(conn, seq, 1)?.entries.pop() else { continue };
        let Ok(entry) = Entry::decode(&bytes) else { continue };
        if entry.request.as_deref() != Some(&*name) || !fits(&entry) {
            continue;
        }
        let Some(proof) = inclusion_proof_of(conn, head.size, seq, head.size)? else { continue };
        let leaf = leaf_hash(&bytes);
        if verify_inclusion(&leaf, seq, head.size, &proof, &head.root).is_ok() {
            return Ok(Some(FoundEntry { seq, at: Timestamp(entry.at) }));
        }
    }
    Ok(None)
}
