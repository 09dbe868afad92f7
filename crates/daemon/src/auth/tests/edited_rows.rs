//! Rows of people and agents that were edited in the file of the store: they give nobody rights.

use std::fs;
use std::path::Path;

use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{LinkedAccount, Role, Store as _, StoredPerson};
use serde_json::json;

use super::rollback::{is_ready, restart_with};
use crate::auth::hash_passphrase;
use crate::test_daemon::{ApiSide, TestDaemon};

const KNOWN: &str = "known to the attacker";

/// Replaces bytes in the file of the store, everywhere.
fn replace(state: &Path, old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    let file = state.join("countersign.db");
    let mut bytes = fs::read(&file).unwrap();
    let places: Vec<usize> =
        (0..bytes.len() - old.len()).filter(|at| bytes[*at..].starts_with(old)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + old.len()].copy_from_slice(new);
    }
    fs::write(&file, bytes).unwrap();
}

async fn log_in(daemon: &TestDaemon, name: &str, passphrase: &str) -> u16 {
    let body = json!({"name": name, "passphrase": passphrase, "channel": "terminal"});
    daemon.ask(ApiSide::People, "POST /v1/login", &[], Some(body)).await.status.as_u16()
}

/// An administrator with a passphrase of their own.
async fn bo(daemon: &TestDaemon) -> String {
    let added = daemon.now();
    let bo = StoredPerson {
        name: "bo".to_owned(),
        role: Role::Administrator,
        passphrase: hash_passphrase("the passphrase of bo").unwrap(),
        added,
        role_since: added,
        active_from: added,
        revoked: None,
    };
    daemon.gate.store().save_person(bo, daemon.note()).await.unwrap();
    daemon.login("bo", "terminal", 3_600_000).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_passphrase_signs_nobody_in() {
    let daemon = TestDaemon::default().await;
    let (bo, owner) = (bo(&daemon).await, daemon.owner().await);
    let old = daemon.api.directory.record("owner").unwrap().passphrase;
    let mine = hash_passphrase(KNOWN).unwrap();
    let people = daemon.count("person").await;
    let daemon =
        restart_with(daemon, |state| replace(state, old.as_bytes(), mine.as_bytes())).await;
    assert_eq!(log_in(&daemon, "owner", KNOWN).await, 401);
    // Not the session of the owner either: nobody knows what else was edited.
    assert_eq!(daemon.by(&owner, ApiSide::People, "GET /v1/me", None).await.status, 401);
    let rows = daemon.by(&bo, ApiSide::People, "GET /v1/ledger/rows", None).await;
    assert_eq!(rows.body["differences"], 1, "{:?}", rows.body);
    assert_eq!(rows.body["listed"][0]["credential"], "person owner");
    assert_eq!(daemon.count("person").await, people, "no new owner");
}

#[tokio::test(flavor = "multi_thread")]
async fn edited_rows_of_all_people_make_no_new_owner() {
    let daemon = TestDaemon::default().await;
    let old = daemon.api.directory.record("owner").unwrap().passphrase;
    let mine = hash_passphrase(KNOWN).unwrap();
    let people = daemon.count("person").await;
    let daemon =
        restart_with(daemon, |state| replace(state, old.as_bytes(), mine.as_bytes())).await;
    assert_eq!(daemon.api.directory.person_count(), 0);
    assert_eq!(daemon.count("person").await, people);
    assert_eq!(daemon.count("rows_recorded").await, 0, "edits are not adopted");
}

#[tokio::test(flavor = "multi_thread")]
async fn edited_accounts_sessions_and_tokens_give_nothing() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    let session = daemon.login("owner", "terminal", 3_600_000).await;
    let agent = daemon.agent("claude", 1_000_000).await;
    let linked = daemon.now();
    let account = LinkedAccount {
        channel: "telegram".to_owned(),
        account: "777000111".to_owned(),
        person: "owner".to_owned(),
        called: "Owner".to_owned(),
        linked,
        active_from: linked,
        ended: None,
    };
    daemon.gate.store().save_account(account, daemon.note()).await.unwrap();
    let secret = |text: &str| *Digest::of(text.as_bytes()).as_bytes();
    // The rows are sorted by their secrets: an edit that breaks the order would hide the owner's.
    let is_behind = |text: &str| secret(text) > secret(&owner);
    let mut mine = (0..).map(|number| format!("csp_mine{number}"));
    let my_session = mine.find(|text| is_behind(text) == is_behind(&session)).unwrap();
    let (my_session, my_agent) = (my_session.as_str(), "csa_mine");
    let daemon = restart_with(daemon, |state| {
        replace(state, b"777000111", b"666000222");
        replace(state, &secret(&session), &secret(my_session));
        replace(state, &secret(&agent), &secret(my_agent));
    })
    .await;
    assert!(is_ready(&daemon).await, "the ledger itself was not edited");
    for account in ["777000111", "666000222"] {
        assert_eq!(daemon.api.directory.account("telegram", account), None);
    }
    for token in [my_session, &session] {
        assert_eq!(daemon.by(token, ApiSide::People, "GET /v1/me", None).await.status, 401);
    }
    let body = json!({"command": "git status"});
    for token in [my_agent, &agent] {
        let asked = daemon.by(token, ApiSide::Agents, "POST /v1/requests", Some(body.clone()));
        assert_eq!(asked.await.status, 401);
    }
    assert_eq!(daemon.by(&owner, ApiSide::People, "GET /v1/me", None).await.status, 200);
}

/// A ledger of an earlier version names people without the digests of their rows.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_an_earlier_version_are_adopted_at_the_first_start_only() {
    let daemon = TestDaemon::new_without_owner().await;
    assert_eq!(daemon.count("rows_recorded").await, 0, "nothing to adopt");
    let mut entry = Entry::new(0, EntryKind::Person, daemon.note().policy);
    entry.person = Some("ana".into());
    daemon.gate.store().append(vec![entry]).await.unwrap();
    let mut daemon = restart_with(daemon, |_| {}).await;
    assert_eq!(daemon.count("rows_recorded").await, 1);
    // This start may create an owner.
    daemon.passphrase = KNOWN.to_owned();
    let daemon = restart_with(daemon, |_| {}).await;
    assert_eq!(daemon.count("rows_recorded").await, 1);
    assert_eq!(daemon.api.directory.person_count(), 0, "the ledger names a person: no new owner");
}
