//! People, agents and logins as rows.

use std::borrow::Cow;

use countersign_json::canonical::Digest;
use countersign_ledger::entry::EntryKind;
use countersign_types::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::batch::Batch;
use super::columns::{Columns, texts, texts_json};
use super::entry::{entry, text_fact};
use super::errors::corrupt;
use super::row_record::{PowerRow as _, rows_fact};
use crate::error::{StoreError, StoreResult};
use crate::event::StoreEvent;
use crate::people::{Role, StoredAgent, StoredLogin, StoredPerson};
use crate::record::WriteContext;

/// Adds or changes a person.
pub(super) fn save_person(
    batch: &mut Batch<'_>,
    person: &StoredPerson,
    context: &WriteContext,
) -> StoreResult<()> {
    let before = row_before(batch, &person.name)?;
    // The ledger tells the changes apart: a reset passphrase must not look like a new person.
    let what = match &before {
        _ if person.revoked.is_some() => "revoked",
        None => "added",
        Some(old) if old.role != person.role => "role changed",
        Some(old) if old.passphrase != person.passphrase => "passphrase changed",
        Some(_) => "kept",
    };
    let mut saved = person.clone();
    if what == "role changed" {
        saved.role_since = batch.now.at;
    }
    if let Some(old) = &before {
        saved.role_since = saved.role_since.max(old.role_since);
        saved.active_from = saved.active_from.max(old.active_from);
    }
    let sql = "INSERT INTO person (name, role, passphrase, added, revoked, role_since, \
               active_from) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (name) DO UPDATE SET \
               role = excluded.role, passphrase = excluded.passphrase, added = excluded.added, \
               revoked = excluded.revoked, role_since = excluded.role_since, \
               active_from = excluded.active_from";
    batch.conn.prepare_cached(sql)?.execute(params![
        saved.name,
        role_label(saved.role),
        saved.passphrase,
        saved.added.0,
        saved.revoked.map(|at| at.0),
        saved.role_since.0,
        saved.active_from.0,
    ])?;
    let facts = vec![
        text_fact("role", role_label(saved.role)),
        rows_fact(vec![saved.line()]),
        text_fact("what", what),
    ];
    let mut entry = entry(EntryKind::Person, context, facts)?;
    entry.person = Some(Cow::Borrowed(&person.name));
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(())
}

/// The row of a person, if the ledger confirms it.
fn row_before(batch: &Batch<'_>, name: &str) -> StoreResult<Option<StoredPerson>> {
    let row = people(batch.conn)?.into_iter().find(|row| row.name == name);
    Ok(row.filter(|row| {
        let record = row.record();
        record.content.is_none() || batch.recorded_row(record.key) == record.content
    }))
}

const fn role_label(role: Role) -> &'static str {
    match role {
        Role::Approver => "approver",
        Role::Administrator => "administrator",
    }
}

/// All people.
pub(super) fn people(conn: &Connection) -> StoreResult<Vec<StoredPerson>> {
    let sql = "SELECT name, role, passphrase, added, revoked, role_since, active_from \
               FROM person ORDER BY name";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut people = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let name = columns.next()?;
        let role = match columns.next::<String>()?.as_str() {
            "approver" => Role::Approver,
            "administrator" => Role::Administrator,
            other => return Err(corrupt(format!("unknown role `{other}`"))),
        };
        let (passphrase, added) = (columns.next()?, columns.time()?);
        let revoked = columns.maybe_time()?;
        let (role_since, active_from) = (columns.time()?, columns.time()?);
        people.push(StoredPerson {
            name,
            role,
            passphrase,
            added,
            role_since,
            active_from,
            revoked,
        });
    }
    Ok(people)
}

