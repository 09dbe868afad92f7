//! New requests.

use countersign_ledger::entry::Kind;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::{Decider, Decision, Refusal, Requester, State};
use rusqlite::{Connection, OptionalExtension, params};

use super::batch::{Batch, entry, words};
use super::fault::signed;
use super::outbox::announce;
use super::row::{drill, load, requester_kind, texts_json};
use crate::StoreResult;
use crate::error::StoreError;
use crate::record::{AnnouncementKind, NewRequest, StoredRequest, Submission};
use crate::wake::StoreEvent;

/// Keeps a new request, or finds the one that its key names.
pub(super) fn submit(batch: &mut Batch<'_>, mut new: NewRequest) -> StoreResult<Submission> {
    if let Some(known) = known(batch.conn, &new)? {
        if known.request.digest.binds(&new.request.digest) {
            return Ok(Submission::Existing(known));
        }
        return Err(StoreError::KeyReused);
    }
    check(&new)?;
    if let Some(decision) = &mut new.request.decision {
        decision.at = batch.now.at;
    }
    let given = match new.request.decision.as_ref().map(|decision| &decision.by) {
        Some(Decider::Grant(id)) => Some(*id),
        _ => None,
    };
    // First what can be refused for its words, then the one row that may be there already.
    write_down(batch, &new, given)?;
    if let Some(id) = given {
        use_grant(batch, id, &new)?;
    }
    insert(batch.conn, &new)?;
    let id = new.request.id;
    if new.request.state == State::Pending {
        announce(batch, id, AnnouncementKind::Asked)?;
        batch.tell(StoreEvent::Asked(id));
    }
    let stored = kept(new);
    if stored.request.state.has_ended() {
        batch.end(stored.clone());
    }
    Ok(Submission::New(stored))
}

/// A new request as it stands in the store now.
fn kept(new: NewRequest) -> StoredRequest {
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
        policy: new.note.policy,
        permit_until,
        redeemed: None,
        edited: None,
        edited_card: None,
        outcome: None,
    }
}

fn permit_until(new: &NewRequest) -> Option<Timestamp> {
    let approved = new.request.decision.as_ref().filter(|d| d.state == State::Approved);
    approved.map(|decision| decision.at.plus(new.permit_for))
}

fn known(conn: &Connection, new: &NewRequest) -> StoreResult<Option<StoredRequest>> {
    let Some(key) = &new.idempotency else {
        return Ok(None);
    };
    by_key(conn, &new.request.requester, key)
}

/// The request that somebody asked with this key.
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

/// A request comes in fresh, or settled by the judgement or a grant: nobody brings an answer along.
fn check(new: &NewRequest) -> StoreResult<()> {
    let request = &new.request;
    let unfit = |what: &str| Err(StoreError::Unfit(what.to_owned()));
    if !request.votes.is_empty() {
        return unfit("a new request has no votes");
    }
    if request.requester.is_drill() && request.state != State::Pending {
        return unfit("a drill is for people");
    }
    match (&request.decision, request.state) {
        (None, State::Pending) => Ok(()),
        (Some(decision), state) if decision.state == state => match decision.by {
            Decider::Policy if matches!(state, State::Approved | State::Denied) => Ok(()),
            Decider::Grant(_) if state != State::Approved => unfit("a grant only approves"),
            // No grant covers these, whatever the caller thinks.
            Decider::Grant(_) if request.crisis || request.tier == Tier::Critical => {
                Err(StoreError::GrantOver)
            }
            Decider::Grant(_) if decision.digest == request.digest => Ok(()),
            _ => unfit("a new request is settled by policy or grant only"),
        },
        _ => unfit("state and decision contradict each other"),
    }
}

