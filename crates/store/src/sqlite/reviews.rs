//! Reviews of calls that ran before a person looked at them.

use std::borrow::Cow;

use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::{Decider, Requester, State};
use countersign_workflow::review::{ReviewEvent, ReviewState, next_state};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::batch::Batch;
use super::columns::Columns;
use super::entry::{entry, number_fact, set_request, text_fact};
use super::errors::{corrupt, signed, unsigned};
use super::newest_entry::newest_entry;
use crate::error::{StoreError, StoreResult};
use crate::record::{NewRequest, TreeHead, WriteContext};
use crate::reviews::{NewReview, StoredReview};

/// The fact of a roll-back that replaces later changes too.
const FORCE_FACT: &str = "force";
/// The most reviews in a list.
const MAX_LISTED: u32 = 500;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT v.request, r.requester, r.session, t.tool, t.brief, v.snapshot, v.folder, \
             v.before, v.files, v.bytes, v.opened, v.until, v.state, v.after, v.person, v.ended, \
             v.note FROM review v JOIN request r ON r.id = v.request \
             JOIN request_text t ON t.request = v.request ",
            $rest
        )
    };
}

/// Rejects a review that its request does not allow, or whose snapshot was used before. Nothing is
/// written yet.
pub(super) fn validate(conn: &Connection, new: &NewRequest) -> StoreResult<()> {
    let Some(review) = &new.review else { return Ok(()) };
    let request = &new.request;
    let by_policy = request.decision.as_ref().is_some_and(|one| one.by == Decider::Policy);
    let is_agent = matches!(request.requester, Requester::Agent(_));
    let is_low = request.tier <= Tier::Medium && !request.crisis;
    if request.state != State::Approved || !by_policy || !is_agent || !is_low {
        return Err(StoreError::Invalid("this request cannot be reviewed afterwards".to_owned()));
    }
    let sql = "SELECT 1 FROM review WHERE before = ?1";
    let used = conn.prepare_cached(sql)?.exists([review.before.as_bytes()])?;
    if used { Err(StoreError::Exists("snapshot")) } else { Ok(()) }
}

/// Stores the review of a request that was just inserted, with its entry.
pub(super) fn begin(batch: &mut Batch<'_>, new: &NewRequest) -> StoreResult<()> {
    let Some(review) = &new.review else { return Ok(()) };
    let NewReview { snapshot, folder, before, files, bytes, window } = review;
    let until = batch.now.at.plus(*window);
    let sql = "INSERT INTO review VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'open', NULL, NULL, \
               NULL, '')";
    batch.conn.prepare_cached(sql)?.execute(params![
        new.request.id.as_bytes(),
        snapshot,
        folder,
        before.as_bytes(),
        files,
        signed(*bytes)?,
        batch.now.at.0,
        until.0,
    ])?;
    Ok(())
}

/// The entry of the beginning of a review.
pub(super) fn append_begin(batch: &mut Batch<'_>, new: &NewRequest) -> StoreResult<()> {
    let Some(review) = &new.review else { return Ok(()) };
    let (id, before) = (new.request.id.to_string(), review.before.to_string());
    let facts = vec![
        text_fact("snapshot", &review.snapshot),
        text_fact("folder", &review.folder),
        text_fact("before", &before),
        number_fact("files", review.files),
        number_fact("bytes", review.bytes),
    ];
    let mut entry = entry(EntryKind::ReviewBegin, &new.context, facts)?;
    set_request(&mut entry, &new.request, &new.session, &id);
    batch.append(entry)
}

/// Applies an event through the state machine, with its entry.
pub(super) fn apply(
    batch: &mut Batch<'_>,
    id: Id,
    event: &ReviewEvent,
    context: &WriteContext,
) -> StoreResult<StoredReview> {
    let mut review = row(batch.conn, id)?.ok_or(StoreError::NotFound("review"))?;
    let Some(state) = next_state(review.state, event) else {
        let is = review.state.label();
        return Err(StoreError::Invalid(format!("the review is {is} already")));
    };
    if *event == ReviewEvent::WindowEnded && batch.now.at < review.until {
        return Err(StoreError::Invalid("the time of the review is not over".to_owned()));
    }
    match event {
        ReviewEvent::Result { after, .. } if review.after.is_none() => {
            review.after = Some(Digest::from_bytes(*after));
        }
        ReviewEvent::Result { .. } => return Ok(review),
        ReviewEvent::Keep { person } | ReviewEvent::Reject { person, .. } => {
            review.person = Some(person.clone());
            review.note = String::new();
        }
        ReviewEvent::RollBackFailed { why } => review.note.clone_from(why),
        ReviewEvent::RolledBack { .. } | ReviewEvent::WindowEnded => {}
    }
    review.state = state;
    review.force = matches!(event, ReviewEvent::Reject { force: true, .. });
    review.ended = state.has_ended().then_some(batch.now.at);
    append_event(batch, &review, event, context)?;
    let sql = "UPDATE review SET state = ?2, after = ?3, person = ?4, ended = ?5, note = ?6 \
               WHERE request = ?1";
    batch.conn.prepare_cached(sql)?.execute(params![
        id.as_bytes(),
        review.state.label(),
        review.after.as_ref().map(Digest::as_bytes),
        review.person,
        review.ended.map(|at| at.0),
        review.note,
    ])?;
    Ok(review)
}

