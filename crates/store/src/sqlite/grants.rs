//! Grants.

use std::borrow::Cow;
use std::sync::Arc;

use countersign_ledger::entry::EntryKind;
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::{Grant, GrantDetails, GrantShape};
use countersign_workflow::request::ApprovalScope;
use rusqlite::{Connection, Row, params};

use super::batch::Batch;
use super::columns::Columns;
use super::entry::{entry, number_fact, text_fact};
use super::grant_budget::{budget_column, read_budget};
use super::grant_facts::{CONTENT, USES, content};
use super::grant_record;
use super::grant_shape::{ShapeColumns, read_shape, shape_columns};
use super::revocations::RecordedLedger;
use super::session_answers::{AnswerClaim, answer_row, append_revocation, is_recorded};
use super::store::SqliteStore;
use crate::error::{StoreError, StoreResult};
use crate::event::StoreEvent;
use crate::record::WriteContext;

/// Stores a grant. An existing one is never overwritten, because it may have been revoked.
pub(super) fn create(
    batch: &mut Batch<'_>,
    grant: &Grant,
    context: &WriteContext,
) -> StoreResult<()> {
    let ShapeColumns { word, tool, targets, digest, commands } = shape_columns(&grant.shape)?;
    let sql = "INSERT INTO given (id, shape, tool, targets, digest, raw, both_bind, agent, session, \
               made_by, made_at, expires, uses_left, revoked, commands, shown, per_hour, budget) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, \
               ?17, ?18) \
               ON CONFLICT (id) DO NOTHING";
    let inserted = batch.conn.prepare_cached(sql)?.execute(params![
        grant.id.as_bytes(),
        word,
        tool,
        targets,
        digest.map(|digest| digest.canonical.as_bytes()),
        digest.map(|digest| digest.raw.as_bytes()),
        digest.map(|digest| digest.both_bind),
        grant.agent,
        grant.session,
        grant.made_by,
        grant.made_at.0,
        grant.expires.map(|at| at.0),
        grant.uses_left,
        grant.revoked.map(|at| at.0),
        commands,
        grant.details.shown,
        grant.details.per_hour,
        budget_column(&grant.details)?,
    ])?;
    if inserted == 0 {
        return Err(StoreError::Exists("grant"));
    }
    append_grant(batch, grant, (word, tool), context)
}

/// Appends the entry that gives a grant.
fn append_grant(
    batch: &mut Batch<'_>,
    grant: &Grant,
    (shape, tool): (&str, Option<&str>),
    context: &WriteContext,
) -> StoreResult<()> {
    let id = grant.id.to_string();
    let content = content(grant)?.to_string();
    let mut facts = vec![text_fact("grant", &id), text_fact("shape", shape)];
    facts.push(text_fact(CONTENT, &content));
    facts.extend(grant.uses_left.map(|uses| number_fact(USES, uses)));
    facts.extend(tool.map(|tool| text_fact("tool", tool)));
    let mut entry = entry(EntryKind::Grant, context, facts)?;
    entry.person = Some(Cow::Borrowed(&grant.made_by));
    entry.agent = grant.agent.as_deref().map(Cow::Borrowed);
    entry.session = grant.session.as_deref().map(Cow::Borrowed);
    entry.digest = match &grant.shape {
        GrantShape::Exact { digest } => Some(digest.canonical),
        _ => None,
    };
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(())
}

/// Revokes a grant, once.
pub(super) fn revoke(
    batch: &mut Batch<'_>,
    id: Id,
    person: &str,
    context: &WriteContext,
) -> StoreResult<bool> {
    let revoked = batch
        .conn
        .prepare_cached("UPDATE given SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL")?
        .execute(params![id.as_bytes(), batch.now.at.0])?;
    if revoked == 0 {
        return Ok(false);
    }
    if answer_row(batch.conn, id)?.is_some() {
        append_revocation(batch, id, Some(person), None, context)?;
        return Ok(true);
    }
    let id = id.to_string();
    let mut entry = entry(EntryKind::Revoke, context, vec![text_fact("grant", &id)])?;
    entry.person = Some(Cow::Borrowed(person));
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(true)
}