/// One use of a grant that is live at this moment, for whom it was given.
fn use_grant(batch: &Batch<'_>, id: Id, new: &NewRequest) -> StoreResult<()> {
    if !batch.now.settled {
        return Err(StoreError::Refused(Refusal::ClockUnsettled));
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
    if used == 1 { Ok(()) } else { Err(StoreError::GrantOver) }
}

fn insert(conn: &Connection, new: &NewRequest) -> StoreResult<()> {
    let request = &new.request;
    let end = request.decision.as_ref().map(End::of).transpose()?.unwrap_or_default();
    let sql = "INSERT INTO request VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
               ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, NULL, NULL, NULL, 0, ?22, ?23, ?24, \
               ?25, ?26, ?27, ?28, ?29, ?30, ?31) ON CONFLICT (id) DO NOTHING";
    let inserted = conn.prepare_cached(sql)?.execute(params![
        request.id.as_bytes(),
        requester_kind(&request.requester),
        request.requester.shown(),
        request.digest.canonical.as_bytes(),
        request.digest.raw.as_bytes(),
        request.digest.both_bind,
        request.tier.label(),
        request.crisis,
        request.quorum.approve,
        request.quorum.deny,
        request.plan.created.0,
        request.plan.deadline.0,
        signed(request.plan.climb.0)?,
        request.state.label(),
        request.rung.climbs(),
        new.session,
        new.group.as_ref().map(Id::as_bytes),
        new.idempotency,
        new.note.policy.as_bytes(),
        signed(new.permit_for.0)?,
        permit_until(new).map(|at| at.0),
        end.decider,
        end.people,
        end.given,
        end.channel,
        end.reason,
        end.at,
        end.digest,
        end.raw,
        end.both_bind,
        drill(&request.requester),
    ])?;
    if inserted == 0 {
        return Err(StoreError::Exists("request"));
    }
    // What has ended already was never before anybody: only the card that stays is written.
    let (card, card_after) = match &new.card_after {
        Some(after) if request.state.has_ended() => (after, None),
        after => (&new.card, after.as_ref()),
    };
    conn.prepare_cached("INSERT INTO request_text VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL)")?
        .execute(params![
            request.id.as_bytes(),
            new.tool,
            new.brief,
            card,
            new.detail,
            card_after
        ])?;
    Ok(())
}

/// A decision as its request's row holds it; nothing but NULLs where there is none.
#[derive(Default)]
pub(super) struct End<'d> {
    pub decider: Option<&'static str>,
    pub people: Option<String>,
    pub given: Option<&'d [u8; 16]>,
    pub channel: Option<&'d str>,
    pub reason: Option<&'d str>,
    pub at: Option<i64>,
    pub digest: Option<&'d [u8; 32]>,
    pub raw: Option<&'d [u8; 32]>,
    pub both_bind: Option<bool>,
}

impl<'d> End<'d> {
    pub fn of(decision: &'d Decision) -> StoreResult<End<'d>> {
        let (decider, people, given) = match &decision.by {
            Decider::People(people) => ("people", Some(texts_json(people)?), None),
            Decider::Deadline => ("deadline", None, None),
            Decider::Requester => ("requester", None, None),
            Decider::Policy => ("policy", None, None),
            Decider::Grant(given) => ("grant", None, Some(given.as_bytes())),
        };
        Ok(End {
            decider: Some(decider),
            people,
            given,
            channel: Some(&decision.channel),
            reason: Some(&decision.reason),
            at: Some(decision.at.0),
            digest: Some(decision.digest.canonical.as_bytes()),
            raw: Some(decision.digest.raw.as_bytes()),
            both_bind: Some(decision.digest.both_bind),
        })
    }
}

fn write_down(batch: &mut Batch<'_>, new: &NewRequest, given: Option<Id>) -> StoreResult<()> {
    let request = &new.request;
    let kind = match (request.state, given) {
        (State::Pending, _) => Kind::Ask,
        (State::Approved, Some(_)) => Kind::UsedGrant,
        (State::Approved, None) => Kind::Pass,
        _ => Kind::Deny,
    };
    let (id, grant) = (request.id.to_string(), given.map(|id| id.to_string()));
    let mut facts = vec![words("tier", request.tier.label()), words("tool", &new.tool)];
    facts.extend(grant.as_deref().map(|grant| words("grant", grant)));
    facts.extend(drill(&request.requester).map(|kind| words("drill", kind)));
    let mut entry = entry(kind, &new.note, facts)?;
    super::apply::name(&mut entry, request, &new.session, &id);
    batch.write(entry)
}
