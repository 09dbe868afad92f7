//! Linked accounts, passkeys and push subscriptions of people.

use std::borrow::Cow;

use countersign_ledger::entry::EntryKind;
use rusqlite::{Connection, OptionalExtension, params};

use super::batch::Batch;
use super::columns::Columns;
use super::entry::{entry, text_fact};
use super::row_record::{PowerRow as _, rows_fact};
use crate::error::{StoreError, StoreResult};
use crate::event::StoreEvent;
use crate::people::{LinkedAccount, Passkey, PushSubscription};
use crate::record::WriteContext;

/// Rejects a credential of a revoked person; the end of a credential is always stored.
fn check_person(batch: &Batch<'_>, person: &str, ends: bool) -> StoreResult<()> {
    batch
        .conn
        .prepare_cached("SELECT 1 FROM person WHERE name = ?1 AND (revoked IS NULL OR ?2)")?
        .query_row(params![person, ends], |_| Ok(()))
        .optional()?
        .ok_or(StoreError::NotFound("person"))
}

/// Appends the ledger entry of a change to a credential.
fn append_entry(
    batch: &mut Batch<'_>,
    person: &str,
    facts: [(&'static str, &str); 2],
    row: Option<String>,
    context: &WriteContext,
) -> StoreResult<()> {
    let mut facts: Vec<_> = facts.into_iter().map(|(name, value)| text_fact(name, value)).collect();
    facts.extend(row.map(|row| rows_fact(vec![row])));
    let mut entry = entry(EntryKind::Person, context, facts)?;
    entry.person = Some(Cow::Borrowed(person));
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(())
}

/// Stores a linked account or its end. Anyone may link an account again after its end.
pub(super) fn save_account(
    batch: &mut Batch<'_>,
    account: &LinkedAccount,
    context: &WriteContext,
) -> StoreResult<()> {
    check_person(batch, &account.person, account.ended.is_some())?;
    let sql = "INSERT INTO account (channel, account, person, called, linked, ended, active_from) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
               ON CONFLICT (channel, account) DO UPDATE SET person = excluded.person, \
               called = excluded.called, linked = excluded.linked, ended = excluded.ended, \
               active_from = excluded.active_from \
               WHERE person = excluded.person OR ended IS NOT NULL";
    let changed = batch.conn.prepare_cached(sql)?.execute(params![
        account.channel,
        account.account,
        account.person,
        account.called,
        account.linked.0,
        account.ended.map(|at| at.0),
        account.active_from.0,
    ])?;
    if changed == 0 {
        return Err(StoreError::Exists("account"));
    }
    let what = if account.ended.is_some() { "account unlinked" } else { "account linked" };
    let facts = [("channel", account.channel.as_str()), ("what", what)];
    append_entry(batch, &account.person, facts, Some(account.line()), context)
}

/// All accounts that have not ended.
pub(super) fn accounts(conn: &Connection) -> StoreResult<Vec<LinkedAccount>> {
    let sql = "SELECT channel, account, person, called, linked, ended, active_from FROM account \
               WHERE ended IS NULL ORDER BY channel, account";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut accounts = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let (channel, account) = (columns.next()?, columns.next()?);
        let (person, called) = (columns.next()?, columns.next()?);
        let (linked, ended) = (columns.time()?, columns.maybe_time()?);
        let active_from = columns.time()?;
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

/// Stores a passkey, its use or its end.
pub(super) fn save_passkey(
    batch: &mut Batch<'_>,
    passkey: &Passkey,
    context: &WriteContext,
) -> StoreResult<()> {
    check_person(batch, &passkey.person, passkey.ended.is_some())?;
    let before = batch
        .conn
        .prepare_cached("SELECT 1 FROM passkey WHERE credential = ?1")?
        .query_row([&passkey.credential], |_| Ok(()))
        .optional()?;
    // A count that goes back is a copied device: the caller refuses it, and so does the row.
    let sql = "INSERT INTO passkey (credential, person, name, public_key, algorithm, uses, added, \
               used, ended, active_from) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
               ON CONFLICT (credential) DO UPDATE SET name = excluded.name, \
               algorithm = excluded.algorithm, added = excluded.added, \
               active_from = excluded.active_from, \
               uses = max(uses, excluded.uses), used = coalesce(excluded.used, used), \
               ended = excluded.ended \
               WHERE person = excluded.person AND public_key = excluded.public_key \
               AND ended IS NULL";
    let changed = batch.conn.prepare_cached(sql)?.execute(params![
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
    if changed == 0 {
        return Err(StoreError::Exists("passkey"));
    }
    let what = match (before, passkey.ended) {
        (_, Some(_)) => "passkey ended",
        (None, None) => "passkey added",
        (Some(()), None) => "passkey used",
    };
    let facts = [("passkey", passkey.name.as_str()), ("what", what)];
    append_entry(batch, &passkey.person, facts, Some(passkey.line()), context)
}

/// All passkeys that have not ended.
pub(super) fn passkeys(conn: &Connection) -> StoreResult<Vec<Passkey>> {
    let sql = "SELECT credential, person, name, public_key, algorithm, uses, added, used, ended, \
               active_from FROM passkey WHERE ended IS NULL ORDER BY added";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut passkeys = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let (credential, person, name) = (columns.next()?, columns.next()?, columns.next()?);
        let (public_key, algorithm, uses) = (columns.next()?, columns.next()?, columns.next()?);
        let (added, used, ended) = (columns.time()?, columns.maybe_time()?, columns.maybe_time()?);
        let active_from = columns.time()?;
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

/// Stores a push subscription or its end.
pub(super) fn save_subscription(
    batch: &mut Batch<'_>,
    subscription: &PushSubscription,
    context: &WriteContext,
) -> StoreResult<()> {
    check_person(batch, &subscription.person, subscription.ended.is_some())?;
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
    append_entry(
        batch,
        &subscription.person,
        [("browser", &subscription.called), ("what", what)],
        None,
        context,
    )
}

/// All subscriptions that have not ended.
pub(super) fn subscriptions(conn: &Connection) -> StoreResult<Vec<PushSubscription>> {
    let sql = "SELECT endpoint, person, public_key, secret, called, added, ended \
               FROM subscription WHERE ended IS NULL ORDER BY added";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut subscriptions = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let (endpoint, person) = (columns.next()?, columns.next()?);
        let (public_key, secret, called) = (columns.next()?, columns.next()?, columns.next()?);
        let (added, ended) = (columns.time()?, columns.maybe_time()?);
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
