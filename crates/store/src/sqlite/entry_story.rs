//! The ledger entries about one request, newest first, each proven to be in the tree.

use countersign_ledger::entry::Entry;
use countersign_ledger::merkle::{leaf_hash, verify_inclusion};
use countersign_types::id::Id;
use rusqlite::params;

use super::batch::Batch;
use super::errors::{signed, unsigned};
use super::ledger::{entries, inclusion_proof_of};
use crate::error::{StoreError, StoreResult};

/// Whether older entries are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryVisit {
    Continue,
    Stop,
}

/// Visits the entries about a request, those of this commit first. Fails with
/// [`StoreError::Unrecorded`] where an entry cannot be read or is not in the tree.
pub(super) fn visit_entries(
    batch: &Batch<'_>,
    id: Id,
    mut visit: impl FnMut(&Entry<'_>) -> EntryVisit,
) -> StoreResult<()> {
    let unrecorded = || StoreError::Unrecorded(id);
    let name = id.to_string();
    let mut visit = |bytes: &[u8]| -> StoreResult<EntryVisit> {
        let entry = Entry::decode(bytes).map_err(|_| unrecorded())?;
        let is_about = entry.request.as_deref() == Some(&*name);
        Ok(if is_about { visit(&entry) } else { EntryVisit::Continue })
    };
    for bytes in batch.pending_about(id).into_iter().rev() {
        if visit(bytes)? == EntryVisit::Stop {
            return Ok(());
        }
    }
    let (size, root) = (batch.head.size, batch.head.root);
    let sql = "SELECT seq FROM story WHERE request = ?1 AND seq < ?2 ORDER BY seq DESC";
    let mut statement = batch.conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![id.as_bytes(), signed(size)?])?;
    while let Some(row) = rows.next()? {
        let seq = unsigned(row.get(0)?)?;
        let bytes = entries(batch.conn, seq, 1)?.entries.pop().ok_or_else(unrecorded)?;
        let proof = inclusion_proof_of(batch.conn, size, seq, size)?.ok_or_else(unrecorded)?;
        verify_inclusion(&leaf_hash(&bytes), seq, size, &proof, &root).map_err(|_| unrecorded())?;
        if visit(&bytes)? == EntryVisit::Stop {
            return Ok(());
        }
    }
    Ok(())
}
