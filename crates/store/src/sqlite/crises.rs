//! Sessions in crisis.

use std::borrow::Cow;

use countersign_ledger::entry::EntryKind;
use rusqlite::{Connection, params};

use super::batch::Batch;
use super::columns::Columns;
use super::entry::{entry, number_fact};
use crate::error::{StoreError, StoreResult};
use crate::event::StoreEvent;
use crate::record::{CrisisSession, CrisisTakeover, WriteContext};

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
    let sql = "INSERT INTO crisis (agent, session, level, imminent, since) \
               VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (agent, session) \
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

/// Records that a person took over; `false` if the session is not in a crisis. The first person
/// stays recorded.
pub(super) fn take_over(
    batch: &mut Batch<'_>,
    CrisisTakeover { agent, session, person, at }: &CrisisTakeover,
    context: &WriteContext,
) -> StoreResult<bool> {
    let sql = "UPDATE crisis SET taken_by = coalesce(taken_by, ?3), \
               taken_at = coalesce(taken_at, ?4) WHERE agent = ?1 AND session = ?2";
    let taken = batch.conn.prepare_cached(sql)?.execute(params![agent, session, person, at.0])?;
    if taken == 0 {
        return Ok(false);
    }
    let mut entry = entry(EntryKind::CrisisTakeover, context, Vec::new())?;
    entry.agent = Some(Cow::Borrowed(agent));
    entry.session = Some(Cow::Borrowed(session));
    entry.person = Some(Cow::Borrowed(person));
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(true)
}

/// Who took over which session.
pub(super) fn takeovers(conn: &Connection) -> StoreResult<Vec<CrisisTakeover>> {
    let sql = "SELECT agent, session, taken_by, taken_at FROM crisis \
               WHERE taken_by IS NOT NULL AND taken_at IS NOT NULL ORDER BY agent, session";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut takeovers = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let (agent, session) = (columns.next()?, columns.next()?);
        let (person, at) = (columns.next()?, columns.time()?);
        takeovers.push(CrisisTakeover { agent, session, person, at });
    }
    Ok(takeovers)
}

/// Removes the texts that people edited in a crisis, once they cannot be sent any more. Never to
/// nothing: an agent would take an approval without an edit for one of its own text.
pub(super) fn redact_edits(batch: &mut Batch<'_>, agent: &str, session: &str) -> StoreResult<()> {
    let sql = "UPDATE request SET edited = '{}' WHERE requester = ?1 AND session = ?2 \
               AND crisis = 1 AND state = 'approved' AND edited <> '{}' \
               AND (redeemed IS NOT NULL OR permit_until <= ?3)";
    let now = batch.now.at.0;
    let removed = batch.conn.prepare_cached(sql)?.execute(params![agent, session, now])?;
    if removed > 0 {
        batch.mark_text_removed();
    }
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
    redact_edits(batch, agent, session)?;
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
