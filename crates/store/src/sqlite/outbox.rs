//! Announcements and their deliveries.

use std::borrow::Cow;

use countersign_ledger::entry::EntryKind;
use countersign_types::id::Id;
use countersign_workflow::request::EscalationLevel;
use rusqlite::{Connection, OptionalExtension, params};

use super::batch::Batch;
use super::columns::{Columns, level};
use super::entry::{entry, text_fact};
use super::errors::{corrupt, signed, unsigned};
use crate::error::{StoreError, StoreResult};
use crate::event::StoreEvent;
use crate::record::{
    AnnouncementKind, AttemptResult, DeliveryAttempt, DeliveryStatus, OutboxEntry, WriteContext,
};

/// Adds an announcement to the outbox, in the commit of the change that it announces. Its sequence
/// number is that of the ledger entry that was just appended.
pub(super) fn announce(batch: &Batch<'_>, request: Id, news: AnnouncementKind) -> StoreResult<()> {
    let (word, level, state) = match news {
        AnnouncementKind::Asked => ("asked", None, None),
        AnnouncementKind::Escalated(level) => ("climbed", Some(level.index()), None),
        AnnouncementKind::Ended(state) => ("ended", None, Some(state.label())),
    };
    let sql = "INSERT INTO outbox VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    batch.conn.prepare_cached(sql)?.execute(params![
        signed(batch.entries())?,
        request.as_bytes(),
        word,
        level,
        state,
        batch.now.at.0
    ])?;
    Ok(())
}

/// Announcements with a sequence number greater than `after`, oldest first.
pub(super) fn outbox(conn: &Connection, after: u64, limit: u32) -> StoreResult<Vec<OutboxEntry>> {
    let sql = "SELECT seq, request, at, news, level, state FROM outbox WHERE seq > ?1 \
               ORDER BY seq LIMIT ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![signed(after)?, limit])?;
    let mut list = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let seq: i64 = columns.next()?;
        let (request, at) = (Id::from_bytes(columns.next()?), columns.time()?);
        let word: String = columns.next()?;
        let escalated_to: Option<u32> = columns.next()?;
        let news = match (word.as_str(), escalated_to) {
            ("asked", _) => AnnouncementKind::Asked,
            ("climbed", Some(escalated_to)) => AnnouncementKind::Escalated(level(escalated_to)?),
            ("ended", _) => AnnouncementKind::Ended(columns.state()?),
            _ => return Err(corrupt(format!("unknown announcement `{word}`"))),
        };
        let tried = attempts(conn, request, Some(seq))?;
        list.push(OutboxEntry { seq: unsigned(seq)?, request, news, at, tried });
    }
    Ok(list)
}

/// The deliveries of a request's announcements.
pub(super) fn deliveries(conn: &Connection, request: Id) -> StoreResult<Vec<DeliveryStatus>> {
    attempts(conn, request, None)
}

/// The deliveries of one announcement of a request, or of all.
fn attempts(conn: &Connection, request: Id, one: Option<i64>) -> StoreResult<Vec<DeliveryStatus>> {
    let sql = "SELECT channel, attempts, at, result, detail, again FROM delivery \
               WHERE request = ?1 AND outbox BETWEEN ?2 AND ?3 ORDER BY outbox, channel";
    let mut statement = conn.prepare_cached(sql)?;
    let (from, to) = (one.unwrap_or(i64::MIN), one.unwrap_or(i64::MAX));
    let mut rows = statement.query(params![request.as_bytes(), from, to])?;
    let mut list = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let (channel, attempts, at) = (columns.next()?, columns.next()?, columns.time()?);
        let (word, detail): (String, String) = (columns.next()?, columns.next()?);
        let result = match (word.as_str(), columns.maybe_time()?) {
            ("arrived", _) => AttemptResult::Delivered(detail),
            ("again", Some(at)) => AttemptResult::Retry(detail, at),
            ("failed", _) => AttemptResult::Failed(detail),
            _ => return Err(corrupt(format!("unknown delivery result `{word}`"))),
        };
        list.push(DeliveryStatus { channel, attempts, result, at });
    }
    Ok(list)
}

