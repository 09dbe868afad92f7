//! Rows of people, agents and their credentials: read, and believed only if the newest ledger entry
//! about a row has its digest.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::time::Timestamp;
use rusqlite::{Connection, params};

use super::batch::Batch;
use super::entry::{entry, text_fact};
use super::row_record::{PowerRow, RowKey, RowRecord, RowTable, has_rows, rows_fact};
use super::store::SqliteStore;
use super::{credentials, people};
use crate::error::StoreResult;
use crate::event::StoreEvent;
use crate::people::{CredentialRows, StoredPerson};
use crate::record::{RowDifference, WriteContext};

/// Rows in one entry; an entry has at most 64 KiB, and a name at most a few hundred bytes.
const MAX_ROWS: usize = 100;
/// Before every session.
const EVER: Timestamp = Timestamp(i64::MIN);

/// All rows that the ledger confirms.
pub(super) async fn read(store: &SqliteStore) -> StoreResult<CredentialRows> {
    let now = store.clock.now().at;
    let shared = Arc::clone(&store.shared);
    let found = store.read(move |conn| {
        let mut found = confirmed(conn, now, |key| shared.revocations.row(key))?;
        found.people_in_ledger = shared.revocations.has_people();
        Ok(found)
    });
    let found = found.await?;
    if found.unrecorded.is_empty() {
        return Ok(found);
    }
    // A row may be of a commit that was not published yet. In the writer thread rows and entries
    // are of the same moment.
    let work = move |batch: &mut Batch<'_>| {
        let mut found = confirmed(batch.conn, now, |key| batch.recorded_row(key))?;
        found.people_in_ledger = batch.revocations.has_people();
        Ok(found)
    };
    store.write_validated(work).await
}

/// The rows that have ended, and those whose digest the ledger has.
fn confirmed(
    conn: &Connection,
    now: Timestamp,
    recorded: impl Fn(RowKey) -> Option<Digest>,
) -> StoreResult<CredentialRows> {
    let mut found = all(conn, now)?;
    let mut unrecorded = Vec::new();
    keep_confirmed(&mut found.people, &recorded, &mut unrecorded);
    keep_confirmed(&mut found.agents, &recorded, &mut unrecorded);
    keep_confirmed(&mut found.logins, &recorded, &mut unrecorded);
    keep_confirmed(&mut found.accounts, &recorded, &mut unrecorded);
    keep_confirmed(&mut found.passkeys, &recorded, &mut unrecorded);
    found.unrecorded = unrecorded;
    Ok(found)
}

fn keep_confirmed<T: PowerRow>(
    rows: &mut Vec<T>,
    recorded: impl Fn(RowKey) -> Option<Digest>,
    unrecorded: &mut Vec<String>,
) {
    rows.retain(|row| {
        let RowRecord { key, content } = row.record();
        // A row that has ended gives no power.
        let is_confirmed = content.is_none() || recorded(key) == content;
        if !is_confirmed {
            unrecorded.push(row.describe());
        }
        is_confirmed
    });
}

/// All rows, whatever the ledger says; of logins only those that expire after this time.
fn all(conn: &Connection, now: Timestamp) -> StoreResult<CredentialRows> {
    Ok(CredentialRows {
        people: people::people(conn)?,
        agents: people::agents(conn)?,
        logins: people::logins(conn, now)?,
        accounts: credentials::accounts(conn)?,
        passkeys: credentials::passkeys(conn)?,
        unrecorded: Vec::new(),
        people_in_ledger: false,
    })
}

/// All rows, in the order of their tables.
fn each(rows: &CredentialRows) -> impl Iterator<Item = &dyn PowerRow> {
    fn dynamic<T: PowerRow>(rows: &[T]) -> impl Iterator<Item = &dyn PowerRow> {
        rows.iter().map(|row| row as &dyn PowerRow)
    }
    dynamic(&rows.people)
        .chain(dynamic(&rows.agents))
        .chain(dynamic(&rows.logins))
        .chain(dynamic(&rows.accounts))
        .chain(dynamic(&rows.passkeys))
}

/// The rows that the ledger confirms now and that have not ended; of sessions all that have not
/// ended, because the ledger does not remember those that expired.
pub(super) fn active(batch: &Batch<'_>) -> StoreResult<CredentialRows> {
    let mut found = confirmed(batch.conn, EVER, |key| batch.recorded_row(key))?;
    found.people.retain(|row| row.revoked.is_none());
    found.agents.retain(|row| row.revoked.is_none());
    found.accounts.retain(|row| row.ended.is_none());
    found.passkeys.retain(|row| row.ended.is_none());
    found.logins = people::logins(batch.conn, EVER)?;
    Ok(found)
}

/// Records these rows as they are here, whatever the tables say by now: a trigger that somebody
/// planted may have changed those. All sessions have ended, by the entry of the rebase also those
/// whose rows are gone.
pub(super) fn record_again(
    batch: &mut Batch<'_>,
    rows: &CredentialRows,
    why: &str,
    context: &WriteContext,
) -> StoreResult<()> {
    let line = |row: &dyn PowerRow| match row.record().key {
        key @ (RowTable::Login, _) => RowRecord::ended(key).line(row.owner()),
        _ => row.line(),
    };
    let lines: Vec<String> = each(rows).map(line).collect();
    append_lines(batch, &lines, why, context)
}

