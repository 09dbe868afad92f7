//! Rows of people, agents and their credentials, edited with another SQLite client: a row gives
//! nobody rights unless the ledger has its digest.

use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{
    ClockRebase, CredentialRows, OfflineLedger, Passkey, SqliteStore, Store, StoredAgent,
    StoredLogin, StoredPerson,
};
use countersign_types::time::Timestamp;
use rusqlite::Connection;

use crate::people::{account, passkey, person};
use crate::setup::*;

fn agent(name: &str) -> StoredAgent {
    StoredAgent {
        name: name.to_owned(),
        token: Some(Digest::of(name.as_bytes())),
        uid: Some(1_000),
        own_addresses: vec!["ana@example.org".to_owned()],
        added: Timestamp(START),
        expires: Some(Timestamp(START + 500_000)),
        revoked: None,
    }
}

fn login(person: &str) -> StoredLogin {
    StoredLogin {
        secret: Digest::of(person.as_bytes()),
        person: person.to_owned(),
        channel: "web".to_owned(),
        made: Timestamp(START),
        expires: Timestamp(START + 500_000),
        ended: None,
    }
}

/// Ana and Bo with an agent, a session, an account and a passkey each.
async fn filled(fixture: &SqliteFixture) -> SqliteStore {
    let store = fixture.open();
    for name in ["ana", "bo"] {
        store.save_person(person(name), context()).await.unwrap();
        store.save_agent(agent(&format!("agent of {name}")), context()).await.unwrap();
        store.save_login(login(name), context()).await.unwrap();
        store.save_account(account(name, &format!("{name}-77")), context()).await.unwrap();
        store.save_passkey(passkey(name), context()).await.unwrap();
    }
    let rows = store.credentials().await.unwrap();
    assert_eq!((count(&rows), rows.unrecorded.len(), rows.people_in_ledger), (10, 0, true));
    assert_eq!(store.compare_rows().await.unwrap().differences, 0);
    store
}

fn count(rows: &CredentialRows) -> usize {
    let people = rows.people.iter().filter(|person| person.revoked.is_none()).count();
    let agents = rows.agents.iter().filter(|agent| agent.revoked.is_none()).count();
    people + agents + rows.logins.len() + rows.accounts.len() + rows.passkeys.len()
}

fn edit(fixture: &SqliteFixture, sql: &str) {
    let conn = Connection::open(fixture.file()).unwrap();
    conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    assert_eq!(conn.execute(sql, []).unwrap(), 1, "{sql}");
}

/// One row gives no rights, now and after a restart, and is named.
async fn assert_not_believed(fixture: &SqliteFixture, store: SqliteStore, others: usize, of: &str) {
    let check = async |store: &SqliteStore, when: &str| {
        let rows = store.credentials().await.unwrap();
        assert_eq!(rows.unrecorded, [of], "{when}");
        assert_eq!(count(&rows), others, "{of} {when}");
        assert_eq!(store.people().await.unwrap(), rows.people);
        assert_eq!(store.accounts().await.unwrap(), rows.accounts);
        let found = store.compare_rows().await.unwrap();
        assert_eq!(found.differences, 1, "{of} {when}: {found:?}");
        assert_eq!(found.listed[0].credential.as_deref(), Some(of), "{when}");
        found
    };
    let found = check(&store, "live").await;
    drop(store);
    assert_eq!(OfflineLedger::open(&fixture.file()).unwrap().compare_rows().unwrap(), found);
    check(&fixture.open(), "after a restart").await;
}

const ACCOUNT: &str = "linked account of ana on telegram";
const PASSKEY: &str = "passkey \"phone\" of ana";