/// All grants of a store, newest first; only active ones unless `all`.
pub(super) async fn read_grants(store: &SqliteStore, all: bool) -> StoreResult<Vec<Grant>> {
    let (now, shared) = (store.clock.now().at, Arc::clone(&store.shared));
    // The uses are read before the rows, which may say that fewer are left.
    let uses = shared.revocations.uses();
    let read = move |conn: &Connection, head| {
        let (revocations, uses) = (&shared.revocations, Arc::clone(&uses));
        grants(conn, now, all, &RecordedLedger { head, revocations, uses })
    };
    store.read_recorded(read).await
}

fn grants(
    conn: &Connection,
    now: Timestamp,
    all: bool,
    ledger: &RecordedLedger<'_>,
) -> StoreResult<Vec<Grant>> {
    let mut grants = Vec::new();
    for grant in rows(conn)? {
        let active = grant.is_active(now);
        if active && !is_believed(conn, &grant, now, ledger)? {
            continue;
        }
        if all || active {
            grants.push(grant);
        }
    }
    Ok(grants)
}

/// All rows, newest first, whatever the ledger says about them.
pub(super) fn rows(conn: &Connection) -> StoreResult<Vec<Grant>> {
    let sql = format!("{SELECT} ORDER BY g.id DESC");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    let mut grants = Vec::new();
    while let Some(row) = rows.next()? {
        grants.push(read(row)?);
    }
    Ok(grants)
}

/// One grant, if the ledger says that it may be used now.
pub(super) fn believed_grant(
    conn: &Connection,
    id: Id,
    now: Timestamp,
    ledger: &RecordedLedger<'_>,
) -> StoreResult<Option<Grant>> {
    let sql = format!("{SELECT} WHERE g.id = ?1");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([id.as_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let grant = read(row)?;
    let is_usable = grant.is_active(now) && is_believed(conn, &grant, now, ledger)?;
    Ok(is_usable.then_some(grant))
}

const SELECT: &str = "SELECT g.id, g.shape, t.session_question, g.tool, g.targets, g.digest, \
                      g.raw, g.both_bind, g.commands, g.agent, g.session, g.made_by, g.made_at, \
                      g.expires, g.uses_left, g.revoked, g.shown, g.per_hour, g.last_used, \
                      g.budget, g.spent, g.reached \
                      FROM given g LEFT JOIN request_text t \
                      ON (g.shape = 'same_question' OR g.shape = 'same_program') \
                      AND t.request = g.id";

fn read(row: &Row<'_>) -> StoreResult<Grant> {
    let mut columns = Columns::of(row);
    let id = Id::from_bytes(columns.next()?);
    let shape = read_shape(&mut columns)?;
    let (agent, session, made_by) = (columns.next()?, columns.next()?, columns.next()?);
    let (made_at, expires) = (columns.time()?, columns.maybe_time()?);
    let (uses_left, revoked) = (columns.next()?, columns.maybe_time()?);
    let (shown, per_hour, last_used) = (columns.next()?, columns.next()?, columns.maybe_time()?);
    let (budget, used) = read_budget(&mut columns)?;
    let details = GrantDetails { shown, per_hour, last_used, budget, used };
    Ok(Grant { id, shape, agent, session, made_by, made_at, expires, uses_left, revoked, details })
}

/// Whether a grant is believed: a row without its ledger entries grants nothing.
fn is_believed(
    conn: &Connection,
    grant: &Grant,
    now: Timestamp,
    ledger: &RecordedLedger<'_>,
) -> StoreResult<bool> {
    let (scope, repository) = match &grant.shape {
        GrantShape::SameQuestion { .. } => (ApprovalScope::Session, None),
        GrantShape::SameProgram { repository, .. } => {
            (ApprovalScope::Repository, Some(repository.as_str()))
        }
        GrantShape::Exact { .. }
        | GrantShape::Action { .. }
        | GrantShape::Targets { .. }
        | GrantShape::Command(_)
        | GrantShape::ToolCall(_)
        | GrantShape::Part(_)
        | GrantShape::ToSelf { .. } => {
            return grant_record::is_recorded(conn, grant, ledger);
        }
    };
    let claim = AnswerClaim {
        agent: grant.agent.as_deref().unwrap_or_default(),
        session: grant.session.as_deref().unwrap_or_default(),
        repository,
        person: &grant.made_by,
        scope,
    };
    is_recorded(conn, grant.id, claim, now, ledger)
}
