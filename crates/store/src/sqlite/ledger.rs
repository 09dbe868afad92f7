//! The ledger in the database: segments of entries, stored tree nodes, proofs.

use countersign_json::canonical::Digest;
use countersign_ledger::merkle::{
    Frontier, Nodes, ProveError, STORED_LEVELS, Tiled, consistency_proof, inclusion_proof,
    leaf_hash,
};
use countersign_types::id::Id;
use rusqlite::{Connection, OptionalExtension, params};

use super::errors::{corrupt, signed, unsigned};
use super::pending_entries::{Entries, PendingEntries};
use crate::error::StoreResult;
use crate::record::{IndexedEntry, LedgerSlice, ProofPath};

/// The maximum number of entries in a row, and the size after which no entry is added. Reading one
/// entry reads its whole row.
const SEGMENT_ENTRIES: u64 = 256;
const SEGMENT_BYTES: usize = 64 << 10;

/// A page of entries ends after this many entries or bytes.
const PAGE_ENTRIES: u32 = 4_096;
const PAGE_BYTES: usize = 4 << 20;

/// Writes pending entries and appends them to the tree.
pub(super) fn write(
    conn: &Connection,
    pending: &PendingEntries,
    tree: &mut Frontier,
) -> StoreResult<()> {
    let base = tree.size();
    let mut nodes: Vec<(u8, u64, Digest)> = Vec::new();
    let mut leaves = Vec::new();
    // A row is a part of the pending bytes unchanged; only the leaf hashes are collected.
    let mut rest = pending.bytes();
    while !rest.is_empty() {
        let first = tree.size();
        leaves.clear();
        let mut entries = Entries(rest);
        while tree.size() - first < SEGMENT_ENTRIES && rest.len() - entries.0.len() < SEGMENT_BYTES
        {
            let Some(entry) = entries.next() else { break };
            let leaf = leaf_hash(entry);
            tree.append_and(leaf, |level, place, hash| {
                if STORED_LEVELS.contains(&level) {
                    nodes.push((level, place, *hash));
                }
            });
            leaves.extend_from_slice(leaf.as_bytes());
        }
        let count = tree.size() - first;
        let (segment, left) = rest
            .split_at_checked(rest.len() - entries.0.len())
            .filter(|_| count > 0)
            .ok_or_else(|| corrupt("a pending ledger entry is cut off"))?;
        conn.prepare_cached("INSERT INTO segment VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![signed(first)?, signed(count)?, pending.newest(), leaves, segment])?;
        rest = left;
    }
    if tree.size() - base != pending.count() {
        return Err(corrupt("pending ledger entries are missing"));
    }
    write_index(conn, pending, base, &nodes)
}

/// Writes the new tree nodes, and which entries are about which request.
fn write_index(
    conn: &Connection,
    pending: &PendingEntries,
    base: u64,
    nodes: &[(u8, u64, Digest)],
) -> StoreResult<()> {
    for (level, place, hash) in nodes {
        conn.prepare_cached("INSERT INTO tree VALUES (?1, ?2, ?3)")?.execute(params![
            level,
            signed(*place)?,
            hash.as_bytes()
        ])?;
    }
    if pending.requests().is_empty() {
        return Ok(());
    }
    let mut insert = conn.prepare_cached("INSERT INTO story VALUES (?1, ?2)")?;
    for (request, place) in pending.requests() {
        insert.execute(params![request.as_bytes(), signed(base + place)?])?;
    }
    Ok(())
}

/// The tree, the newest time and the newest entry in the database.
pub(super) fn load(conn: &Connection) -> StoreResult<(Frontier, i64, Option<Vec<u8>>)> {
    let newest = conn
        .prepare_cached("SELECT first + count, newest, entries FROM segment ORDER BY first DESC")?
        .query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?)))
        .optional()?;
    let Some((size, newest, entries)) = newest else {
        return Ok((Frontier::new(), i64::MIN, None));
    };
    let size = unsigned(size)?;
    let counted: i64 = conn.query_row("SELECT sum(count) FROM segment", [], |row| row.get(0))?;
    if unsigned(counted)? != size {
        return Err(corrupt(format!("the ledger has {counted} entries, expected {size}")));
    }
    let tree =
        Frontier::read(&mut Tiled::new(StoredNodes::new(conn)), size).map_err(prove_error)?;
    Ok((tree, newest, Entries(&entries).last().map(<[u8]>::to_vec)))
}

/// Reads tree nodes. Caches the last row of leaf hashes, because proofs read leaves in order.
struct StoredNodes<'c> {
    conn: &'c Connection,
    first: u64,
    leaves: Vec<u8>,
}

