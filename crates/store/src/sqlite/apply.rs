//! What happens to a request: core's state machine inside the transaction, and what it leaves.

use std::borrow::Cow;

use countersign_json::canonical::CallDigest;
use countersign_ledger::entry::{Entry, Kind};
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use countersign_workflow::request::{
    Change, Choice, DRILL, Event, Refusal, Request, Requester, State,
};
use rusqlite::{OptionalExtension as _, params};

use super::batch::{Batch, entry, number, words};
use super::fault::signed;
use super::outbox::announce;
use super::requests::End;
use super::row::{Loaded, drill, load};
use crate::StoreResult;
use crate::error::StoreError;
use crate::record::{AnnouncementKind, Applied, Redemption, StoredRequest, WriteContext};
use crate::wake::StoreEvent;

/// Lets an event happen.
pub(super) fn apply(
    batch: &mut Batch<'_>,
    id: Id,
    event: Event,
    note: &WriteContext,
) -> StoreResult<Applied> {
    let found = load(batch.conn, id)?.ok_or(StoreError::NotFound("request"))?;
    let Loaded { mut stored, permit_for, card_after } = found;
    let edits = matches!(event, Event::Answer { edited: Some(_), choice: Choice::Approve, .. });
    if edits && note.edited.is_none() {
        return Err(StoreError::Unfit("an edited call comes without its arguments".to_owned()));
    }
    let votes = stored.request.votes.len();
    let change = stored.request.apply(event, batch.now)?;
    if change == Change::Nothing {
        return Ok(Applied { stored, change });
    }
    if let Change::Ended(decision) = &change
        && decision.state == State::Approved
        // A drill permits nothing, and nothing of it runs.
        && !stored.request.requester.is_drill()
    {
        stored.permit_until = Some(decision.at.plus(permit_for));
        if let Some(edited) = note.edited.as_ref().filter(|_| edits) {
            stored.edited = Some(edited.arguments.clone());
            stored.edited_card = Some(edited.card.clone());
        }
    }
    // First what can be refused for its words; behind this line nothing is refused any more.
    write_down(batch, &stored, &change, note)?;
    save(batch, &stored, votes)?;
    save_edit(batch, &stored)?;
    if card_after.is_some() && matches!(change, Change::Ended(_)) {
        forget(batch, &mut stored)?;
    }
    match &change {
        Change::Nothing => {}
        Change::Climbed(rung) => {
            announce(batch, id, AnnouncementKind::Escalated(*rung))?;
            batch.tell(StoreEvent::Escalated(id, *rung));
        }
        Change::Counted { .. } | Change::Objected { .. } => batch.tell(StoreEvent::Voted(id)),
        Change::Ended(decision) => {
            announce(batch, id, AnnouncementKind::Ended(decision.state))?;
            batch.end(stored.clone());
        }
    }
    Ok(Applied { stored, change })
}

