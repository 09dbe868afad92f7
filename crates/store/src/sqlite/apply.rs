//! Applies an event to a request: runs the state machine and writes its effects.

use countersign_types::id::Id;
use countersign_workflow::request::{Choice, Event, Request, State, Transition};
use rusqlite::{OptionalExtension as _, params};

use super::apply_entry;
use super::approved_parts::ApprovedParts;
use super::batch::Batch;
use super::columns::DecisionColumns;
use super::errors::signed;
use super::outbox::announce;
use super::proposed_edit;
use super::request_row::{LoadedRequest, load};
use super::session_answers;
use crate::error::{StoreError, StoreResult};
use crate::event::StoreEvent;
use crate::record::{AnnouncementKind, Applied, EditRecord, StoredRequest, WriteContext};

/// Applies an event.
pub(super) fn apply(
    batch: &mut Batch<'_>,
    id: Id,
    event: Event,
    context: &WriteContext,
) -> StoreResult<Applied> {
    let found = load(batch.conn, id)?.ok_or(StoreError::NotFound("request"))?;
    let LoadedRequest { mut stored, permit_for, card_after } = found;
    let edits = matches!(event, Event::Answer { edited: Some(_), choice: Choice::Approve, .. });
    if edits && context.edited.is_none() {
        return Err(StoreError::Invalid(
            "an edited approval needs the edited arguments".to_owned(),
        ));
    }
    if matches!(event, Event::Answer { choice: Choice::Approve, .. }) {
        proposed_edit::check(batch, &stored)?;
    }
    let scope = session_answers::scope_of(&event);
    let parts = ApprovedParts::of(&event, &stored)?;
    let before = stored.request.clone();
    let change = stored.request.apply(event, batch.now)?;
    session_answers::check_scope(&stored, scope)?;
    if change == Transition::Nothing {
        return Ok(Applied { stored, change });
    }
    let edited = context.edited.as_ref().filter(|_| edits);
    let is_proposed = keep_edit(&mut stored, &before, edited);
    if stored.request.state == State::Approved && !stored.request.requester.is_drill() {
        stored.permit_until = Some(batch.now.at.plus(permit_for));
    }
    // The entry is checked first; nothing can be rejected after this line.
    apply_entry::append(batch, &stored, &change, (&before, context))?;
    save(batch, &stored, &before)?;
    save_edit(batch, &stored)?;
    if card_after.is_some() && matches!(change, Transition::Ended(_)) {
        replace_card(batch, &mut stored)?;
    }
    publish(batch, &stored, &change, (&parts, context))?;
    if is_proposed {
        // The edited call is put to everybody who was asked about the original.
        let level = stored.request.level;
        announce(batch, id, AnnouncementKind::Escalated(level))?;
        batch.publish(StoreEvent::Escalated(id, level));
    }
    Ok(Applied { stored, change })
}

/// Keeps the edited call: as the proposed edit, or as the call that was approved. Returns whether
/// it is proposed to further people.
fn keep_edit(stored: &mut StoredRequest, before: &Request, edited: Option<&EditRecord>) -> bool {
    let has_changed = stored.request.proposal != before.proposal;
    let is_proposed = has_changed && stored.request.proposal.is_some();
    if has_changed {
        stored.proposed = edited.filter(|_| is_proposed).cloned();
    }
    // The call of a drill does not exist.
    if stored.request.state == State::Approved
        && !stored.request.requester.is_drill()
        && let Some(edited) = stored.proposed.as_ref().or(edited)
    {
        stored.edited = Some(edited.arguments.clone());
        stored.edited_card = Some(edited.card.clone());
    }
    is_proposed
}

/// Announces a change, and what follows from it for the session and the repository.
fn publish(
    batch: &mut Batch<'_>,
    stored: &StoredRequest,
    change: &Transition,
    (parts, context): (&ApprovedParts, &WriteContext),
) -> StoreResult<()> {
    let id = stored.request.id;
    match change {
        Transition::Nothing => {}
        Transition::Escalated(level) => {
            announce(batch, id, AnnouncementKind::Escalated(*level))?;
            batch.publish(StoreEvent::Escalated(id, *level));
        }
        Transition::ApprovalCounted { .. } | Transition::DenialCounted { .. } => {
            batch.publish(StoreEvent::Voted(id));
        }
        Transition::Ended(decision) => {
            settle_session(batch, stored, (parts, context))?;
            announce(batch, id, AnnouncementKind::Ended(decision.state))?;
            batch.publish_end(stored.clone());
        }
    }
    Ok(())
}