impl<'c> StoredNodes<'c> {
    fn new(conn: &'c Connection) -> StoredNodes<'c> {
        StoredNodes { conn, first: 0, leaves: Vec::new() }
    }

    fn cached(&self, index: u64) -> Option<Digest> {
        let place = usize::try_from(index.checked_sub(self.first)?).ok()?.checked_mul(32)?;
        let leaf = self.leaves.get(place..place.checked_add(32)?)?;
        Some(Digest::from_bytes(leaf.try_into().ok()?))
    }

    fn leaf(&mut self, index: u64) -> StoreResult<Digest> {
        if let Some(leaf) = self.cached(index) {
            return Ok(leaf);
        }
        let sql = "SELECT first, leaves FROM segment WHERE first <= ?1 ORDER BY first DESC LIMIT 1";
        let found = self
            .conn
            .prepare_cached(sql)?
            .query_row([signed(index)?], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))
            .optional()?;
        if let Some((first, leaves)) = found {
            (self.first, self.leaves) = (unsigned(first)?, leaves);
        }
        self.cached(index).ok_or_else(|| corrupt(format!("ledger entry {index} is missing")))
    }
}

impl Nodes for StoredNodes<'_> {
    type Error = crate::StoreError;

    fn node(&mut self, level: u8, index: u64) -> StoreResult<Digest> {
        if level == 0 {
            return self.leaf(index);
        }
        let hash = self
            .conn
            .prepare_cached("SELECT hash FROM tree WHERE level = ?1 AND place = ?2")?
            .query_row(params![level, signed(index)?], |row| row.get(0))
            .optional()?;
        hash.map(Digest::from_bytes)
            .ok_or_else(|| corrupt(format!("node {index} of level {level} is missing")))
    }
}

fn prove_error(error: ProveError<crate::StoreError>) -> crate::StoreError {
    match error {
        ProveError::Unread(error) => error,
        other => corrupt(other.to_string()),
    }
}

/// A proof; `None` if the tree has no such entry or size.
fn existing(proof: Result<Vec<Digest>, ProveError<crate::StoreError>>) -> StoreResult<ProofPath> {
    match proof {
        Ok(proof) => Ok(Some(proof)),
        Err(ProveError::Unread(error)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The inclusion proof of an entry in the tree of `size`; `None` if that is more than `committed`.
pub(super) fn inclusion_proof_of(
    conn: &Connection,
    committed: u64,
    index: u64,
    size: u64,
) -> StoreResult<ProofPath> {
    if size > committed {
        return Ok(None);
    }
    existing(inclusion_proof(&mut Tiled::new(StoredNodes::new(conn)), index, size))
}

/// The consistency proof between two sizes; `None` if the newer is more than `committed`.
pub(super) fn consistency_proof_of(
    conn: &Connection,
    committed: u64,
    old: u64,
    new: u64,
) -> StoreResult<ProofPath> {
    if new > committed {
        return Ok(None);
    }
    existing(consistency_proof(&mut Tiled::new(StoredNodes::new(conn)), old, new))
}

/// A page of entries.
pub(super) fn entries(conn: &Connection, from: u64, limit: u32) -> StoreResult<LedgerSlice> {
    let max_entries = usize::try_from(limit.min(PAGE_ENTRIES)).unwrap_or(0);
    let mut slice = LedgerSlice { from, ..LedgerSlice::default() };
    let mut bytes = 0;
    let sql = "SELECT first, leaves, entries FROM segment WHERE first >= coalesce(\
               (SELECT max(first) FROM segment WHERE first <= ?1), 0) ORDER BY first";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([signed(from)?])?;
    while let Some(row) = rows.next()? {
        let first = unsigned(row.get(0)?)?;
        let leaves: Vec<u8> = row.get(1)?;
        let entries: Vec<u8> = row.get(2)?;
        let skip = usize::try_from(from.saturating_sub(first)).unwrap_or(usize::MAX);
        let (leaves, _) = leaves.as_chunks::<32>();
        for (entry, leaf) in Entries(&entries).zip(leaves).skip(skip) {
            if slice.entries.len() >= max_entries || bytes >= PAGE_BYTES {
                return Ok(slice);
            }
            bytes += entry.len();
            slice.entries.push(entry.to_vec());
            slice.leaves.push(Digest::from_bytes(*leaf));
        }
    }
    Ok(slice)
}

/// The entries about a request.
pub(super) fn request_history(conn: &Connection, request: Id) -> StoreResult<Vec<IndexedEntry>> {
    let mut statement =
        conn.prepare_cached("SELECT seq FROM story WHERE request = ?1 ORDER BY seq")?;
    let mut rows = statement.query([request.as_bytes()])?;
    let mut history = Vec::new();
    while let Some(row) = rows.next()? {
        let seq = unsigned(row.get(0)?)?;
        let entry = entries(conn, seq, 1)?.entries.pop();
        history.push(IndexedEntry {
            seq,
            entry: entry.ok_or_else(|| corrupt(format!("ledger entry {seq} is missing")))?,
        });
    }
    Ok(history)
}

/// Stores a checkpoint if it is newer than the stored one.
pub(super) fn save_checkpoint(conn: &Connection, size: u64, note: &str) -> StoreResult<()> {
    let sql = "INSERT INTO checkpoint VALUES (1, ?1, ?2) ON CONFLICT (one) DO UPDATE \
               SET size = excluded.size, note = excluded.note WHERE excluded.size > size";
    conn.prepare_cached(sql)?.execute(params![signed(size)?, note])?;
    Ok(())
}

/// The newest checkpoint.
pub(super) fn checkpoint(conn: &Connection) -> StoreResult<Option<String>> {
    let note = conn
        .prepare_cached("SELECT note FROM checkpoint")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(note)
}
