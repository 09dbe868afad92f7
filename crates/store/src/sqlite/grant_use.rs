//! Uses grants for a new request.

use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::TransitionError;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::batch::Batch;
use super::grant_budget::charge;
use super::grants::believed_grant;
use super::session_answers::{AnswerClaim, answer_row, is_recorded};
use crate::error::{StoreError, StoreResult};
use crate::record::NewRequest;

/// The time of a rate limit, in milliseconds.
const HOUR: i64 = 60 * 60 * 1_000;

/// Consumes one use of a grant that is active now and covers this agent and session.
pub(super) fn use_grant(batch: &Batch<'_>, id: Id, new: &NewRequest) -> StoreResult<()> {
    if !batch.now.reliable {
        return Err(StoreError::Refused(TransitionError::ClockUnreliable));
    }
    // A grant is not believed because a row says so.
    let Some(grant) = believed_grant(batch.conn, id, batch.now.at, &batch.ledger())? else {
        return Err(StoreError::GrantInactive);
    };
    if new.request.tier == Tier::Critical && !is_part_once(batch, id)? {
        return Err(StoreError::GrantInactive);
    }
    check_rate(batch, id)?;
    let (spent, reached) = charge(&grant, &new.grant_cost)?;
    let sql = "UPDATE given SET uses_left = uses_left - 1, last_used = ?2, \
               hour_uses = CASE WHEN hour = ?5 THEN hour_uses + 1 ELSE 1 END, hour = ?5, \
               spent = ?6, reached = ?7 \
               WHERE id = ?1 AND revoked IS NULL \
               AND (expires IS NULL OR expires > ?2) AND (uses_left IS NULL OR uses_left > 0) \
               AND (agent IS NULL OR agent = ?3) AND (session IS NULL OR session = ?4)";
    let name = new.request.requester.name();
    let used = batch.conn.prepare_cached(sql)?.execute(params![
        id.as_bytes(),
        batch.now.at.0,
        name,
        new.session,
        batch.now.at.0 / HOUR,
        spent,
        reached
    ])?;
    if used != 1 {
        return Err(StoreError::GrantInactive);
    }
    // An approval for the session or the repository holds only where it was given.
    let Some(row) = answer_row(batch.conn, id)? else { return Ok(()) };
    let repository = new.session_question.repository.as_ref();
    let claim = AnswerClaim {
        agent: name,
        session: &new.session,
        repository: repository.map(|found| found.folder.as_str()),
        person: &row.person,
        scope: row.scope,
    };
    let recorded = is_recorded(batch.conn, id, claim, batch.now.at, &batch.ledger())?;
    if recorded { Ok(()) } else { Err(StoreError::GrantInactive) }
}

/// Whether a grant is a part of a command that a person approved once. No other grant covers a
/// CRITICAL call.
fn is_part_once(batch: &Batch<'_>, id: Id) -> StoreResult<bool> {
    let sql = "SELECT 1 FROM given WHERE id = ?1 AND shape = 'part' AND uses_left IS NOT NULL";
    Ok(batch.conn.prepare_cached(sql)?.exists([id.as_bytes()])?)
}

/// Rejects a use beyond the rate limit of a grant. The row counts the uses of this commit, the
/// ledger those of the last hour: an edited row gives no more than the ledger allows.
fn check_rate(batch: &Batch<'_>, id: Id) -> StoreResult<()> {
    let sql = "SELECT per_hour, CASE WHEN hour = ?2 THEN hour_uses ELSE 0 END FROM given \
               WHERE id = ?1 AND per_hour IS NOT NULL";
    let mut statement = batch.conn.prepare_cached(sql)?;
    let now = batch.now.at;
    let limit = statement
        .query_row(params![id.as_bytes(), now.0 / HOUR], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((per_hour, in_row)) = limit else { return Ok(()) };
    let (per_hour, in_row): (u32, u32) = (per_hour, in_row);
    let in_ledger =
        batch.ledger().revocations.uses_after(id, Timestamp(now.0.saturating_sub(HOUR)));
    if in_row >= per_hour || in_ledger >= per_hour as usize {
        return Err(StoreError::GrantRateExceeded);
    }
    Ok(())
}

/// The grants with limited uses, rate or budget among these, as a fact: each loses one use.
pub(super) fn counted_grants(conn: &Connection, grants: &[Id]) -> StoreResult<String> {
    let sql = "SELECT 1 FROM given WHERE id = ?1 \
               AND (uses_left IS NOT NULL OR per_hour IS NOT NULL OR budget IS NOT NULL)";
    let mut statement = conn.prepare_cached(sql)?;
    let mut counted = Vec::new();
    for id in grants {
        if statement.exists([id.as_bytes()])? {
            counted.push(id.to_string());
        }
    }
    Ok(counted.join(" "))
}
