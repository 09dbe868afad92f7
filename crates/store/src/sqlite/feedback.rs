//! What people say about calls that ran. It only takes suggestions away, so a lost row permits
//! nothing by itself.

use std::borrow::Cow;

use countersign_json::Value;
use countersign_ledger::entry::EntryKind;
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use countersign_workflow::request::State;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::batch::Batch;
use super::columns::Columns;
use super::entry::{entry, set_request};
use super::request_row::load;
use crate::error::{StoreError, StoreResult};
use crate::feedback::{CallFeedback, RegrettedCall};
use crate::record::WriteContext;

/// How many regretted calls are read at most, the newest first.
const MAX_REGRETTED: u32 = 10_000;

/// Stores what a person says about a call that ran; the last answer counts.
pub(super) fn give(
    batch: &mut Batch<'_>,
    feedback: &CallFeedback,
    context: &WriteContext,
) -> StoreResult<()> {
    let CallFeedback { request: id, regretted, person, at } = feedback;
    let id = *id;
    let stored = load(batch.conn, id)?.ok_or(StoreError::NotFound("request"))?.stored;
    let ran = stored.redeemed.is_some() || stored.outcome.is_some();
    if stored.request.state != State::Approved || !ran || stored.request.requester.is_drill() {
        return Err(StoreError::Invalid("the call has not run".to_owned()));
    }
    let text = id.to_string();
    let facts = vec![(Cow::Borrowed("regretted"), Value::Bool(*regretted))];
    let mut entry = entry(EntryKind::Feedback, context, facts)?;
    set_request(&mut entry, &stored.request, &stored.session, &text);
    entry.person = Some(Cow::Borrowed(person));
    batch.append(entry)?;
    let sql = "INSERT INTO feedback VALUES (?1, ?2, ?3, ?4) ON CONFLICT (request) DO UPDATE SET \
               regretted = excluded.regretted, person = excluded.person, at = excluded.at";
    batch.conn.prepare_cached(sql)?.execute(params![id.as_bytes(), regretted, person, at.0])?;
    Ok(())
}

/// What people said about a call.
pub(super) fn of(conn: &Connection, id: Id) -> StoreResult<Option<CallFeedback>> {
    let sql = "SELECT regretted, person, at FROM feedback WHERE request = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(CallFeedback {
            request: id,
            regretted: row.get(0)?,
            person: row.get(1)?,
            at: Timestamp(row.get(2)?),
        })
    };
    Ok(conn.prepare_cached(sql)?.query_row([id.as_bytes()], read).optional()?)
}

/// The calls that should not have run, the newest first.
pub(super) fn regretted(conn: &Connection) -> StoreResult<Vec<RegrettedCall>> {
    let sql = "SELECT f.request, r.requester, r.digest, f.at FROM feedback f \
               JOIN request r ON r.id = f.request WHERE f.regretted = 1 \
               ORDER BY f.at DESC LIMIT ?1";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([MAX_REGRETTED])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        found.push(RegrettedCall {
            request: Id::from_bytes(columns.next()?),
            agent: columns.next()?,
            digest: columns.digest()?,
            at: columns.time()?,
        });
    }
    Ok(found)
}
