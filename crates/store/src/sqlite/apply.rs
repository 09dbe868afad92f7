//! Applies an event to a request: runs the state machine and writes its effects.

use std::borrow::Cow;

use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::id::Id;
use countersign_workflow::request::{
    ApprovalScope, Choice, Decider, Event, FREEZE, Request, State, TAKE_OVER, Transition, Vote,
};
use rusqlite::{OptionalExtension as _, params};

use super::approved_parts::ApprovedParts;
use super::batch::Batch;
use super::columns::{DecisionColumns, drill_kind};
use super::entry::{Fact, entry, number_fact, set_request, text_fact};
use super::errors::signed;
use super::outbox::announce;
use super::request_row::{LoadedRequest, load};
use super::session_answers::{self, DECIDED_SCOPE};
use crate::error::{StoreError, StoreResult};
use crate::event::StoreEvent;
use crate::record::{AnnouncementKind, Applied, StoredRequest, WriteContext};

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
    let scope = session_answers::scope_of(&event);
    let parts = ApprovedParts::of(&event, &stored)?;
    let votes = stored.request.votes.len();
    let change = stored.request.apply(event, batch.now)?;
    session_answers::check_scope(&stored, scope)?;
    if change == Transition::Nothing {
        return Ok(Applied { stored, change });
    }
    if let Transition::Ended(decision) = &change
        && decision.state == State::Approved
        // A drill has no permit, because its call does not exist.
        && !stored.request.requester.is_drill()
    {
        stored.permit_until = Some(decision.at.plus(permit_for));
        if let Some(edited) = context.edited.as_ref().filter(|_| edits) {
            stored.edited = Some(edited.arguments.clone());
            stored.edited_card = Some(edited.card.clone());
        }
    }
    // The entry is checked first; nothing can be rejected after this line.
    append_entry(batch, &stored, &change, context)?;
    save(batch, &stored, votes)?;
    save_edit(batch, &stored)?;
    if card_after.is_some() && matches!(change, Transition::Ended(_)) {
        replace_card(batch, &mut stored)?;
    }
    publish(batch, &stored, &change, (&parts, context))?;
    Ok(Applied { stored, change })
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

/// Writes the columns that may change, if the request is still pending, and the new votes.
fn save(batch: &Batch<'_>, stored: &StoredRequest, votes: usize) -> StoreResult<()> {
    let request = &stored.request;
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
    for (place, vote) in request.votes.iter().enumerate().skip(votes) {
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

/// The denial by a freeze, or by a person who takes over.
fn frozen_vote(change: &Transition) -> Option<Vote> {
    let Transition::Ended(decision) = change else { return None };
    let Decider::People(people) = &decision.by else { return None };
    [FREEZE, TAKE_OVER].contains(&decision.channel.as_str()).then(|| Vote {
        scope: ApprovalScope::Once,
        person: people.first().cloned().unwrap_or_default(),
        choice: Choice::Deny,
        channel: decision.channel.clone(),
        reason: decision.reason.clone(),
        at: decision.at,
    })
}

fn count(number: usize) -> StoreResult<i64> {
    signed(u64::try_from(number).unwrap_or(u64::MAX))
}

/// Adds the facts of the vote that caused a change.
fn add_vote<'a>(facts: &mut Vec<Fact<'a>>, request: &'a Request) {
    if let Some(vote) = request.votes.last() {
        facts.extend([text_fact("channel", &vote.channel), text_fact("reason", &vote.reason)]);
        if vote.scope != ApprovalScope::Once {
            facts.push(text_fact("scope", vote.scope.label()));
        }
    }
    let scope = request.approval_scope();
    if scope != ApprovalScope::Once {
        facts.push(text_fact(DECIDED_SCOPE, scope.label()));
    }
}

fn append_entry(
    batch: &mut Batch<'_>,
    stored: &StoredRequest,
    change: &Transition,
    context: &WriteContext,
) -> StoreResult<()> {
    let request = &stored.request;
    let id = request.id.to_string();
    // A freeze ends a request for which its person may have voted before.
    let by_freeze = frozen_vote(change);
    let vote = by_freeze.as_ref().or(request.votes.last());
    let mut facts = Vec::new();
    facts.extend(drill_kind(&request.requester).map(|kind| text_fact("drill", kind)));
    let kind = match change {
        Transition::Nothing => return Ok(()),
        Transition::Escalated(level) => {
            facts.push(text_fact("level", level.label()));
            EntryKind::Escalate
        }
        Transition::ApprovalCounted { approvals: count, needed } => {
            facts.extend([text_fact("choice", "approve"), number_fact("count", *count)]);
            facts.push(number_fact("needed", *needed));
            EntryKind::Vote
        }
        Transition::DenialCounted { objections: count, needed } => {
            facts.extend([text_fact("choice", "deny"), number_fact("count", *count)]);
            facts.push(number_fact("needed", *needed));
            EntryKind::Vote
        }
        Transition::Ended(decision) => match decision.state {
            State::Approved => EntryKind::Approve,
            State::Denied => EntryKind::Deny,
            State::Cancelled => EntryKind::Cancel,
            State::Expired | State::Pending => EntryKind::Expire,
        },
    };
    if matches!(kind, EntryKind::Vote | EntryKind::Approve | EntryKind::Deny) {
        add_vote(&mut facts, request);
    }
    let mut entry = entry(kind, context, facts)?;
    set_request(&mut entry, request, &stored.session, &id);
    if matches!(kind, EntryKind::Vote | EntryKind::Approve | EntryKind::Deny) {
        entry.person = vote.map(|vote| Cow::Borrowed(vote.person.as_str()));
    }
    if let (Transition::Ended(decision), Some(_)) = (change, &stored.edited) {
        // The edit comes before the approval of the edited call.
        entry.digest = Some(decision.digest.canonical);
        batch.append(Entry { kind: EntryKind::Edit, ..entry.clone() })?;
    }
    batch.append(entry)
}
