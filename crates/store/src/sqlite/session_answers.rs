//! Approvals for the rest of a session or for a repository. Each is a grant whose id is that of the
//! approved request, and is believed only with the ledger entries of that request.

use std::borrow::Cow;

use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::id::Id;
use countersign_types::time::{Millis, Timestamp};
use countersign_workflow::grant::{REPOSITORY_ANSWER_LASTS, SESSION_ANSWER_LASTS};
use countersign_workflow::request::{ApprovalScope, Choice, Event, TransitionError, Vote};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::batch::Batch;
use super::entry::{entry, text_fact};
use super::newest_entry::newest_entry;
use super::revocations::RecordedLedger;
use super::session_question::{QUESTION, question};
use crate::error::StoreResult;
use crate::event::StoreEvent;
use crate::record::{StoredRequest, WriteContext};

/// How many active approvals one session may have; the oldest end first.
const MAX_OF_SESSION: u32 = 64;
/// How many active approvals of one shape there may be in all; the oldest end first.
const MAX_ALL: u32 = 4_096;

/// The fact of an `approve` entry that says for how long the people approved.
pub(super) const DECIDED_SCOPE: &str = "decided_scope";

/// For how long an event approves.
pub(super) fn scope_of(event: &Event) -> ApprovalScope {
    match event {
        Event::Answer { scope, choice: Choice::Approve, .. } => *scope,
        _ => ApprovalScope::Once,
    }
}

/// Whether what the request asks about can be approved for so long.
pub(super) fn check_scope(stored: &StoredRequest, scope: ApprovalScope) -> StoreResult<()> {
    let asked = &stored.session_question;
    match scope {
        ApprovalScope::Session if !asked.is_answerable() => {
            Err(TransitionError::NotForSession.into())
        }
        ApprovalScope::Repository if asked.answerable_repository().is_none() => {
            Err(TransitionError::NotForRepository.into())
        }
        ApprovalScope::Once | ApprovalScope::Session | ApprovalScope::Repository => Ok(()),
    }
}

/// The shape of the grants of a scope, and how long they last; none if an approval is no grant.
fn shape_of(scope: ApprovalScope) -> Option<(&'static str, Millis)> {
    match scope {
        ApprovalScope::Once => None,
        ApprovalScope::Session => Some(("same_question", SESSION_ANSWER_LASTS)),
        ApprovalScope::Repository => Some(("same_program", REPOSITORY_ANSWER_LASTS)),
    }
}

/// Makes an approved request the answer for the rest of its session, or for its repository.
pub(super) fn create(batch: &mut Batch<'_>, stored: &StoredRequest) -> StoreResult<()> {
    let request = &stored.request;
    let scope = request.approval_scope();
    let Some((shape, lasts)) = shape_of(scope) else { return Ok(()) };
    let approved = request.votes.iter().rfind(|vote| vote.choice == Choice::Approve);
    let Some(Vote { person, at, .. }) = approved else { return Ok(()) };
    forget_old(batch, request.requester.name(), &stored.session)?;
    let sql = "INSERT OR REPLACE INTO given (id, shape, agent, session, made_by, made_at, expires) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    batch.conn.prepare_cached(sql)?.execute(params![
        request.id.as_bytes(),
        shape,
        request.requester.name(),
        (scope == ApprovalScope::Session).then_some(&stored.session),
        person,
        at.0,
        at.plus(lasts).0,
    ])?;
    batch.publish(StoreEvent::Settings);
    Ok(())
}

/// Deletes approvals that have expired, and the oldest where there are too many. The ledger keeps
/// the approved requests.
fn forget_old(batch: &Batch<'_>, agent: &str, session: &str) -> StoreResult<()> {
    let sql = "DELETE FROM given WHERE (shape = 'same_question' OR shape = 'same_program') \
               AND expires <= ?1";
    batch.conn.prepare_cached(sql)?.execute([batch.now.at.0])?;
    let sql = "DELETE FROM given WHERE id IN (SELECT id FROM given WHERE shape = 'same_question' \
               AND agent = ?1 AND session = ?2 ORDER BY id DESC LIMIT -1 OFFSET ?3)";
    batch.conn.prepare_cached(sql)?.execute(params![agent, session, MAX_OF_SESSION - 1])?;
    let sql = "DELETE FROM given WHERE id IN (SELECT id FROM given WHERE shape = ?1 \
               ORDER BY id DESC LIMIT -1 OFFSET ?2)";
    for shape in ["same_question", "same_program"] {
        batch.conn.prepare_cached(sql)?.execute(params![shape, MAX_ALL - 1])?;
    }
    Ok(())
}

/// Ends the approvals of the session and the repository that have one of these keys of a denied
/// request.
pub(super) fn end_denied(
    batch: &mut Batch<'_>,
    stored: &StoredRequest,
    denied: &[Digest],
    context: &WriteContext,
) -> StoreResult<()> {
    let ended = answers_about(batch.conn, stored, denied)?;
    end(batch, stored, ended, context)
}

/// Ends approvals because a request was denied.
pub(super) fn end(
    batch: &mut Batch<'_>,
    stored: &StoredRequest,
    ended: Vec<Id>,
    context: &WriteContext,
) -> StoreResult<()> {
    let person = stored.request.votes.last().map(|vote| vote.person.as_str());
    let denial = stored.request.id.to_string();
    for id in ended {
        let sql = "UPDATE given SET revoked = ?2 WHERE id = ?1";
        batch.conn.prepare_cached(sql)?.execute(params![id.as_bytes(), batch.now.at.0])?;
        append_revocation(batch, id, person, Some(&denial), context)?;
    }
    Ok(())
}