/// Puts the card in place that may be kept after the end, where there is one.
fn forget(batch: &mut Batch<'_>, stored: &mut StoredRequest) -> StoreResult<()> {
    let sql = "UPDATE request_text SET card = card_after, card_after = NULL, \
               brief = coalesce(json_extract(card_after, '$.brief'), '') \
               WHERE request = ?1 AND card_after IS NOT NULL RETURNING card, brief";
    let left = batch
        .conn
        .prepare_cached(sql)?
        .query_row([stored.request.id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((card, brief)) = left {
        (stored.card, stored.brief) = (card, brief);
        batch.forgot();
    }
    Ok(())
}

/// Writes back what may change, if it is still pending, and the votes that are new.
fn save(batch: &Batch<'_>, stored: &StoredRequest, votes: usize) -> StoreResult<()> {
    let request = &stored.request;
    let end = request.decision.as_ref().map(End::of).transpose()?.unwrap_or_default();
    let sql = "UPDATE request SET state = ?2, rung = ?3, permit_until = ?4, edited = ?5, \
               votes = ?6, decider = ?7, people = ?8, given = ?9, channel = ?10, reason = ?11, \
               decided = ?12, decided_digest = ?13, decided_raw = ?14, decided_both_bind = ?15 \
               WHERE id = ?1 AND state = 'pending'";
    let changed = batch.conn.prepare_cached(sql)?.execute(params![
        request.id.as_bytes(),
        request.state.label(),
        request.rung.climbs(),
        stored.permit_until.map(|at| at.0),
        stored.edited,
        count(request.votes.len())?,
        end.decider,
        end.people,
        end.given,
        end.channel,
        end.reason,
        end.at,
        end.digest,
        end.raw,
        end.both_bind,
    ])?;
    if changed != 1 {
        return Err(StoreError::Corrupt(format!("request {} was not pending", request.id)));
    }
    for (place, vote) in request.votes.iter().enumerate().skip(votes) {
        let choice = match vote.choice {
            Choice::Approve => "approve",
            Choice::Deny => "deny",
        };
        let place = count(place)?;
        batch
            .conn
            .prepare_cached("INSERT INTO vote VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
            .execute(params![
                request.id.as_bytes(),
                vote.person,
                place,
                choice,
                vote.channel,
                vote.reason,
                vote.at.0
            ])?;
    }
    Ok(())
}

/// Writes the card of the edited call that was approved.
fn save_edit(batch: &Batch<'_>, stored: &StoredRequest) -> StoreResult<()> {
    let Some(card) = &stored.edited_card else { return Ok(()) };
    let sql = "UPDATE request_text SET edited_card = ?2 WHERE request = ?1";
    batch.conn.prepare_cached(sql)?.execute(params![stored.request.id.as_bytes(), card])?;
    Ok(())
}

fn count(many: usize) -> StoreResult<i64> {
    signed(u64::try_from(many).unwrap_or(u64::MAX))
}

fn write_down(
    batch: &mut Batch<'_>,
    stored: &StoredRequest,
    change: &Change,
    note: &WriteContext,
) -> StoreResult<()> {
    let request = &stored.request;
    let id = request.id.to_string();
    let vote = request.votes.last();
    let mut facts = Vec::new();
    facts.extend(drill(&request.requester).map(|kind| words("drill", kind)));
    let kind = match change {
        Change::Nothing => return Ok(()),
        Change::Climbed(rung) => {
            facts.push(words("rung", rung.label()));
            Kind::Climb
        }
        Change::Counted { approvals: count, needed } => {
            facts.extend([words("choice", "approve"), number("count", *count)]);
            facts.push(number("needed", *needed));
            Kind::Vote
        }
        Change::Objected { objections: count, needed } => {
            facts.extend([words("choice", "deny"), number("count", *count)]);
            facts.push(number("needed", *needed));
            Kind::Vote
        }
        Change::Ended(decision) => match decision.state {
            State::Approved => Kind::Approve,
            State::Denied => Kind::Deny,
            State::Cancelled => Kind::Cancel,
            State::Expired | State::Pending => Kind::Expire,
        },
    };
    if let Some(vote) = vote.filter(|_| matches!(kind, Kind::Vote | Kind::Approve | Kind::Deny)) {
        facts.extend([words("channel", &vote.channel), words("reason", &vote.reason)]);
    }
    let mut entry = entry(kind, note, facts)?;
    name(&mut entry, request, &stored.session, &id);
    if matches!(kind, Kind::Vote | Kind::Approve | Kind::Deny) {
        entry.person = vote.map(|vote| Cow::Borrowed(vote.person.as_str()));
    }
    if let (Change::Ended(decision), Some(_)) = (change, &stored.edited) {
        // First what became of the call, then that this was approved.
        entry.digest = Some(decision.digest.canonical);
        batch.write(Entry { kind: Kind::Edit, ..entry.clone() })?;
    }
    batch.write(entry)
}

/// Says of whom and of what an entry speaks.
pub(super) fn name<'a>(entry: &mut Entry<'a>, request: &'a Request, session: &'a str, id: &'a str) {
    match &request.requester {
        Requester::Agent(name) => entry.agent = Some(Cow::Borrowed(name)),
        Requester::Person(name) => entry.person = Some(Cow::Borrowed(name)),
        Requester::Drill { .. } => entry.agent = Some(Cow::Borrowed(DRILL)),
    }
    // A drill stands in nobody's session.
    if !request.requester.is_drill() {
        entry.session = Some(Cow::Borrowed(session));
    }
    entry.request = Some(Cow::Borrowed(id));
    entry.digest = Some(request.digest.canonical);
}

/// Uses a permit, or says why not.
pub(super) fn redeem(
    batch: &mut Batch<'_>,
    id: Id,
    agent: &str,
    digest: &CallDigest,
    note: &WriteContext,
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
    if !batch.now.settled {
        return Err(StoreError::Refused(Refusal::ClockUnsettled));
    }
    let until = stored.permit_until.unwrap_or(Timestamp(i64::MIN));
    if batch.now.at >= until {
        return Ok(Redemption::Expired);
    }
    let text = id.to_string();
    let mut entry = entry(Kind::Redeem, note, Vec::new())?;
    name(&mut entry, request, &stored.session, &text);
    entry.digest = Some(decision.digest.canonical);
    batch.write(entry)?;
    let sql = "UPDATE request SET redeemed = ?2 WHERE id = ?1 AND state = 'approved' \
               AND redeemed IS NULL AND permit_until > ?2";
    let used = batch.conn.prepare_cached(sql)?.execute(params![id.as_bytes(), batch.now.at.0])?;
    if used != 1 {
        return Err(StoreError::Corrupt(format!("the permit of {id} changed meanwhile")));
    }
    Ok(Redemption::Accepted)
}

/// Keeps the first word about what came of it.
pub(super) fn outcome(
    batch: &mut Batch<'_>,
    id: Id,
    agent: &str,
    outcome: String,
    note: &WriteContext,
) -> StoreResult<StoredRequest> {
    let mut stored = load(batch.conn, id)?.ok_or(StoreError::NotFound("request"))?.stored;
    // Somebody else's request is none that this agent could know of.
    if stored.request.requester != Requester::Agent(agent.to_owned()) {
        return Err(StoreError::NotFound("request"));
    }
    if !stored.request.state.has_ended() {
        return Err(StoreError::Unfit("nothing can have come of a request that waits".to_owned()));
    }
    if stored.outcome.is_some() {
        return Ok(stored);
    }
    let text = id.to_string();
    let mut entry = entry(Kind::Outcome, note, Vec::new())?;
    name(&mut entry, &stored.request, &stored.session, &text);
    batch.write(entry)?;
    batch
        .conn
        .prepare_cached("UPDATE request SET outcome = ?2 WHERE id = ?1 AND outcome IS NULL")?
        .execute(params![id.as_bytes(), outcome])?;
    stored.outcome = Some(outcome);
    Ok(stored)
}
