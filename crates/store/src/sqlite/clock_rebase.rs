//! Sets the time of the ledger back by a person's decision, after the clock was wrong for a while.

use std::borrow::Cow;

use countersign_ledger::entry::EntryKind;
use countersign_types::id::Id;
use countersign_types::time::{Moment, Timestamp};
use countersign_workflow::request::Event;
use rusqlite::params;

use super::apply::apply;
use super::batch::Batch;
use super::clock_shift::ClockShift;
use super::entry::{entry, number_fact, text_fact};
use super::request_row::pending;
use super::revocation::REBASED_SIZE;
use super::{credential_rows, grants};
use crate::error::{StoreError, StoreResult};
use crate::event::StoreEvent;
use crate::record::{ClockRebase, WriteContext};

/// Times that only say when something was, or from when it counts: none may be later than now.
const TIMES: [(&str, &str); 13] = [
    ("person", "added"),
    ("person", "role_since"),
    ("person", "active_from"),
    ("agent", "added"),
    ("agent", "expires"),
    ("account", "linked"),
    ("account", "active_from"),
    ("passkey", "added"),
    ("passkey", "active_from"),
    ("crisis", "since"),
    ("session_memory", "used"),
    ("mcp_server", "last_seen"),
    ("delivery", "again"),
];

/// Sets the time back to `to`.
pub(super) fn rebase(
    batch: &mut Batch<'_>,
    ClockRebase { to, person }: &ClockRebase,
    context: &WriteContext,
) -> StoreResult<()> {
    let (from, to) = (batch.now.at, *to);
    if to >= from {
        return Err(StoreError::Invalid(format!(
            "the clock is at {from}, which is not after {to}: there is nothing to rebase"
        )));
    }
    end_pending(batch, context)?;
    revoke_grants(batch, to, person, context)?;
    let entries = batch.entries();
    let (before, after) = (from.to_string(), to.to_string());
    let facts = vec![
        text_fact("from", &before),
        text_fact("to", &after),
        number_fact(REBASED_SIZE, entries),
    ];
    let mut entry = entry(EntryKind::ClockRebased, context, facts)?;
    entry.person = Some(Cow::Borrowed(person));
    batch.rebase(to);
    batch.append(entry)?;
    // Only what the ledger confirms is recorded, with the times that it must have afterwards.
    let mut rows = credential_rows::active(batch)?;
    ClockShift { from, to }.apply(&mut rows);
    shift_times(batch, from, to)?;
    credential_rows::record_again(batch, &rows, "the clock was rebased", context)?;
    batch.publish(StoreEvent::Settings);
    Ok(())
}

/// Ends every pending request at its deadline, which the new clock may reach only in years.
fn end_pending(batch: &mut Batch<'_>, context: &WriteContext) -> StoreResult<()> {
    let now = batch.now;
    for stored in pending(batch.conn)? {
        let deadline = stored.request.schedule.deadline;
        batch.now = Moment { at: now.at.max(deadline), reliable: false };
        apply(batch, stored.request.id, Event::Time, context)?;
    }
    batch.now = now;
    Ok(())
}

/// Revokes every grant that would be active at the new time.
fn revoke_grants(
    batch: &mut Batch<'_>,
    to: Timestamp,
    person: &str,
    context: &WriteContext,
) -> StoreResult<()> {
    let sql = "SELECT id FROM given WHERE revoked IS NULL AND (expires IS NULL OR expires > ?1)";
    let ids = {
        let mut statement = batch.conn.prepare_cached(sql)?;
        let rows = statement.query_map([to.0], |row| row.get::<_, [u8; 16]>(0))?;
        rows.collect::<Result<Vec<_>, _>>()?
    };
    for id in ids {
        grants::revoke(batch, Id::from_bytes(id), person, context)?;
    }
    Ok(())
}

/// Moves the times of rows, as `ClockShift` says. A time that was still to come is as far ahead as
/// before, so that neither a waiting period nor a token is longer or shorter; every other time is
/// not after `to`.
fn shift_times(batch: &Batch<'_>, from: Timestamp, to: Timestamp) -> StoreResult<()> {
    for (table, column) in TIMES {
        let sql = format!(
            "UPDATE {table} SET {column} = CASE WHEN {column} > ?1 THEN ?2 + ({column} - ?1) \
             ELSE min({column}, ?2) END WHERE {column} > ?2"
        );
        batch.conn.prepare_cached(&sql)?.execute(params![from.0, to.0])?;
    }
    let sql = "UPDATE login SET ended = ?1 WHERE ended IS NULL";
    batch.conn.prepare_cached(sql)?.execute([to.0])?;
    let sql = "UPDATE request SET permit_until = ?1 WHERE state = 'approved' \
               AND redeemed IS NULL AND permit_until > ?1";
    batch.conn.prepare_cached(sql)?.execute([to.0])?;
    Ok(())
}