/// The active approvals of a request's session and repository that have one of these keys.
fn answers_about(
    conn: &Connection,
    stored: &StoredRequest,
    keys: &[Digest],
) -> StoreResult<Vec<Id>> {
    let sql = "SELECT g.id, g.session, t.session_question FROM given g \
               JOIN request_text t ON t.request = g.id \
               WHERE g.agent = ?1 AND g.revoked IS NULL AND (g.shape = 'same_program' \
               OR (g.shape = 'same_question' AND g.session = ?2))";
    let folder = stored.session_question.repository.as_ref().map(|found| &found.folder);
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([stored.request.requester.name(), &stored.session])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (session, text): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
        let answered = question(text.as_deref())?;
        let answers = match (session, answered.repository) {
            (Some(_), _) => answered.answers,
            (None, Some(of)) if Some(&of.folder) == folder => of.answers,
            (None, _) => continue,
        };
        if answers.iter().any(|key| keys.contains(key)) {
            found.push(Id::from_bytes(row.get(0)?));
        }
    }
    Ok(found)
}

/// Appends the entry of a revocation, about the request that the approval rests on.
pub(super) fn append_revocation(
    batch: &mut Batch<'_>,
    id: Id,
    person: Option<&str>,
    denial: Option<&str>,
    context: &WriteContext,
) -> StoreResult<()> {
    let id = id.to_string();
    let mut facts = vec![text_fact("grant", &id)];
    facts.extend(denial.map(|denial| text_fact("denied", denial)));
    let mut entry = entry(EntryKind::Revoke, context, facts)?;
    entry.person = person.map(Cow::Borrowed);
    entry.request = Some(Cow::Borrowed(&id));
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(())
}

/// An approval for the session or the repository, as its row says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AnswerRow {
    /// Who gave it.
    pub person: String,
    /// For how long.
    pub scope: ApprovalScope,
}

/// An approval for the session or the repository; none if the grant is of another kind.
pub(super) fn answer_row(conn: &Connection, id: Id) -> StoreResult<Option<AnswerRow>> {
    let sql = "SELECT made_by, shape FROM given WHERE id = ?1";
    let row = conn
        .prepare_cached(sql)?
        .query_row([id.as_bytes()], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
    let scope = |shape: &str| {
        let is_shape = |(known, _): (&str, Millis)| known == shape;
        ApprovalScope::ALL.into_iter().find(|scope| shape_of(*scope).is_some_and(is_shape))
    };
    let found = row.optional()?;
    Ok(found.and_then(|(person, shape)| Some(AnswerRow { person, scope: scope(&shape)? })))
}

/// Whose approval, and where it should hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerClaim<'a> {
    /// The agent.
    pub agent: &'a str,
    /// Its session.
    pub session: &'a str,
    /// Its repository, where the daemon found one.
    pub repository: Option<&'a str>,
    /// Who approved.
    pub person: &'a str,
    /// For how long.
    pub scope: ApprovalScope,
}

/// Whether the ledger says that an approval holds: people approved this request for the session or
/// the repository, it asked about what the row says, and no one revoked it.
pub(super) fn is_recorded(
    conn: &Connection,
    id: Id,
    claim: AnswerClaim<'_>,
    now: Timestamp,
    ledger: &RecordedLedger<'_>,
) -> StoreResult<bool> {
    // The index of the entries may lack the revocation, so it is not looked up there.
    if ledger.revocations.is_revoked(id) {
        return Ok(false);
    }
    let head = ledger.head;
    let Some((_, lasts)) = shape_of(claim.scope) else { return Ok(false) };
    let sql = "SELECT session_question FROM request_text WHERE request = ?1";
    let text: Option<Option<String>> =
        conn.prepare_cached(sql)?.query_row([id.as_bytes()], |row| row.get(0)).optional()?;
    let Some(text) = text.flatten() else { return Ok(false) };
    if claim.scope == ApprovalScope::Repository {
        let found = question(Some(&text))?;
        if claim.repository.is_none() || found.answerable_repository() != claim.repository {
            return Ok(false);
        }
    }
    let asked = Digest::of(text.as_bytes()).to_string();
    let same = |entry: &Entry<'_>, kind: EntryKind, name: &str, value: &str| {
        let other_session = claim.scope == ApprovalScope::Session
            && entry.session.as_deref() != Some(claim.session);
        entry.kind == kind
            && entry.agent.as_deref() == Some(claim.agent)
            && !other_session
            && fact(entry, name) == Some(value)
    };
    let ask = newest_entry(conn, id, head, |entry| same(entry, EntryKind::Ask, QUESTION, &asked))?;
    let approved = newest_entry(conn, id, head, |entry| {
        same(entry, EntryKind::Approve, DECIDED_SCOPE, claim.scope.label())
            && entry.person.as_deref() == Some(claim.person)
    })?;
    let active = approved.is_some_and(|found| now < found.at.plus(lasts));
    Ok(ask.is_some() && active)
}

fn fact<'e>(entry: &'e Entry<'_>, name: &str) -> Option<&'e str> {
    entry.facts.iter().find(|(key, _)| key == name).and_then(|(_, value)| match value {
        Value::String(text) => Some(&**text),
        _ => None,
    })
}