/// What is edited, and the row that it is about.
const EDITS: [(&str, &str); 18] = [
    ("UPDATE person SET role = 'administrator' WHERE name = 'ana'", "person ana"),
    ("UPDATE person SET passphrase = '$argon2id$mine' WHERE name = 'ana'", "person ana"),
    ("UPDATE person SET added = 0 WHERE name = 'ana'", "person ana"),
    ("UPDATE person SET role_since = 0 WHERE name = 'ana'", "person ana"),
    ("UPDATE person SET active_from = 0 WHERE name = 'ana'", "person ana"),
    ("UPDATE agent SET token = zeroblob(32) WHERE name = 'agent of ana'", "agent agent of ana"),
    ("UPDATE agent SET uid = 0 WHERE name = 'agent of ana'", "agent agent of ana"),
    ("UPDATE agent SET expires = NULL WHERE name = 'agent of ana'", "agent agent of ana"),
    ("UPDATE agent SET own_addresses = '[]' WHERE name = 'agent of ana'", "agent agent of ana"),
    ("UPDATE login SET secret = zeroblob(32) WHERE person = 'ana'", "session of ana"),
    ("UPDATE login SET person = 'bo' WHERE person = 'ana'", "session of bo"),
    ("UPDATE login SET expires = 9000000000000 WHERE person = 'ana'", "session of ana"),
    ("UPDATE account SET person = 'bo' WHERE person = 'ana'", "linked account of bo on telegram"),
    ("UPDATE account SET active_from = 0 WHERE person = 'ana'", ACCOUNT),
    ("UPDATE account SET linked = 0 WHERE person = 'ana'", ACCOUNT),
    ("UPDATE passkey SET public_key = zeroblob(65) WHERE person = 'ana'", PASSKEY),
    ("UPDATE passkey SET active_from = 0 WHERE person = 'ana'", PASSKEY),
    ("UPDATE passkey SET person = 'bo' WHERE person = 'ana'", "passkey \"phone\" of bo"),
];

#[test]
fn an_edited_credential_is_not_believed() {
    run(async {
        for (sql, of) in EDITS {
            let fixture = SqliteFixture::new();
            let store = filled(&fixture).await;
            edit(&fixture, sql);
            // The row of another key is missing besides.
            if sql.contains("SET secret") {
                let rows = store.credentials().await.unwrap();
                assert_eq!((rows.unrecorded, rows.logins.len()), (vec![of.to_owned()], 1));
                assert_eq!(store.compare_rows().await.unwrap().differences, 2);
                continue;
            }
            assert_not_believed(&fixture, store, 9, of).await;
        }
    });
}

#[test]
fn an_inserted_credential_is_not_believed() {
    run(async {
        let inserted = [
            (
                "INSERT INTO person SELECT 'eve', 'administrator', passphrase, 0, NULL, 0, 0 \
                 FROM person WHERE name = 'ana'",
                "person eve",
            ),
            ("INSERT INTO agent VALUES ('eve', NULL, 7, '[]', 0, NULL, NULL)", "agent eve"),
            (
                "INSERT INTO login VALUES (zeroblob(32), 'ana', 'web', 0, 9000000000000, NULL)",
                "session of ana",
            ),
            (
                "INSERT INTO account (channel, account, person, called, linked, active_from) \
                 VALUES ('telegram', '666', 'ana', 'Ana', 0, 0)",
                "linked account of ana on telegram",
            ),
            (
                "INSERT INTO passkey (credential, person, name, public_key, algorithm, uses, \
                 added, active_from) VALUES (x'66', 'ana', 'mine', zeroblob(65), -7, 0, 0, 0)",
                "passkey \"mine\" of ana",
            ),
        ];
        for (sql, of) in inserted {
            let fixture = SqliteFixture::new();
            let store = filled(&fixture).await;
            edit(&fixture, sql);
            assert_not_believed(&fixture, store, 10, of).await;
        }
    });
}

