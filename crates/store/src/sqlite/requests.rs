//! New requests, and what a person looks for among the old ones.

use countersign_core::id::Id;
use countersign_core::ledger::entry::Kind;
use countersign_core::request::{Decider, Decision, Refusal, Requester, State};
use countersign_core::tier::Tier;
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use super::batch::{Batch, entry, words};
use super::fault::signed;
use super::row::{load, requester_kind, texts_json};
use crate::Kept;
use crate::error::StoreError;
use crate::record::{NewRequest, News, Page, Query, Stored, Submitted};
use crate::wake::Happening;

/// Keeps a new request, or finds the one that its key names.
pub(super) fn submit(batch: &mut Batch<'_>, mut new: NewRequest) -> Kept<Submitted> {
    if let Some(known) = known(batch.conn, &new)? {
        if known.request.digest.binds(&new.request.digest) {
            return Ok(Submitted::Known(known));
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
    if let Some(id) = given {
        use_grant(batch, id, &new)?;
    }
    insert(batch.conn, &new)?;
    write_down(batch, &new, given)?;
    let id = new.request.id;
    if new.request.state == State::Pending {
        announce(batch, id, News::Asked)?;
        batch.tell(Happening::Asked(id));
    }
    let stored = load(batch.conn, id)?.ok_or(StoreError::NotFound("request"))?.stored;
    if stored.request.state.has_ended() {
        batch.end(stored.clone());
    }
    Ok(Submitted::New(stored))
}

fn known(conn: &Connection, new: &NewRequest) -> Kept<Option<Stored>> {
    let Some(key) = &new.idempotency else {
        return Ok(None);
    };
    by_key(conn, &new.request.requester, key)
}

/// The request that somebody asked with this key.
pub(super) fn by_key(conn: &Connection, requester: &Requester, key: &str) -> Kept<Option<Stored>> {
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
fn check(new: &NewRequest) -> Kept<()> {
    let request = &new.request;
    let unfit = |what: &str| Err(StoreError::Unfit(what.to_owned()));
    if !request.votes.is_empty() {
        return unfit("a new request has no votes");
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
fn use_grant(batch: &Batch<'_>, id: Id, new: &NewRequest) -> Kept<()> {
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

fn insert(conn: &Connection, new: &NewRequest) -> Kept<()> {
    let request = &new.request;
    let approved = request.decision.as_ref().filter(|d| d.state == State::Approved);
    let permit_until = approved.map(|decision| decision.at.plus(new.permit_for).0);
    let sql = "INSERT INTO request VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
               ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, NULL, NULL, NULL) \
               ON CONFLICT (id) DO NOTHING";
    let inserted = conn.prepare_cached(sql)?.execute(params![
        request.id.as_bytes(),
        requester_kind(&request.requester),
        request.requester.name(),
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
        permit_until,
    ])?;
    if inserted == 0 {
        return Err(StoreError::Exists("request"));
    }
    // What has ended already was never before anybody: only the card that stays is written.
    let (card, card_after) = match &new.card_after {
        Some(after) if request.state.has_ended() => (after, None),
        after => (&new.card, after.as_ref()),
    };
    conn.prepare_cached("INSERT INTO request_text VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(
        params![request.id.as_bytes(), new.tool, new.brief, card, new.detail, card_after],
    )?;
    request.decision.as_ref().map_or(Ok(()), |decision| insert_decision(conn, request.id, decision))
}

/// The one decision of a request; the schema refuses a second.
pub(super) fn insert_decision(conn: &Connection, id: Id, decision: &Decision) -> Kept<()> {
    let (word, people, given) = match &decision.by {
        Decider::People(people) => ("people", Some(texts_json(people)?), None),
        Decider::Deadline => ("deadline", None, None),
        Decider::Requester => ("requester", None, None),
        Decider::Policy => ("policy", None, None),
        Decider::Grant(given) => ("grant", None, Some(given.as_bytes())),
    };
    let sql = "INSERT INTO decision VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    conn.prepare_cached(sql)?.execute(params![
        id.as_bytes(),
        decision.state.label(),
        word,
        people,
        given,
        decision.channel,
        decision.reason,
        decision.at.0,
        decision.digest.canonical.as_bytes(),
        decision.digest.raw.as_bytes(),
        decision.digest.both_bind,
    ])?;
    Ok(())
}

fn write_down(batch: &mut Batch<'_>, new: &NewRequest, given: Option<Id>) -> Kept<()> {
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
    let mut entry = entry(kind, &new.note, facts)?;
    super::apply::name(&mut entry, request, &new.session, &id);
    batch.write(entry)
}

/// An announcement for the courier, in the same commit as what it announces.
pub(super) fn announce(batch: &Batch<'_>, request: Id, news: News) -> Kept<()> {
    let (word, rung, state) = match news {
        News::Asked => ("asked", None, None),
        News::Climbed(rung) => ("climbed", Some(rung.climbs()), None),
        News::Ended(state) => ("ended", None, Some(state.label())),
    };
    let sql = "INSERT INTO outbox (request, news, rung, state, at, done) \
               VALUES (?1, ?2, ?3, ?4, ?5, 0)";
    batch.conn.prepare_cached(sql)?.execute(params![
        request.as_bytes(),
        word,
        rung,
        state,
        batch.now.at.0
    ])?;
    Ok(())
}

/// A page of requests, newest first.
pub(super) fn find(conn: &Connection, query: &Query) -> Kept<Page> {
    let most = match query.limit {
        0 => 50,
        limit => usize::try_from(limit.min(500)).unwrap_or(500),
    };
    let mut sql = "SELECT r.id, t.tool, t.brief FROM request r JOIN request_text t \
                   ON t.request = r.id WHERE 1"
        .to_owned();
    let state = query.state.map(State::label);
    let mut values: Vec<&dyn ToSql> = Vec::new();
    if let Some(state) = &state {
        sql.push_str(" AND r.state = ?");
        values.push(state);
    }
    if let Some(agent) = &query.agent {
        sql.push_str(" AND r.requester_kind = 'agent' AND r.requester = ?");
        values.push(agent);
    }
    if let Some(session) = &query.session {
        sql.push_str(" AND r.session = ?");
        values.push(session);
    }
    let group = query.group.as_ref().map(Id::as_bytes);
    if let Some(group) = &group {
        sql.push_str(" AND r.batch = ?");
        values.push(group);
    }
    let before = query.before.as_ref().map(Id::as_bytes);
    if let Some(before) = &before {
        sql.push_str(" AND r.id < ?");
        values.push(before);
    }
    sql.push_str(" ORDER BY r.id DESC");
    let wanted = query.text.as_ref().map(|text| text.to_lowercase());
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(values.as_slice())?;
    let mut page = Page::default();
    while let Some(row) = rows.next()? {
        let id = Id::from_bytes(row.get(0)?);
        if let Some(wanted) = &wanted {
            let (tool, brief): (String, String) = (row.get(1)?, row.get(2)?);
            let texts = [tool.to_lowercase(), brief.to_lowercase(), id.to_string()];
            if !texts.iter().any(|text| text.contains(wanted)) {
                continue;
            }
        }
        if page.requests.len() >= most {
            page.next = page.requests.last().map(|last: &Stored| last.request.id);
            break;
        }
        page.requests.extend(load(conn, id)?.map(|found| found.stored));
    }
    Ok(page)
}