/// Adds or changes an agent.
pub(super) fn save_agent(
    batch: &mut Batch<'_>,
    agent: &StoredAgent,
    context: &WriteContext,
) -> StoreResult<()> {
    let before = batch
        .conn
        .prepare_cached("SELECT token FROM agent WHERE name = ?1")?
        .query_row([&agent.name], |row| row.get::<_, Option<[u8; 32]>>(0))
        .optional()?;
    let what = match before {
        _ if agent.revoked.is_some() => "revoked",
        None => "added",
        Some(old) if old.map(Digest::from_bytes) != agent.token => "token changed",
        Some(_) => "kept",
    };
    let sql = "INSERT INTO agent VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (name) DO UPDATE \
               SET token = excluded.token, uid = excluded.uid, added = excluded.added, \
               own_addresses = excluded.own_addresses, expires = excluded.expires, \
               revoked = excluded.revoked";
    batch.conn.prepare_cached(sql)?.execute(params![
        agent.name,
        agent.token.as_ref().map(Digest::as_bytes),
        agent.uid,
        texts_json(&agent.own_addresses)?,
        agent.added.0,
        agent.expires.map(|at| at.0),
        agent.revoked.map(|at| at.0),
    ])?;
    let facts = vec![rows_fact(vec![agent.line()]), text_fact("what", what)];
    let mut entry = entry(EntryKind::Agent, context, facts)?;
    entry.agent = Some(Cow::Borrowed(&agent.name));
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(())
}

/// All agents.
pub(super) fn agents(conn: &Connection) -> StoreResult<Vec<StoredAgent>> {
    let sql = "SELECT name, token, uid, own_addresses, added, expires, revoked FROM agent \
               ORDER BY name";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut agents = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let name = columns.next()?;
        let token = columns.next::<Option<[u8; 32]>>()?;
        let token = token.map(Digest::from_bytes);
        let uid = columns.next()?;
        let own_addresses = texts(&columns.next::<String>()?)?;
        let (added, expires) = (columns.time()?, columns.maybe_time()?);
        let revoked = columns.maybe_time()?;
        agents.push(StoredAgent { name, token, uid, own_addresses, added, expires, revoked });
    }
    Ok(agents)
}

/// Stores a login of a person who is not revoked, or its end. An ended login stays ended.
pub(super) fn save_login(
    batch: &mut Batch<'_>,
    login: &StoredLogin,
    context: &WriteContext,
) -> StoreResult<()> {
    let active = batch
        .conn
        .prepare_cached("SELECT 1 FROM person WHERE name = ?1 AND (revoked IS NULL OR ?2)")?
        .query_row(params![login.person, login.ended.is_some()], |_| Ok(()))
        .optional()?;
    active.ok_or(StoreError::NotFound("person"))?;
    let sql = "INSERT INTO login VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (secret) DO UPDATE \
               SET channel = excluded.channel, made = excluded.made, expires = excluded.expires, \
               ended = coalesce(ended, excluded.ended) WHERE person = excluded.person \
               RETURNING ended";
    let ended = batch
        .conn
        .prepare_cached(sql)?
        .query_row(
            params![
                login.secret.as_bytes(),
                login.person,
                login.channel,
                login.made.0,
                login.expires.0,
                login.ended.map(|at| at.0),
            ],
            |row| row.get::<_, Option<i64>>(0),
        )
        .optional()?
        .ok_or(StoreError::Exists("login"))?;
    let saved = StoredLogin { ended: ended.map(Timestamp), ..login.clone() };
    let what = if login.ended.is_some() { "login ended" } else { "login" };
    let facts = vec![
        text_fact("channel", &login.channel),
        rows_fact(vec![saved.line()]),
        text_fact("what", what),
    ];
    let mut entry = entry(EntryKind::Person, context, facts)?;
    entry.person = Some(Cow::Borrowed(&login.person));
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(())
}

/// All logins that have neither ended nor expired.
pub(super) fn logins(conn: &Connection, now: Timestamp) -> StoreResult<Vec<StoredLogin>> {
    let sql = "SELECT secret, person, channel, made, expires, ended FROM login \
               WHERE ended IS NULL AND expires > ?1 ORDER BY made";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([now.0])?;
    let mut logins = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let (secret, person, channel) = (columns.digest()?, columns.next()?, columns.next()?);
        let (made, expires) = (columns.time()?, columns.time()?);
        logins.push(StoredLogin {
            secret,
            person,
            channel,
            made,
            expires,
            ended: columns.maybe_time()?,
        });
    }
    Ok(logins)
}