/// Records rows in entries of their own.
fn append_lines(
    batch: &mut Batch<'_>,
    lines: &[String],
    why: &str,
    context: &WriteContext,
) -> StoreResult<()> {
    for lines in lines.chunks(MAX_ROWS) {
        append_chunk(batch, lines, why, context)?;
    }
    Ok(())
}

fn append_chunk(
    batch: &mut Batch<'_>,
    lines: &[String],
    why: &str,
    context: &WriteContext,
) -> StoreResult<()> {
    let facts = vec![rows_fact(lines.to_vec()), text_fact("why", why)];
    batch.append(entry(EntryKind::RowsRecorded, context, facts)?)
}

/// Adds or changes a person. Revoking a person ends all their credentials.
pub(super) fn save_person(
    batch: &mut Batch<'_>,
    person: &StoredPerson,
    context: &WriteContext,
) -> StoreResult<()> {
    people::save_person(batch, person, context)?;
    if person.revoked.is_some() {
        end_credentials(batch, &person.name, context)?;
    }
    Ok(())
}

/// Ends all credentials of a person, also those whose rows are gone: they could come back.
fn end_credentials(batch: &mut Batch<'_>, person: &str, context: &WriteContext) -> StoreResult<()> {
    let rows = all(batch.conn, EVER)?;
    let own = each(&rows).filter(|row| row.owner() == person).map(|row| row.record().key);
    let mut keys = batch.recorded_credentials(person);
    keys.extend(own.filter(|key| key.0.is_credential()));
    let lines: Vec<String> = keys.iter().map(|key| RowRecord::ended(*key).line(person)).collect();
    append_lines(batch, &lines, "the person was revoked", context)?;
    for table in ["login", "account", "passkey", "subscription"] {
        let sql = format!("UPDATE {table} SET ended = ?2 WHERE person = ?1 AND ended IS NULL");
        batch.conn.prepare_cached(&sql)?.execute(params![person, batch.now.at.0])?;
    }
    Ok(())
}

/// Records the present rows of a store of an earlier version, whose entries have no digests. A
/// store with a single digest is never adopted again. Returns how many rows there were.
pub(super) fn adopt(batch: &mut Batch<'_>, context: &WriteContext) -> StoreResult<u64> {
    let Some(names) = batch.revocations.names_without_digests() else { return Ok(0) };
    let mut rows = all(batch.conn, EVER)?;
    // Neither a row without any entry nor one of a person who was revoked.
    rows.people.retain(|row| row.revoked.is_none() && names.people.contains(&row.name));
    rows.agents.retain(|row| row.revoked.is_none() && names.agents.contains(&row.name));
    let people: HashSet<String> = rows.people.iter().map(|row| row.name.clone()).collect();
    rows.logins.retain(|row| people.contains(&row.person));
    rows.accounts.retain(|row| people.contains(&row.person));
    rows.passkeys.retain(|row| people.contains(&row.person));
    let lines: Vec<String> = each(&rows).map(PowerRow::line).collect();
    let why = "adopted at upgrade";
    if lines.is_empty() {
        append_chunk(batch, &lines, why, context)?;
    } else {
        append_lines(batch, &lines, why, context)?;
    }
    batch.publish(StoreEvent::Settings);
    Ok(u64::try_from(lines.len()).unwrap_or(u64::MAX))
}

/// What the entries say about all rows.
#[derive(Debug, Default)]
pub(super) struct RecordedRows {
    rows: HashMap<RowKey, (Option<Digest>, String)>,
    has_rows: bool,
}

impl RecordedRows {
    /// Adds what one entry says.
    pub fn follow(&mut self, entry: &Entry<'_>) {
        self.has_rows |= has_rows(entry);
        if entry.kind == EntryKind::ClockRebased {
            let sessions = self.rows.iter_mut().filter(|(key, _)| key.0 == RowTable::Login);
            sessions.for_each(|(_, (content, _))| *content = None);
        }
        for (RowRecord { key, content }, owner) in RowRecord::all_of(entry) {
            self.rows.insert(key, (content, owner.to_owned()));
        }
    }

    /// The rows that the ledger does not confirm, and those that are gone. Nothing for a store of
    /// an earlier version.
    pub fn differences(mut self, conn: &Connection) -> StoreResult<Vec<RowDifference>> {
        let mut found = Vec::new();
        if !self.has_rows {
            return Ok(found);
        }
        let rows = all(conn, EVER)?;
        for row in each(&rows) {
            let RowRecord { key, content } = row.record();
            let recorded = self.rows.remove(&key).map(|(content, _)| content);
            let state = match recorded {
                _ if content.is_none() && recorded.flatten().is_none() => continue,
                Some(known) if known == content => continue,
                None => None,
                Some(None) => Some("ended"),
                Some(Some(_)) if content.is_none() => Some("active"),
                Some(Some(_)) => Some("other values"),
            };
            let row_state = if content.is_none() { "ended" } else { "active" };
            found.push(difference(row.describe(), Some(row_state), state));
        }
        let mut missing: Vec<_> = self.rows.into_iter().collect();
        missing.retain(|(_, (content, _))| content.is_some());
        missing.sort_by_key(|(key, _)| *key);
        found.extend(missing.into_iter().map(|((table, _), (_, owner))| {
            difference(table.describe(&owner), None, Some("active"))
        }));
        Ok(found)
    }
}

fn difference(credential: String, row: Option<&str>, ledger: Option<&str>) -> RowDifference {
    let (row, ledger) = (row.map(str::to_owned), ledger.map(str::to_owned));
    RowDifference { request: None, credential: Some(credential), row, ledger }
}
