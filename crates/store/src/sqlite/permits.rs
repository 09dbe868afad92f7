//! Permits and the outcomes that agents report.

use countersign_json::canonical::CallDigest;
use countersign_ledger::entry::EntryKind;
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use countersign_workflow::request::{Requester, State, TransitionError};
use rusqlite::params;

use super::batch::Batch;
use super::crises::redact_edits;
use super::entry::{entry, set_request};
use super::recorded;
use super::request_row::load;
use super::revocations::MAX_PERMIT_AGE;
use crate::error::{StoreError, StoreResult};
use crate::record::{Redemption, StoredRequest, WriteContext};

/// Redeems a permit, or returns why it cannot be redeemed.
pub(super) fn redeem(
    batch: &mut Batch<'_>,
    id: Id,
    agent: &str,
    digest: &CallDigest,
    context: &WriteContext,
) -> StoreResult<Redemption> {
    let stored = load(batch.conn, id)?.ok_or(StoreError::NotFound("request"))?.stored;
    let request = &stored.request;
    if request.requester != Requester::Agent(agent.to_owned()) {
        return Ok(Redemption::AnotherAgent);
    }
    let (Some(decision), State::Approved) = (&request.decision, request.state) else {
        return Ok(Redemption::NotApproved(request.state));
    };
    if !decision.digest.binds(digest) {
        return Ok(Redemption::AnotherCall);
    }
    if let Some(then) = stored.redeemed {
        return Ok(Redemption::AlreadyUsed(then));
    }
    // Neither an approval nor an unused permit is believed because a row says so.
    let approved = recorded::approval(batch.conn, &stored, batch.head)?;
    if let Some(then) = batch.revocations.redeemed(id) {
        return Ok(Redemption::AlreadyUsed(then));
    }
    if !batch.now.reliable {
        return Err(StoreError::Refused(TransitionError::ClockUnreliable));
    }
    let until = stored.permit_until.unwrap_or(Timestamp(i64::MIN));
    // Redeemed permits are known for this long, whatever the row says about its end.
    let is_over = batch.now.at >= until.min(approved.at.plus(MAX_PERMIT_AGE));
    if is_over || batch.revocations.is_before_rebase(approved.seq) {
        return Ok(Redemption::Expired);
    }
    let text = id.to_string();
    let mut entry = entry(EntryKind::Redeem, context, Vec::new())?;
    set_request(&mut entry, request, &stored.session, &text);
    entry.digest = Some(decision.digest.canonical);
    batch.append(entry)?;
    let sql = "UPDATE request SET redeemed = ?2 WHERE id = ?1 AND state = 'approved' \
               AND redeemed IS NULL AND permit_until > ?2";
    let used = batch.conn.prepare_cached(sql)?.execute(params![id.as_bytes(), batch.now.at.0])?;
    if used != 1 {
        return Err(StoreError::Corrupt(format!(
            "the permit of request {id} changed during its redemption"
        )));
    }
    if request.crisis {
        redact_edits(batch, agent, &stored.session)?;
    }
    Ok(Redemption::Accepted)
}

/// Stores the first reported outcome.
pub(super) fn record_outcome(
    batch: &mut Batch<'_>,
    id: Id,
    agent: &str,
    outcome: String,
    context: &WriteContext,
) -> StoreResult<StoredRequest> {
    let mut stored = load(batch.conn, id)?.ok_or(StoreError::NotFound("request"))?.stored;
    // An agent cannot learn whether another agent's request exists.
    if stored.request.requester != Requester::Agent(agent.to_owned()) {
        return Err(StoreError::NotFound("request"));
    }
    if !stored.request.state.has_ended() {
        return Err(StoreError::Invalid("a pending request has no outcome yet".to_owned()));
    }
    if stored.outcome.is_some() {
        return Ok(stored);
    }
    let text = id.to_string();
    let mut entry = entry(EntryKind::Outcome, context, Vec::new())?;
    set_request(&mut entry, &stored.request, &stored.session, &text);
    batch.append(entry)?;
    batch
        .conn
        .prepare_cached("UPDATE request SET outcome = ?2 WHERE id = ?1 AND outcome IS NULL")?
        .execute(params![id.as_bytes(), outcome])?;
    stored.outcome = Some(outcome);
    Ok(stored)
}