/// Makes an approval for the session or the repository a grant; a denial ends those that it
/// contradicts.
fn settle_session(
    batch: &mut Batch<'_>,
    stored: &StoredRequest,
    (parts, context): (&ApprovedParts, &WriteContext),
) -> StoreResult<()> {
    let request = &stored.request;
    match request.state {
        // The call of a drill does not exist.
        State::Approved if request.requester.is_drill() => Ok(()),
        State::Approved => session_answers::create(batch, stored),
        State::Denied => {
            parts.end_denied(batch, stored, context)?;
            parts.create(batch, context)
        }
        _ => Ok(()),
    }
}

/// Replaces the card by the one for ended requests, if there is one.
fn replace_card(batch: &mut Batch<'_>, stored: &mut StoredRequest) -> StoreResult<()> {
    let sql = "UPDATE request_text SET card = card_after, card_after = NULL, \
               brief = coalesce(json_extract(card_after, '$.brief'), '') \
               WHERE request = ?1 AND card_after IS NOT NULL RETURNING card, brief";
    let replaced = batch
        .conn
        .prepare_cached(sql)?
        .query_row([stored.request.id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((card, brief)) = replaced {
        (stored.card, stored.brief) = (card, brief);
        batch.mark_text_removed();
    }
    Ok(())
}

/// Writes the columns that may change, if the request is still pending, its proposed edit and its
/// votes.
fn save(batch: &Batch<'_>, stored: &StoredRequest, before: &Request) -> StoreResult<()> {
    let request = &stored.request;
    if request.proposal != before.proposal {
        proposed_edit::save(batch, stored)?;
    }
    let decision =
        request.decision.as_ref().map(DecisionColumns::of).transpose()?.unwrap_or_default();
    let sql = "UPDATE request SET state = ?2, level = ?3, permit_until = ?4, edited = ?5, \
               votes = ?6, decider = ?7, people = ?8, given = ?9, channel = ?10, reason = ?11, \
               decided = ?12, decided_digest = ?13, decided_raw = ?14, decided_both_bind = ?15 \
               WHERE id = ?1 AND state = 'pending'";
    let changed = batch.conn.prepare_cached(sql)?.execute(params![
        request.id.as_bytes(),
        request.state.label(),
        request.level.index(),
        stored.permit_until.map(|at| at.0),
        stored.edited,
        count(request.votes.len())?,
        decision.decider,
        decision.people,
        decision.grant_id,
        decision.channel,
        decision.reason,
        decision.at,
        decision.digest,
        decision.raw,
        decision.both_bind,
    ])?;
    if changed != 1 {
        return Err(StoreError::Corrupt(format!("request {} is no longer pending", request.id)));
    }
    save_votes(batch, request, before)
}

/// Writes the new votes; all of them where an edit or a denial discarded an earlier one.
fn save_votes(batch: &Batch<'_>, request: &Request, before: &Request) -> StoreResult<()> {
    let is_longer = request.votes.starts_with(&before.votes);
    let kept = if is_longer { before.votes.len() } else { 0 };
    if !is_longer {
        let sql = "DELETE FROM vote WHERE request = ?1";
        batch.conn.prepare_cached(sql)?.execute([request.id.as_bytes()])?;
    }
    for (place, vote) in request.votes.iter().enumerate().skip(kept) {
        let choice = match vote.choice {
            Choice::Approve => "approve",
            Choice::Deny => "deny",
        };
        let place = count(place)?;
        batch
            .conn
            .prepare_cached("INSERT INTO vote VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
            .execute(params![
                request.id.as_bytes(),
                vote.person,
                place,
                choice,
                vote.channel,
                vote.reason,
                vote.at.0,
                vote.scope.label(),
            ])?;
    }
    Ok(())
}

/// Writes the card of an approved edited call.
fn save_edit(batch: &Batch<'_>, stored: &StoredRequest) -> StoreResult<()> {
    let Some(card) = &stored.edited_card else { return Ok(()) };
    let sql = "UPDATE request_text SET edited_card = ?2 WHERE request = ?1";
    batch.conn.prepare_cached(sql)?.execute(params![stored.request.id.as_bytes(), card])?;
    Ok(())
}

fn count(number: usize) -> StoreResult<i64> {
    signed(u64::try_from(number).unwrap_or(u64::MAX))
}
