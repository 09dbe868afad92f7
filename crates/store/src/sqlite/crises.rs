//! Sessions in crisis.

use std::borrow::Cow;

use countersign_ledger::entry::EntryKind;
use rusqlite::{Connection, params};

use super::batch::Batch;
use super::columns::Columns;
use super::entry::{entry, number_fact};
use crate::error::{StoreError, StoreResult};
use crate::event::StoreEvent;
use crate::record::{CrisisSession, WriteContext};

/// Marks a session as in crisis. The recorded level only rises.
pub(super) fn begin_crisis(
    batch: &mut Batch<'_>,
    crisis: &CrisisSession,
    context: &WriteContext,
) -> StoreResult<()> {
    if !(1..=6).contains(&crisis.level) {
        return Err(StoreError::Invalid(format!(
            "crisis level {} is not between 1 and 6",
            crisis.level
        )));
    }
    let sql = "INSERT INTO crisis VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (agent, session) \
               DO UPDATE SET level = max(level, excluded.level), \
               imminent = max(imminent, excluded.imminent), since = min(since, excluded.since)";
    batch.conn.prepare_cached(sql)?.execute(params![
        crisis.agent,
        crisis.session,
        crisis.level,
        crisis.imminent,
        crisis.since.0
    ])?;
    let mut entry =
        entry(EntryKind::CrisisBegin, context, vec![number_fact("level", crisis.level)])?;
    entry.agent = Some(Cow::Borrowed(&crisis.agent));
    entry.session = Some(Cow::Borrowed(&crisis.session));
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(())
}

/// Removes the crisis mark of a session by a person's decision.
pub(super) fn lift_crisis(
    batch: &mut Batch<'_>,
    agent: &str,
    session: &str,
    person: &str,
    context: &WriteContext,
) -> StoreResult<bool> {
    let lifted = batch
        .conn
        .prepare_cached("DELETE FROM crisis WHERE agent = ?1 AND session = ?2")?
        .execute([agent, session])?;
    if lifted == 0 {
        return Ok(false);
    }
    let mut entry = entry(EntryKind::CrisisLift, context, Vec::new())?;
    entry.agent = Some(Cow::Borrowed(agent));
    entry.session = Some(Cow::Borrowed(session));
    entry.person = Some(Cow::Borrowed(person));
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(true)
}

/// Every session in crisis.
pub(super) fn crises(conn: &Connection) -> StoreResult<Vec<CrisisSession>> {
    let sql = "SELECT agent, session, level, imminent, since FROM crisis ORDER BY since";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut crises = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let (agent, session) = (columns.next()?, columns.next()?);
        let (level, imminent) = (columns.next()?, columns.next()?);
        crises.push(CrisisSession { agent, session, level, imminent, since: columns.time()? });
    }
    Ok(crises)
}
