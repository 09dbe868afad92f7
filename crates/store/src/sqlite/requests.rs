//! Stores new requests.

use countersign_json::canonical::Digest;
use countersign_ledger::entry::EntryKind;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::{ApprovalScope, Decider, Requester, State};
use rusqlite::{Connection, OptionalExtension, params};

use super::batch::Batch;
use super::columns::{DecisionColumns, drill_kind, requester_kind};
use super::entry::{entry, set_request, text_fact};
use super::errors::signed;
use super::grant_budget::{REACHED, SPENT};
use super::grant_facts::COUNTED_GRANTS;
use super::grant_use::{counted_grants, use_grant};
use super::outbox::announce;
use super::request_row::load;
use super::reviews;
use super::session_answers::answer_row;
use super::session_question::{QUESTION, question_text};
use crate::error::{StoreError, StoreResult};
use crate::event::StoreEvent;
use crate::record::{AnnouncementKind, NewRequest, StoredRequest, SubmitResult};

/// Stores a new request, or returns the one with the same idempotency key.
pub(super) fn submit(batch: &mut Batch<'_>, mut new: NewRequest) -> StoreResult<SubmitResult> {
    if let Some(existing) = existing(batch.conn, &new)? {
        if existing.request.digest.binds(&new.request.digest) {
            return Ok(SubmitResult::Existing(existing));
        }
        return Err(StoreError::KeyReused);
    }
    validate(&new)?;
    reviews::validate(batch.conn, &new)?;
    if let Some(decision) = &mut new.request.decision {
        decision.at = batch.now.at;
    }
    let grant_id = match new.request.decision.as_ref().map(|decision| &decision.by) {
        Some(Decider::Grant(id)) => Some(*id),
        _ => None,
    };
    // The entry is checked first, then the one row that may exist already.
    append_entry(batch, &new, grant_id)?;
    reviews::append_begin(batch, &new)?;
    for id in grant_id.iter().chain(&new.further_grants) {
        use_grant(batch, *id, &new)?;
    }
    insert(batch.conn, &new)?;
    reviews::begin(batch, &new)?;
    let id = new.request.id;
    if new.request.state == State::Pending {
        announce(batch, id, AnnouncementKind::Asked)?;
        batch.publish(StoreEvent::Asked(id));
    }
    let stored = stored(new);
    if stored.request.state.has_ended() {
        batch.publish_end(stored.clone());
    }
    Ok(SubmitResult::New(stored))
}

/// A new request as it is stored.
fn stored(new: NewRequest) -> StoredRequest {
    let permit_until = permit_until(&new);
    let card = match new.card_after {
        Some(after) if new.request.state.has_ended() => after,
        _ => new.card,
    };
    StoredRequest {
        request: new.request,
        tool: new.tool,
        session: new.session,
        brief: new.brief,
        card,
        detail: new.detail,
        group: new.group,
        session_question: new.session_question,
        policy: new.context.policy,
        permit_until,
        redeemed: None,
        edited: None,
        edited_card: None,
        proposed: None,
        outcome: None,
    }
}

fn permit_until(new: &NewRequest) -> Option<Timestamp> {
    let approved = new.request.decision.as_ref().filter(|d| d.state == State::Approved);
    approved.map(|decision| decision.at.plus(new.permit_for))
}

fn existing(conn: &Connection, new: &NewRequest) -> StoreResult<Option<StoredRequest>> {
    let Some(key) = &new.idempotency else {
        return Ok(None);
    };
    by_key(conn, &new.request.requester, key)
}

/// The request that this requester made with this idempotency key.
pub(super) fn by_key(
    conn: &Connection,
    requester: &Requester,
    key: &str,
) -> StoreResult<Option<StoredRequest>> {
    let id = conn
        .prepare_cached(
            "SELECT id FROM request WHERE requester_kind = ?1 AND requester = ?2 \
             AND idempotency = ?3",
        )?
        .query_row(params![requester_kind(requester), requester.name(), key], |row| row.get(0))
        .optional()?;
    let found = id.map(|id| load(conn, Id::from_bytes(id))).transpose()?;
    Ok(found.flatten().map(|found| found.stored))
}

/// A new request is pending, or decided by policy or grant. No caller can bring a person's
/// decision.
fn validate(new: &NewRequest) -> StoreResult<()> {
    let request = &new.request;
    let invalid = |what: &str| Err(StoreError::Invalid(what.to_owned()));
    if !request.votes.is_empty() || request.proposal.is_some() {
        return invalid("a new request cannot have votes or edits");
    }
    if request.requester.is_drill() && request.state != State::Pending {
        return invalid("a drill must be decided by people");
    }
    match (&request.decision, request.state) {
        (None, State::Pending) => Ok(()),
        (Some(decision), state) if decision.state == state => match decision.by {
            Decider::Policy if matches!(state, State::Approved | State::Denied) => Ok(()),
            Decider::Grant(_) if state != State::Approved => invalid("a grant can only approve"),
            // No grant covers a crisis, and only a part that was approved once covers CRITICAL.
            Decider::Grant(_) if request.crisis => Err(StoreError::GrantInactive),
            Decider::Grant(_) if decision.digest == request.digest => Ok(()),
            // People decide these, whatever a model says.
            Decider::Judge(_) if request.crisis || request.tier >= Tier::High => {
                invalid("the model judge cannot decide this request")
            }
            Decider::Judge(_)
                if matches!(state, State::Approved | State::Denied)
                    && decision.digest == request.digest =>
            {
                Ok(())
            }
            _ => invalid("only policy, a grant or the judge can decide a new request"),
        },
        _ => invalid("the state of the request does not match its decision"),
    }
}

