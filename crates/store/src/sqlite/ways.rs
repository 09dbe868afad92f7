//! Further ways in for people: accounts elsewhere, passkeys, browsers that can be called.

use std::borrow::Cow;

use countersign_ledger::entry::Kind;
use rusqlite::{Connection, OptionalExtension, params};

use super::batch::{Batch, entry, words};
use super::row::Cells;
use crate::StoreResult;
use crate::error::StoreError;
use crate::people::{LinkedAccount, Passkey, PushSubscription};
use crate::record::WriteContext;
use crate::wake::StoreEvent;

/// Refuses a way in for somebody who is not there any more; the end of one is always kept.
fn known(batch: &Batch<'_>, person: &str, ends: bool) -> StoreResult<()> {
    batch
        .conn
        .prepare_cached("SELECT 1 FROM person WHERE name = ?1 AND (revoked IS NULL OR ?2)")?
        .query_row(params![person, ends], |_| Ok(()))
        .optional()?
        .ok_or(StoreError::NotFound("person"))
}

/// Writes down whose way in it is and what became of it.
fn told(
    batch: &mut Batch<'_>,
    person: &str,
    facts: [(&'static str, &str); 2],
    note: &WriteContext,
) -> StoreResult<()> {
    let facts = facts.into_iter().map(|(name, value)| words(name, value)).collect();
    let mut entry = entry(Kind::Person, note, facts)?;
    entry.person = Some(Cow::Borrowed(person));
    batch.write(entry)?;
    batch.tell(StoreEvent::Settings);
    Ok(())
}

/// Keeps a linked account or its end. One that has ended may be linked again, by anybody.
pub(super) fn keep_account(
    batch: &mut Batch<'_>,
    account: &LinkedAccount,
    note: &WriteContext,
) -> StoreResult<()> {
    known(batch, &account.person, account.ended.is_some())?;
    let sql = "INSERT INTO account (channel, account, person, called, linked, ended, active_from) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
               ON CONFLICT (channel, account) DO UPDATE SET person = excluded.person, \
               called = excluded.called, linked = excluded.linked, ended = excluded.ended, \
               active_from = excluded.active_from \
               WHERE person = excluded.person OR ended IS NOT NULL";
    let kept = batch.conn.prepare_cached(sql)?.execute(params![
        account.channel,
        account.account,
        account.person,
        account.called,
        account.linked.0,
        account.ended.map(|at| at.0),
        account.active_from.0,
    ])?;
    if kept == 0 {
        return Err(StoreError::Exists("account"));
    }
    let what = if account.ended.is_some() { "account unlinked" } else { "account linked" };
    told(batch, &account.person, [("channel", &account.channel), ("what", what)], note)
}

/// All accounts that have not ended.
pub(super) fn accounts(conn: &Connection) -> StoreResult<Vec<LinkedAccount>> {
    let sql = "SELECT channel, account, person, called, linked, ended, active_from FROM account \
               WHERE ended IS NULL ORDER BY channel, account";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut accounts = Vec::new();
    while let Some(row) = rows.next()? {
        let mut cells = Cells::of(row);
        let (channel, account) = (cells.next()?, cells.next()?);
        let (person, called) = (cells.next()?, cells.next()?);
        let (linked, ended) = (cells.time()?, cells.maybe_time()?);
        let active_from = cells.time()?;
        accounts.push(LinkedAccount {
            channel,
            account,
            person,
            called,
            linked,
            active_from,
            ended,
        });
    }
    Ok(accounts)
}

/// Keeps a passkey, its use or its end.
pub(super) fn keep_passkey(
    batch: &mut Batch<'_>,
    passkey: &Passkey,
    note: &WriteContext,
) -> StoreResult<()> {
    known(batch, &passkey.person, passkey.ended.is_some())?;
    let before = batch
        .conn
        .prepare_cached("SELECT 1 FROM passkey WHERE credential = ?1")?
        .query_row([&passkey.credential], |_| Ok(()))
        .optional()?;
    // A count that goes back is a copied device: the caller refuses it, and so does the row.
    let sql = "INSERT INTO passkey (credential, person, name, public_key, algorithm, uses, added, \
               used, ended, active_from) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
               ON CONFLICT (credential) DO UPDATE SET name = excluded.name, \
               uses = max(uses, excluded.uses), used = coalesce(excluded.used, used), \
               ended = excluded.ended \
               WHERE person = excluded.person AND public_key = excluded.public_key \
               AND ended IS NULL";
    let kept = batch.conn.prepare_cached(sql)?.execute(params![
        passkey.credential,
        passkey.person,
        passkey.name,
        passkey.public_key,
        passkey.algorithm,
        passkey.uses,
        passkey.added.0,
        passkey.used.map(|at| at.0),
        passkey.ended.map(|at| at.0),
        passkey.active_from.0,
    ])?;
    if kept == 0 {
        return Err(StoreError::Exists("passkey"));
    }
    let what = match (before, passkey.ended) {
        (_, Some(_)) => "passkey ended",
        (None, None) => "passkey added",
        (Some(()), None) => "passkey used",
    };
    told(batch, &passkey.person, [("passkey", &passkey.name), ("what", what)], note)
}

/// All passkeys that have not ended.
pub(super) fn passkeys(conn: &Connection) -> StoreResult<Vec<Passkey>> {
    let sql = "SELECT credential, person, name, public_key, algorithm, uses, added, used, ended, \
               active_from FROM passkey WHERE ended IS NULL ORDER BY added";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut passkeys = Vec::new();
    while let Some(row) = rows.next()? {
        let mut cells = Cells::of(row);
        let (credential, person, name) = (cells.next()?, cells.next()?, cells.next()?);
        let (public_key, algorithm, uses) = (cells.next()?, cells.next()?, cells.next()?);
        let (added, used, ended) = (cells.time()?, cells.maybe_time()?, cells.maybe_time()?);
        let active_from = cells.time()?;
        passkeys.push(Passkey {
            credential,
            person,
            name,
            public_key,
            algorithm,
            uses,
            added,
            active_from,
            used,
            ended,
        });
    }
    Ok(passkeys)
}

/// Keeps a browser that wants to be called, or its end.
pub(super) fn keep_subscription(
    batch: &mut Batch<'_>,
    subscription: &PushSubscription,
    note: &WriteContext,
) -> StoreResult<()> {
    known(batch, &subscription.person, subscription.ended.is_some())?;
    let sql = "INSERT INTO subscription VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
               ON CONFLICT (endpoint) DO UPDATE SET person = excluded.person, \
               public_key = excluded.public_key, secret = excluded.secret, \
               called = excluded.called, ended = excluded.ended";
    batch.conn.prepare_cached(sql)?.execute(params![
        subscription.endpoint,
        subscription.person,
        subscription.public_key,
        subscription.secret,
        subscription.called,
        subscription.added.0,
        subscription.ended.map(|at| at.0),
    ])?;
    let what = if subscription.ended.is_some() { "push ended" } else { "push added" };
    told(batch, &subscription.person, [("browser", &subscription.called), ("what", what)], note)
}

/// All subscriptions that have not ended.
pub(super) fn subscriptions(conn: &Connection) -> StoreResult<Vec<PushSubscription>> {
    let sql = "SELECT endpoint, person, public_key, secret, called, added, ended \
               FROM subscription WHERE ended IS NULL ORDER BY added";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut subscriptions = Vec::new();
    while let Some(row) = rows.next()? {
        let mut cells = Cells::of(row);
        let (endpoint, person) = (cells.next()?, cells.next()?);
        let (public_key, secret, called) = (cells.next()?, cells.next()?, cells.next()?);
        let (added, ended) = (cells.time()?, cells.maybe_time()?);
        subscriptions.push(PushSubscription {
            endpoint,
            person,
            public_key,
            secret,
            called,
            added,
            ended,
        });
    }
    Ok(subscriptions)
}