/// Records one attempt. Delivery and final failure are ledger entries as well.
pub(super) fn record_attempt(
    batch: &mut Batch<'_>,
    attempt: &DeliveryAttempt,
    context: &WriteContext,
) -> StoreResult<()> {
    let seq = signed(attempt.seq)?;
    let request = batch
        .conn
        .prepare_cached("SELECT request FROM outbox WHERE seq = ?1")?
        .query_row([seq], |row| row.get(0))
        .optional()?;
    let request = request.map(Id::from_bytes).ok_or(StoreError::NotFound("announcement"))?;
    let (word, detail, again, kind) = match &attempt.result {
        AttemptResult::Delivered(name) => ("arrived", name, None, Some(EntryKind::Notified)),
        AttemptResult::Retry(why, at) => ("again", why, Some(at.0), None),
        AttemptResult::Failed(why) => ("failed", why, None, Some(EntryKind::NotifyFailed)),
    };
    if let Some(kind) = kind {
        let id = request.to_string();
        let mut facts = vec![text_fact("channel", &attempt.channel)];
        if kind == EntryKind::NotifyFailed {
            facts.push(text_fact("reason", detail));
        }
        let mut entry = entry(kind, context, facts)?;
        entry.request = Some(Cow::Owned(id));
        batch.append(entry)?;
    }
    let sql = "INSERT INTO delivery VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7) ON CONFLICT \
               (request, outbox, channel) DO UPDATE SET attempts = attempts + 1, \
               result = excluded.result, detail = excluded.detail, again = excluded.again, \
               at = excluded.at";
    batch.conn.prepare_cached(sql)?.execute(params![
        request.as_bytes(),
        seq,
        attempt.channel,
        word,
        detail,
        again,
        batch.now.at.0
    ])?;
    if attempt.done {
        batch.conn.prepare_cached("DELETE FROM outbox WHERE seq = ?1")?.execute([seq])?;
    }
    Ok(())
}

/// A delivery that counted as delivered, of a pending request.
const DELIVERED: &str = "\
    SELECT r.id, d.outbox, r.level FROM request r CROSS JOIN delivery d ON d.request = r.id \
    WHERE r.state = 'pending' AND d.channel = ?1 AND d.result = 'arrived' AND d.detail = ?2 \
    ORDER BY d.outbox DESC LIMIT 1";

/// Records that a message was not delivered. If the request has no newer announcement, it is
/// announced again, with the known state of each channel.
pub(super) fn mark_undelivered(
    batch: &mut Batch<'_>,
    (channel, message): (&str, &str),
    why: &str,
    context: &WriteContext,
) -> StoreResult<Option<Id>> {
    let found = batch
        .conn
        .prepare_cached(DELIVERED)?
        .query_row([channel, message], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((request, seq, escalated_to)): Option<([u8; 16], i64, u32)> = found else {
        return Ok(None);
    };
    let (id, level) = (Id::from_bytes(request), level(escalated_to)?);
    let facts = vec![text_fact("channel", channel), text_fact("reason", why)];
    let mut entry = entry(EntryKind::NotifyFailed, context, facts)?;
    entry.request = Some(Cow::Owned(id.to_string()));
    batch.append(entry)?;
    let sql = "UPDATE delivery SET result = 'failed', detail = ?4, at = ?5 \
               WHERE request = ?1 AND outbox = ?2 AND channel = ?3";
    batch.conn.prepare_cached(sql)?.execute(params![request, seq, channel, why, batch.now.at.0])?;
    let newest = "SELECT max(coalesce((SELECT max(outbox) FROM delivery WHERE request = ?1), 0), \
                  coalesce((SELECT max(seq) FROM outbox WHERE request = ?1), 0))";
    let newest: i64 = batch.conn.prepare_cached(newest)?.query_row([request], |row| row.get(0))?;
    if newest == seq {
        let news = if level == EscalationLevel::First {
            AnnouncementKind::Asked
        } else {
            AnnouncementKind::Escalated(level)
        };
        announce(batch, id, news)?;
        let sql = "UPDATE delivery SET outbox = ?3 WHERE request = ?1 AND outbox = ?2 \
                   AND result <> 'again'";
        let new_seq = signed(batch.entries())?;
        batch.conn.prepare_cached(sql)?.execute(params![request, seq, new_seq])?;
    }
    batch.publish(StoreEvent::Undelivered(id));
    Ok(Some(id))
}