#[test]
fn a_credential_that_has_ended_does_not_come_back() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = filled(&fixture).await;
        let end = Some(Timestamp(START + 1));
        store.save_login(StoredLogin { ended: end, ..login("ana") }, context()).await.unwrap();
        // It stays ended, and so does its record.
        store.save_login(login("ana"), context()).await.unwrap();
        edit(&fixture, "UPDATE login SET ended = NULL WHERE person = 'ana'");
        assert_not_believed(&fixture, store, 9, "session of ana").await;
        // The credentials of a revoked person have ended too.
        for table in ["login", "account", "passkey"] {
            let fixture = SqliteFixture::new();
            let store = filled(&fixture).await;
            let gone = StoredPerson { revoked: end, ..person("ana") };
            store.save_person(gone, context()).await.unwrap();
            assert_eq!(store.compare_rows().await.unwrap().differences, 0);
            edit(&fixture, &format!("UPDATE {table} SET ended = NULL WHERE person = 'ana'"));
            let rows = store.credentials().await.unwrap();
            assert_eq!((count(&rows), rows.unrecorded.len()), (6, 1), "{table}");
        }
        let fixture = SqliteFixture::new();
        let store = filled(&fixture).await;
        let gone = StoredPerson { revoked: end, ..person("ana") };
        store.save_person(gone, context()).await.unwrap();
        edit(&fixture, "UPDATE person SET revoked = NULL WHERE name = 'ana'");
        assert_not_believed(&fixture, store, 6, "person ana").await;
    });
}

#[test]
fn a_deleted_credential_is_listed() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = filled(&fixture).await;
        edit(&fixture, "DELETE FROM passkey WHERE person = 'ana'");
        edit(&fixture, "DELETE FROM person WHERE name = 'bo'");
        let found = store.compare_rows().await.unwrap();
        let names: Vec<_> = found.listed.iter().filter_map(|one| one.credential.clone()).collect();
        assert_eq!(names, ["person bo", "passkey of ana"]);
        assert!(found.listed.iter().all(|one| one.row.is_none()));
    });
}

#[test]
fn the_use_of_a_passkey_is_no_difference() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = filled(&fixture).await;
        let used = Passkey { uses: 9, used: Some(Timestamp(START + 5)), ..passkey("ana") };
        store.save_passkey(used.clone(), context()).await.unwrap();
        let rows = store.credentials().await.unwrap();
        assert!(rows.passkeys.contains(&used) && rows.unrecorded.is_empty());
        assert_eq!(store.compare_rows().await.unwrap().differences, 0);
    });
}

#[test]
fn a_change_does_not_launder_an_edit() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = filled(&fixture).await;
        // The daemon writes the passkey that it believed, after the row was edited.
        edit(&fixture, "UPDATE passkey SET active_from = 0 WHERE person = 'ana'");
        store.save_passkey(passkey("ana"), context()).await.unwrap();
        assert!(store.passkeys().await.unwrap().contains(&passkey("ana")));
        edit(&fixture, "UPDATE person SET role = 'administrator' WHERE name = 'ana'");
        let changed = StoredPerson { passphrase: "$argon2id$new".to_owned(), ..person("ana") };
        store.save_person(changed.clone(), context()).await.unwrap();
        assert_eq!(store.people().await.unwrap(), [changed, person("bo")]);
        assert_eq!(store.compare_rows().await.unwrap().differences, 0);
    });
}

#[test]
fn a_rebase_of_the_clock_records_only_what_was_believed() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = filled(&fixture).await;
        edit(&fixture, "UPDATE passkey SET public_key = zeroblob(65) WHERE person = 'bo'");
        fixture.clock().forward(1_000);
        store.append(vec![Entry::new(0, EntryKind::Start, context().policy)]).await.unwrap();
        let rebase = ClockRebase { to: Timestamp(START - 5_000), person: "ana".to_owned() };
        store.rebase_clock(rebase, context()).await.unwrap();
        let check = async |store: &SqliteStore| {
            let rows = store.credentials().await.unwrap();
            assert_eq!(rows.unrecorded, ["passkey \"phone\" of bo"]);
            assert_eq!((rows.people.len(), rows.passkeys.len(), rows.logins.len()), (2, 1, 0));
            assert_eq!(rows.people[0].added, Timestamp(START - 5_000));
            assert_eq!(store.compare_rows().await.unwrap().differences, 1);
        };
        check(&store).await;
        drop(store);
        check(&fixture.open()).await;
    });
}

