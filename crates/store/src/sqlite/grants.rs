//! Grants and sessions in crisis.

use std::borrow::Cow;

use countersign_json::canonical::{CallDigest, Digest};
use countersign_ledger::entry::EntryKind;
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::{Grant, GrantShape};
use rusqlite::{Connection, params};

use super::batch::Batch;
use super::columns::{Columns, texts, texts_json};
use super::entry::{entry, number_fact, text_fact};
use super::errors::corrupt;
use crate::error::{StoreError, StoreResult};
use crate::event::StoreEvent;
use crate::record::{CrisisSession, WriteContext};

/// Stores a grant. An existing one is never overwritten, because it may have been revoked.
pub(super) fn create(
    batch: &mut Batch<'_>,
    grant: &Grant,
    context: &WriteContext,
) -> StoreResult<()> {
    let (shape, tool, targets, digest) = match &grant.shape {
        GrantShape::Exact { digest } => ("exact", None, None, Some(digest)),
        GrantShape::Action { tool } => ("action", Some(tool), None, None),
        GrantShape::Targets { tool, targets } => {
            ("targets", Some(tool), Some(texts_json(targets)?), None)
        }
        GrantShape::ToSelf { tool } => ("to_self", Some(tool), None, None),
    };
    let sql = "INSERT INTO given VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, \
               ?14) ON CONFLICT (id) DO NOTHING";
    let inserted = batch.conn.prepare_cached(sql)?.execute(params![
        grant.id.as_bytes(),
        shape,
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
    ])?;
    if inserted == 0 {
        return Err(StoreError::Exists("grant"));
    }
    let id = grant.id.to_string();
    let mut facts = vec![text_fact("grant", &id), text_fact("shape", shape)];
    facts.extend(tool.map(|tool| text_fact("tool", tool)));
    let mut entry = entry(EntryKind::Grant, context, facts)?;
    entry.person = Some(Cow::Borrowed(&grant.made_by));
    entry.agent = grant.agent.as_deref().map(Cow::Borrowed);
    entry.session = grant.session.as_deref().map(Cow::Borrowed);
    entry.digest = digest.map(|digest| digest.canonical);
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
    let id = id.to_string();
    let mut entry = entry(EntryKind::Revoke, context, vec![text_fact("grant", &id)])?;
    entry.person = Some(Cow::Borrowed(person));
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(true)
}

/// All grants, newest first; only active ones unless `all`.
pub(super) fn grants(conn: &Connection, now: Timestamp, all: bool) -> StoreResult<Vec<Grant>> {
    let sql = "SELECT id, shape, tool, targets, digest, raw, both_bind, agent, session, made_by, \
               made_at, expires, uses_left, revoked FROM given ORDER BY id DESC";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut grants = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let id = Id::from_bytes(columns.next()?);
        let shape = shape(&mut columns)?;
        let (agent, session, made_by) = (columns.next()?, columns.next()?, columns.next()?);
        let (made_at, expires) = (columns.time()?, columns.maybe_time()?);
        let (uses_left, revoked) = (columns.next()?, columns.maybe_time()?);
        let grant =
            Grant { id, shape, agent, session, made_by, made_at, expires, uses_left, revoked };
        if all || grant.is_active(now) {
            grants.push(grant);
        }
    }
    Ok(grants)
}

fn shape(columns: &mut Columns<'_, '_>) -> StoreResult<GrantShape> {
    let word: String = columns.next()?;
    let (tool, targets) = (columns.next::<Option<String>>()?, columns.next::<Option<String>>()?);
    let canonical = columns.next::<Option<[u8; 32]>>()?;
    let raw = columns.next::<Option<[u8; 32]>>()?;
    let both_bind = columns.next::<Option<bool>>()?;
    Ok(match (word.as_str(), tool, targets, canonical, raw, both_bind) {
        ("exact", _, _, Some(canonical), Some(raw), Some(both_bind)) => {
            let (canonical, raw) = (Digest::from_bytes(canonical), Digest::from_bytes(raw));
            GrantShape::Exact { digest: CallDigest { canonical, raw, both_bind } }
        }
        ("action", Some(tool), ..) => GrantShape::Action { tool },
        ("targets", Some(tool), Some(targets), ..) => {
            GrantShape::Targets { tool, targets: texts(&targets)? }
        }
        ("to_self", Some(tool), ..) => GrantShape::ToSelf { tool },
        _ => return Err(corrupt(format!("unknown grant shape `{word}`"))),
    })
}

/// Marks a session as in crisis. The recorded level only rises.
pub(super) fn begin_crisis(
    batch: &mut Batch<'_>,
    crisis: &CrisisSession,
    context: &WriteContext,
) -> StoreResult<()> {
    if !(1..=6).contains(&crisis.level) {
        return Err(StoreError::Invalid(format!(
            "crisis level {} is not between 1 and 6",
            crisis.level
        )));
    }
    let sql = "INSERT INTO crisis VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (agent, session) \
               DO UPDATE SET level = max(level, excluded.level), \
               imminent = max(imminent, excluded.imminent), since = min(since, excluded.since)";
    batch.conn.prepare_cached(sql)?.execute(params![
        crisis.agent,
        crisis.session,
        crisis.level,
        crisis.imminent,
        crisis.since.0
    ])?;
    let mut entry =
        entry(EntryKind::CrisisBegin, context, vec![number_fact("level", crisis.level)])?;
    entry.agent = Some(Cow::Borrowed(&crisis.agent));
    entry.session = Some(Cow::Borrowed(&crisis.session));
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(())
}

/// Removes the crisis mark of a session by a person's decision.
pub(super) fn lift_crisis(
    batch: &mut Batch<'_>,
    agent: &str,
    session: &str,
    person: &str,
    context: &WriteContext,
) -> StoreResult<bool> {
    let lifted = batch
        .conn
        .prepare_cached("DELETE FROM crisis WHERE agent = ?1 AND session = ?2")?
        .execute([agent, session])?;
    if lifted == 0 {
        return Ok(false);
    }
    let mut entry = entry(EntryKind::CrisisLift, context, Vec::new())?;
    entry.agent = Some(Cow::Borrowed(agent));
    entry.session = Some(Cow::Borrowed(session));
    entry.person = Some(Cow::Borrowed(person));
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(true)
}

/// Every session in crisis.
pub(super) fn crises(conn: &Connection) -> StoreResult<Vec<CrisisSession>> {
    let sql = "SELECT agent, session, level, imminent, since FROM crisis ORDER BY since";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut crises = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let (agent, session) = (columns.next()?, columns.next()?);
        let (level, imminent) = (columns.next()?, columns.next()?);
        crises.push(CrisisSession { agent, session, level, imminent, since: columns.time()? });
    }
    Ok(crises)
}
