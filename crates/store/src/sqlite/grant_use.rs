//! Uses grants for a new request.

use countersign_types::id::Id;
use countersign_workflow::request::TransitionError;
use rusqlite::{Connection, params};

use super::batch::Batch;
use super::grants::believed;
use super::session_answers::{AnswerClaim, answer_row, is_recorded};
use crate::error::{StoreError, StoreResult};
use crate::record::NewRequest;

/// Consumes one use of a grant that is active now and covers this agent and session.
pub(super) fn use_grant(batch: &Batch<'_>, id: Id, new: &NewRequest) -> StoreResult<()> {
    if !batch.now.reliable {
        return Err(StoreError::Refused(TransitionError::ClockUnreliable));
    }
    // A grant is not believed because a row says so.
    if !believed(batch.conn, id, batch.now.at, &batch.ledger())? {
        return Err(StoreError::GrantInactive);
    }
    let sql = "UPDATE given SET uses_left = uses_left - 1 WHERE id = ?1 AND revoked IS NULL \
               AND (expires IS NULL OR expires > ?2) AND (uses_left IS NULL OR uses_left > 0) \
               AND (agent IS NULL OR agent = ?3) AND (session IS NULL OR session = ?4)";
    let name = new.request.requester.name();
    let used = batch.conn.prepare_cached(sql)?.execute(params![
        id.as_bytes(),
        batch.now.at.0,
        name,
        new.session
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

/// The grants with limited uses among these, as a fact: each loses one use.
pub(super) fn counted_grants(conn: &Connection, grants: &[Id]) -> StoreResult<String> {
    let sql = "SELECT 1 FROM given WHERE id = ?1 AND uses_left IS NOT NULL";
    let mut statement = conn.prepare_cached(sql)?;
    let mut counted = Vec::new();
    for id in grants {
        if statement.exists([id.as_bytes()])? {
            counted.push(id.to_string());
        }
    }
    Ok(counted.join(" "))
}