/// A store of an earlier version: entries without digests, and rows.
async fn earlier_version(fixture: &SqliteFixture) {
    let source = SqliteFixture::new();
    drop(filled(&source).await);
    let store = fixture.open();
    let mut entries = Vec::new();
    for name in ["ana", "bo"] {
        let mut entry = Entry::new(0, EntryKind::Person, context().policy);
        entry.person = Some(name.into());
        entries.push(entry);
    }
    let mut entry = Entry::new(0, EntryKind::Agent, context().policy);
    entry.agent = Some("agent of ana".into());
    entries.push(entry);
    store.append(entries).await.unwrap();
    drop(store);
    let conn = Connection::open(fixture.file()).unwrap();
    let from = source.file().display().to_string();
    conn.execute("ATTACH ?1 AS source", [from]).unwrap();
    for table in ["person", "agent", "login", "account", "passkey"] {
        let sql = format!("INSERT INTO {table} SELECT * FROM source.{table}");
        assert_eq!(conn.execute(&sql, []).unwrap(), 2, "{table}");
    }
    let eve = "INSERT INTO person VALUES ('eve', 'administrator', '$x', 0, NULL, 0, 0)";
    conn.execute(eve, []).unwrap();
}

#[test]
fn rows_of_an_earlier_version_are_adopted_once() {
    run(async {
        let fixture = SqliteFixture::new();
        earlier_version(&fixture).await;
        let store = fixture.open();
        let before = store.credentials().await.unwrap();
        assert_eq!((count(&before), before.people_in_ledger), (0, true));
        assert_eq!(store.compare_rows().await.unwrap().differences, 0, "not adopted yet");
        // Neither the agent nor the person without an entry.
        assert_eq!(store.adopt_credentials(context()).await.unwrap(), 9);
        assert_eq!(store.adopt_credentials(context()).await.unwrap(), 0);
        let adopted = store.credentials().await.unwrap();
        assert_eq!(adopted.people, [person("ana"), person("bo")]);
        assert_eq!(adopted.unrecorded, ["person eve", "agent agent of bo"]);
        assert_eq!(count(&adopted), 9);
        assert_eq!(store.compare_rows().await.unwrap().differences, 2);
        let entries = kinds(&store).await;
        assert_eq!(entries.last(), Some(&EntryKind::RowsRecorded));
        drop(store);
        // A later edit is noticed, and never adopted.
        edit(&fixture, "UPDATE person SET passphrase = '$mine' WHERE name = 'ana'");
        let store = fixture.open();
        assert_eq!(store.adopt_credentials(context()).await.unwrap(), 0);
        assert_eq!(store.people().await.unwrap(), [person("bo")]);
        assert_eq!(kinds(&store).await, entries);
    });
}

#[test]
fn a_new_store_adopts_nothing() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let eve = "INSERT INTO person VALUES ('eve', 'administrator', '$x', 0, NULL, 0, 0)";
        edit(&fixture, eve);
        assert_eq!(store.adopt_credentials(context()).await.unwrap(), 0);
        let rows = store.credentials().await.unwrap();
        assert_eq!((count(&rows), rows.people_in_ledger), (0, false));
        drop(store);
        let store = filled_after(&fixture).await;
        edit(&fixture, "UPDATE person SET role = 'administrator' WHERE name = 'ana'");
        drop(store);
        assert_eq!(fixture.open().adopt_credentials(context()).await.unwrap(), 0);
    });
}

async fn filled_after(fixture: &SqliteFixture) -> SqliteStore {
    let store = fixture.open();
    store.save_person(person("ana"), context()).await.unwrap();
    store
}