fn append_event(
    batch: &mut Batch<'_>,
    review: &StoredReview,
    event: &ReviewEvent,
    context: &WriteContext,
) -> StoreResult<()> {
    let after = review.after.map(|digest| digest.to_string()).unwrap_or_default();
    let (kind, facts) = match event {
        ReviewEvent::Result { changed: true, .. } => {
            (EntryKind::ReviewResult, vec![text_fact("after", &after)])
        }
        ReviewEvent::Result { changed: false, .. }
        | ReviewEvent::Keep { .. }
        | ReviewEvent::WindowEnded => (EntryKind::ReviewEnd, Vec::new()),
        ReviewEvent::RolledBack { files } => {
            (EntryKind::ReviewEnd, vec![number_fact("restored", *files)])
        }
        ReviewEvent::Reject { force, .. } => {
            let fact = (Cow::Borrowed(FORCE_FACT), Value::Bool(true));
            (EntryKind::RollBack, force.then_some(fact).into_iter().collect())
        }
        ReviewEvent::RollBackFailed { why } => {
            (EntryKind::RollBack, vec![text_fact("failed", why)])
        }
    };
    let mut facts = facts;
    facts.push(text_fact("state", review.state.label()));
    let id = review.request.to_string();
    let mut entry = entry(kind, context, facts)?;
    entry.agent = Some(Cow::Borrowed(&review.agent));
    entry.session = Some(Cow::Borrowed(&review.session));
    entry.request = Some(Cow::Borrowed(&id));
    // Nobody looked at what ended by itself.
    let by_person = !matches!(event, ReviewEvent::Result { .. } | ReviewEvent::WindowEnded);
    entry.person = review.person.as_deref().filter(|_| by_person).map(Cow::Borrowed);
    batch.append(entry)
}

/// One review, if the ledger says the same about its snapshot.
pub(super) fn one(conn: &Connection, id: Id, head: TreeHead) -> StoreResult<Option<StoredReview>> {
    let Some(mut review) = row(conn, id)? else { return Ok(None) };
    let before = review.before.to_string();
    let says = |entry: &Entry<'_>, name: &str, text: &str| {
        let fact = entry.facts.iter().find(|(key, _)| key == name);
        fact.and_then(|(_, value)| Value::as_str(value)) == Some(text)
    };
    let begun = newest_entry(conn, id, head, |entry| {
        entry.kind == EntryKind::ReviewBegin
            && says(entry, "before", &before)
            && says(entry, "snapshot", &review.snapshot)
            && says(entry, "folder", &review.folder)
    })?;
    if begun.is_none() {
        return Err(StoreError::Unrecorded(id));
    }
    review.force = review.state == ReviewState::RollingBack && is_forced(conn, id, head)?;
    Ok(Some(review))
}

/// Whether the newest roll-back replaces later changes too. Only the ledger says so, because that
/// takes a person's proof.
fn is_forced(conn: &Connection, id: Id, head: TreeHead) -> StoreResult<bool> {
    let begins = |entry: &Entry<'_>| {
        let failed = entry.facts.iter().any(|(name, _)| name == "failed");
        entry.kind == EntryKind::RollBack && !failed
    };
    let newest = newest_entry(conn, id, head, begins)?;
    let forced = newest_entry(conn, id, head, |entry| {
        let is_force = |(name, value): &(_, _)| name == FORCE_FACT && *value == Value::Bool(true);
        begins(entry) && entry.facts.iter().any(is_force)
    })?;
    Ok(newest.is_some() && newest == forced)
}

/// Reviews, newest first: those that have not ended, or all since a time.
pub(super) fn list(conn: &Connection, since: Option<Timestamp>) -> StoreResult<Vec<StoredReview>> {
    let sql = match since {
        Some(_) => select!("WHERE v.opened >= ?1 ORDER BY v.opened DESC LIMIT ?2"),
        None => select!("WHERE v.ended IS NULL AND ?1 IS NULL ORDER BY v.opened DESC LIMIT ?2"),
    };
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![since.map(|at| at.0), MAX_LISTED])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn row(conn: &Connection, id: Id) -> StoreResult<Option<StoredReview>> {
    let mut statement = conn.prepare_cached(select!("WHERE v.request = ?1"))?;
    let found = statement.query_row([id.as_bytes()], |row| Ok(read(row))).optional()?;
    found.transpose()
}

fn read(row: &Row<'_>) -> StoreResult<StoredReview> {
    let mut columns = Columns::of(row);
    Ok(StoredReview {
        request: Id::from_bytes(columns.next()?),
        agent: columns.next()?,
        session: columns.next()?,
        tool: columns.next()?,
        brief: columns.next()?,
        snapshot: columns.next()?,
        folder: columns.next()?,
        before: columns.digest()?,
        files: columns.next()?,
        bytes: unsigned(columns.next()?)?,
        opened: columns.time()?,
        until: columns.time()?,
        state: {
            let word = columns.word()?;
            ReviewState::parse(word).ok_or_else(|| corrupt(format!("unknown state `{word}`")))?
        },
        after: columns.next::<Option<[u8; 32]>>()?.map(Digest::from_bytes),
        person: columns.next()?,
        ended: columns.maybe_time()?,
        note: columns.next()?,
        force: false,
    })
}