fn insert(conn: &Connection, new: &NewRequest) -> StoreResult<()> {
    let request = &new.request;
    let decision =
        request.decision.as_ref().map(DecisionColumns::of).transpose()?.unwrap_or_default();
    let sql = "INSERT INTO request VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
               ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, NULL, NULL, NULL, 0, ?22, ?23, ?24, \
               ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32) ON CONFLICT (id) DO NOTHING";
    let inserted = conn.prepare_cached(sql)?.execute(params![
        request.id.as_bytes(),
        requester_kind(&request.requester),
        request.requester.display_name(),
        request.digest.canonical.as_bytes(),
        request.digest.raw.as_bytes(),
        request.digest.both_bind,
        request.tier.label(),
        request.crisis,
        request.quorum.approve,
        request.quorum.deny,
        request.schedule.created.0,
        request.schedule.deadline.0,
        signed(request.schedule.interval.0)?,
        request.state.label(),
        request.level.index(),
        new.session,
        new.group.as_ref().map(Id::as_bytes),
        new.idempotency,
        new.context.policy.as_bytes(),
        signed(new.permit_for.0)?,
        permit_until(new).map(|at| at.0),
        decision.decider,
        decision.people,
        decision.grant_id,
        decision.channel,
        decision.reason,
        decision.at,
        decision.digest,
        decision.raw,
        decision.both_bind,
        drill_kind(&request.requester),
        request.own_approval,
    ])?;
    if inserted == 0 {
        return Err(StoreError::Exists("request"));
    }
    insert_text(conn, new)
}

fn insert_text(conn: &Connection, new: &NewRequest) -> StoreResult<()> {
    let request = &new.request;
    // People never see the first card of a request that has ended already.
    let (card, card_after) = match &new.card_after {
        Some(after) if request.state.has_ended() => (after, None),
        after => (&new.card, after.as_ref()),
    };
    conn.prepare_cached("INSERT INTO request_text VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, ?7)")?
        .execute(params![
            request.id.as_bytes(),
            new.tool,
            new.brief,
            card,
            new.detail,
            card_after,
            question_text(&new.session_question)?,
        ])?;
    Ok(())
}

/// The fact that says who approved what a grant rests on.
fn approved_by(scope: ApprovalScope) -> &'static str {
    match scope {
        ApprovalScope::Once | ApprovalScope::Session => "approved_for_session_by",
        ApprovalScope::Repository => "approved_for_repository_by",
    }
}

fn append_entry(batch: &mut Batch<'_>, new: &NewRequest, grant_id: Option<Id>) -> StoreResult<()> {
    let request = &new.request;
    let by_judge =
        matches!(request.decision.as_ref().map(|decision| &decision.by), Some(Decider::Judge(_)));
    let kind = match (request.state, grant_id) {
        (State::Pending, _) => EntryKind::Ask,
        (State::Approved, _) if by_judge => EntryKind::JudgeRelease,
        (State::Approved, Some(_)) => EntryKind::UsedGrant,
        (State::Approved, None) => EntryKind::Pass,
        _ => EntryKind::Deny,
    };
    let (id, grant) = (request.id.to_string(), grant_id.map(|id| id.to_string()));
    let answered = grant_id.map(|id| answer_row(batch.conn, id)).transpose()?.flatten();
    let further: Vec<String> = new.further_grants.iter().map(Id::to_string).collect();
    let further = further.join(" ");
    let used: Vec<Id> = grant_id.iter().chain(&new.further_grants).copied().collect();
    let counted = counted_grants(batch.conn, &used)?;
    let question = question_text(&new.session_question)?;
    let question = question.map(|text| Digest::of(text.as_bytes()).to_string());
    let mut facts = vec![text_fact("tier", request.tier.label()), text_fact("tool", &new.tool)];
    facts.extend(grant.as_deref().map(|grant| text_fact("grant", grant)));
    facts.extend(answered.as_ref().map(|row| text_fact(approved_by(row.scope), &row.person)));
    if !further.is_empty() {
        facts.push(text_fact("further_grants", &further));
    }
    if !counted.is_empty() {
        facts.push(text_fact(COUNTED_GRANTS, &counted));
    }
    let spent = new.grant_cost.amount.map(|amount| amount.to_string());
    facts.extend(spent.as_deref().map(|amount| text_fact(SPENT, amount)));
    let reached = new.grant_cost.recipients.join(" ");
    facts.extend((!reached.is_empty()).then(|| text_fact(REACHED, &reached)));
    if kind == EntryKind::Ask {
        facts.extend(question.as_deref().map(|digest| text_fact(QUESTION, digest)));
    }
    facts.extend(drill_kind(&request.requester).map(|kind| text_fact("drill", kind)));
    let mut entry = entry(kind, &new.context, facts)?;
    set_request(&mut entry, request, &new.session, &id);
    batch.append(entry)
}
