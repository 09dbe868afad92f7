//! Who is who: people, agents and logins as rows.

use std::borrow::Cow;

use countersign_json::canonical::Digest;
use countersign_ledger::entry::Kind;
use countersign_types::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::batch::{Batch, entry, words};
use super::fault::corrupt;
use super::row::{Cells, texts, texts_json};
use crate::StoreResult;
use crate::error::StoreError;
use crate::people::{Role, StoredAgent, StoredLogin, StoredPerson};
use crate::record::WriteContext;
use crate::wake::StoreEvent;

/// Adds or changes a person. Who is revoked has no way in any more.
pub(super) fn keep_person(
    batch: &mut Batch<'_>,
    person: &StoredPerson,
    note: &WriteContext,
) -> StoreResult<()> {
    let role = match person.role {
        Role::Approver => "approver",
        Role::Administrator => "administrator",
    };
    let before = batch
        .conn
        .prepare_cached("SELECT role, passphrase FROM person WHERE name = ?1")?
        .query_row([&person.name], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
        .optional()?;
    // Which change it is goes into the ledger: a reset passphrase must not look like a new person.
    let what = match &before {
        _ if person.revoked.is_some() => "revoked",
        None => "added",
        Some((old, _)) if old != role => "role changed",
        Some((_, old)) if *old != person.passphrase => "passphrase changed",
        Some(_) => "kept",
    };
    let role_since = if what == "role changed" { batch.now.at } else { person.role_since };
    let sql = "INSERT INTO person (name, role, passphrase, added, revoked, role_since, \
               active_from) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (name) DO UPDATE SET \
               role = excluded.role, passphrase = excluded.passphrase, \
               revoked = excluded.revoked, role_since = max(role_since, excluded.role_since), \
               active_from = max(active_from, excluded.active_from)";
    batch.conn.prepare_cached(sql)?.execute(params![
        person.name,
        role,
        person.passphrase,
        person.added.0,
        person.revoked.map(|at| at.0),
        role_since.0,
        person.active_from.0,
    ])?;
    if person.revoked.is_some() {
        for way in ["login", "account", "passkey", "subscription"] {
            let sql = format!("UPDATE {way} SET ended = ?2 WHERE person = ?1 AND ended IS NULL");
            batch.conn.prepare_cached(&sql)?.execute(params![person.name, batch.now.at.0])?;
        }
    }
    let facts = vec![words("role", role), words("what", what)];
    let mut entry = entry(Kind::Person, note, facts)?;
    entry.person = Some(Cow::Borrowed(&person.name));
    batch.write(entry)?;
    batch.tell(StoreEvent::Settings);
    Ok(())
}

/// All people.
pub(super) fn people(conn: &Connection) -> StoreResult<Vec<StoredPerson>> {
    let sql = "SELECT name, role, passphrase, added, revoked, role_since, active_from \
               FROM person ORDER BY name";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut people = Vec::new();
    while let Some(row) = rows.next()? {
        let mut cells = Cells::of(row);
        let name = cells.next()?;
        let role = match cells.next::<String>()?.as_str() {
            "approver" => Role::Approver,
            "administrator" => Role::Administrator,
            other => return Err(corrupt(format!("the role `{other}`"))),
        };
        let (passphrase, added) = (cells.next()?, cells.time()?);
        let revoked = cells.maybe_time()?;
        let (role_since, active_from) = (cells.time()?, cells.time()?);
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
pub(super) fn keep_agent(
    batch: &mut Batch<'_>,
    agent: &StoredAgent,
    note: &WriteContext,
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
               SET token = excluded.token, uid = excluded.uid, \
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
    let mut entry = entry(Kind::Agent, note, vec![words("what", what)])?;
    entry.agent = Some(Cow::Borrowed(&agent.name));
    batch.write(entry)?;
    batch.tell(StoreEvent::Settings);
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
        let mut cells = Cells::of(row);
        let name = cells.next()?;
        let token = cells.next::<Option<[u8; 32]>>()?;
        let token = token.map(Digest::from_bytes);
        let uid = cells.next()?;
        let own_addresses = texts(&cells.next::<String>()?)?;
        let (added, expires) = (cells.time()?, cells.maybe_time()?);
        let revoked = cells.maybe_time()?;
        agents.push(StoredAgent { name, token, uid, own_addresses, added, expires, revoked });
    }
    Ok(agents)
}

/// Keeps a login of somebody who may log in, or its end; an end stays.
pub(super) fn keep_login(
    batch: &mut Batch<'_>,
    login: &StoredLogin,
    note: &WriteContext,
) -> StoreResult<()> {
    let known = batch
        .conn
        .prepare_cached("SELECT 1 FROM person WHERE name = ?1 AND (revoked IS NULL OR ?2)")?
        .query_row(params![login.person, login.ended.is_some()], |_| Ok(()))
        .optional()?;
    known.ok_or(StoreError::NotFound("person"))?;
    let sql = "INSERT INTO login VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (secret) DO UPDATE \
               SET ended = coalesce(ended, excluded.ended) WHERE person = excluded.person";
    let kept = batch.conn.prepare_cached(sql)?.execute(params![
        login.secret.as_bytes(),
        login.person,
        login.channel,
        login.made.0,
        login.expires.0,
        login.ended.map(|at| at.0),
    ])?;
    if kept == 0 {
        return Err(StoreError::Exists("login"));
    }
    let what = if login.ended.is_some() { "login ended" } else { "login" };
    let facts = vec![words("channel", &login.channel), words("what", what)];
    let mut entry = entry(Kind::Person, note, facts)?;
    entry.person = Some(Cow::Borrowed(&login.person));
    batch.write(entry)?;
    batch.tell(StoreEvent::Settings);
    Ok(())
}

/// All logins that are good now.
pub(super) fn logins(conn: &Connection, now: Timestamp) -> StoreResult<Vec<StoredLogin>> {
    let sql = "SELECT secret, person, channel, made, expires, ended FROM login \
               WHERE ended IS NULL AND expires > ?1 ORDER BY made";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([now.0])?;
    let mut logins = Vec::new();
    while let Some(row) = rows.next()? {
        let mut cells = Cells::of(row);
        let (secret, person, channel) = (cells.digest()?, cells.next()?, cells.next()?);
        let (made, expires) = (cells.time()?, cells.time()?);
        logins.push(StoredLogin {
            secret,
            person,
            channel,
            made,
            expires,
            ended: cells.maybe_time()?,
        });
    }
    Ok(logins)
}