#[test]
fn a_rebase_of_the_clock_does_not_record_what_a_planted_trigger_changed() {
    for planted in [
        "AFTER UPDATE ON agent BEGIN UPDATE person SET role = 'administrator' WHERE name = 'ana'",
        "AFTER UPDATE ON person BEGIN UPDATE person SET passphrase = '$mine' WHERE name = 'ana'",
        "AFTER UPDATE ON login BEGIN UPDATE person SET active_from = 0 WHERE name = 'ana'",
        "AFTER UPDATE ON login BEGIN UPDATE person SET added = 0 WHERE name = 'ana'",
    ] {
        run(async {
            let fixture = SqliteFixture::new();
            let store = filled(&fixture).await;
            let conn = Connection::open(fixture.file()).unwrap();
            conn.execute_batch(&format!("CREATE TRIGGER planted {planted}; END")).unwrap();
            fixture.clock().forward(1_000);
            store.append(vec![Entry::new(0, EntryKind::Start, context().policy)]).await.unwrap();
            let rebase = ClockRebase { to: Timestamp(START - 5_000), person: "ana".to_owned() };
            store.rebase_clock(rebase, context()).await.unwrap();
            let rows = store.credentials().await.unwrap();
            assert_eq!(rows.unrecorded, ["person ana"], "{planted}");
            let names: Vec<&str> = rows.people.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, ["bo"], "{planted}");
            drop(store);
            assert_eq!(fixture.open().people().await.unwrap().len(), 1, "{planted}");
        });
    }
}

#[test]
fn a_row_that_was_away_during_a_revocation_has_ended_too() {
    run(async {
        for table in ["login", "account", "passkey"] {
            let fixture = SqliteFixture::new();
            let store = filled(&fixture).await;
            let conn = Connection::open(fixture.file()).unwrap();
            conn.execute_batch(&format!(
                "ATTACH ':memory:' AS away; \
                 CREATE TABLE away.kept AS SELECT * FROM main.{table} WHERE person = 'ana'; \
                 DELETE FROM main.{table} WHERE person = 'ana'"
            ))
            .unwrap();
            let gone = StoredPerson { revoked: Some(Timestamp(START + 1)), ..person("ana") };
            store.save_person(gone, context()).await.unwrap();
            store.save_person(person("ana"), context()).await.unwrap();
            let sql = format!("INSERT INTO main.{table} SELECT * FROM away.kept");
            assert_eq!(conn.execute(&sql, []).unwrap(), 1, "{table}");
            let check = async |store: &SqliteStore| {
                let rows = store.credentials().await.unwrap();
                assert_eq!((rows.unrecorded.len(), count(&rows)), (1, 7), "{table}");
            };
            check(&store).await;
            drop(store);
            check(&fixture.open()).await;
        }
    });
}

#[test]
fn a_session_that_was_away_during_a_rebase_of_the_clock_has_ended_too() {
    for is_forgotten in [false, true] {
        run(async {
            let fixture = SqliteFixture::new();
            let store = filled(&fixture).await;
            let conn = Connection::open(fixture.file()).unwrap();
            conn.execute_batch(
                "ATTACH ':memory:' AS away; \
                 CREATE TABLE away.kept AS SELECT * FROM main.login; DELETE FROM main.login",
            )
            .unwrap();
            if is_forgotten {
                assert!(store.credentials().await.unwrap().logins.is_empty());
            }
            fixture.clock().forward(1_000);
            store.append(vec![Entry::new(0, EntryKind::Start, context().policy)]).await.unwrap();
            let rebase = ClockRebase { to: Timestamp(START - 5_000), person: "ana".to_owned() };
            store.rebase_clock(rebase, context()).await.unwrap();
            conn.execute("INSERT INTO main.login SELECT * FROM away.kept", []).unwrap();
            let check = async |store: &SqliteStore| {
                let rows = store.credentials().await.unwrap();
                assert_eq!((rows.unrecorded.len(), rows.logins.len()), (2, 0), "{is_forgotten}");
                assert_eq!(store.compare_rows().await.unwrap().differences, 2, "{is_forgotten}");
            };
            check(&store).await;
            drop(store);
            check(&fixture.open()).await;
        });
    }
}
