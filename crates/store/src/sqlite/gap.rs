//! The ledger entry about passes that a crash may have lost.

use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::time::Clock;
use rusqlite::Connection;

use super::entry::number_fact;
use super::errors::{corrupt, unsigned};
use super::ledger;
use super::pending_entries::PendingEntries;
use crate::error::OpenError;

/// If passes may have returned without being written, records their maximum number and the entry
/// after which they are missing. Returns the number of recorded passes.
pub(super) fn record_gap(conn: &mut Connection, clock: &dyn Clock) -> Result<u64, OpenError> {
    let marks = conn.query_row("SELECT recorded, reserved FROM mark", [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
    })?;
    let (recorded, reserved) = (unsigned(marks.0)?, unsigned(marks.1)?);
    if reserved <= recorded {
        return Ok(recorded);
    }
    let (mut tree, newest, last) = ledger::load(conn)?;
    let policy = match &last {
        Some(last) => Entry::decode(last).map_err(|e| corrupt(e.to_string()))?.policy,
        None => Digest::from_bytes([0; 32]),
    };
    let mut pending = PendingEntries::default();
    pending.restart(newest);
    let mut entry = Entry::new(clock.now().at.0, EntryKind::Gap, policy);
    entry.facts = vec![
        number_fact("after_entries", tree.size()),
        number_fact("passes_at_most", reserved - recorded),
    ];
    pending.push(&mut entry)?;
    let transaction = conn.transaction()?;
    ledger::write(&transaction, &pending, &mut tree)?;
    transaction.execute("UPDATE mark SET recorded = reserved", [])?;
    transaction.commit()?;
    Ok(reserved)
}
