//! SQLite: files, locks, full disks, a panic of the writer, constraints of the schema.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use countersign_json::Value;
use countersign_store::{
    AttemptResult, DeliveryAttempt, OpenError, SqliteOptions, SqliteStore, Store, StoreError,
};
use countersign_workflow::request::{Choice, Requester};
use rusqlite::Connection;

use crate::setup::*;

fn open(fixture: &SqliteFixture, file: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(file, fixture.clock.clone(), fixture.options.clone())
}

#[test]
fn the_files_are_private_and_locked() {
    run(async {
        let fixture = SqliteFixture::new();
        let file = fixture.folder.path().join("deep/er/store.db");
        let store = open(&fixture, &file).unwrap();
        store.append(vec![pass_entry()]).await.unwrap();
        for entry in std::fs::read_dir(file.parent().unwrap()).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{:?}", entry.path());
        }
        let folder = std::fs::metadata(file.parent().unwrap()).unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
        assert!(matches!(open(&fixture, &file), Err(OpenError::InUse(_))));
        store.close().await.unwrap();
        drop(open(&fixture, &file).unwrap());
        let exposed = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(file.parent().unwrap(), exposed).unwrap();
        assert!(matches!(open(&fixture, &file), Err(OpenError::Exposed(_))));
    });
}

#[test]
fn a_newer_or_foreign_file_is_rejected() {
    let fixture = SqliteFixture::new();
    let file = fixture.file();
    drop(open(&fixture, &file).unwrap());
    let conn = Connection::open(&file).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    assert!(matches!(open(&fixture, &file), Err(OpenError::Newer { found: 99, .. })));
    let other = file.with_file_name("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    assert!(matches!(open(&fixture, &other), Err(OpenError::NotOurs(_))));
    let text = file.with_file_name("text.db");
    std::fs::write(&text, "not a database at all, but long enough to be read").unwrap();
    assert!(matches!(open(&fixture, &text), Err(OpenError::NotOurs(_))));
}

#[test]
fn the_schema_rejects_a_second_decision_and_changed_history() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let id = approved(&store, asked(1)).await.request.id;
        store.redeem(id, "coder".to_owned(), call(1), context()).await.unwrap();
        store.close().await.unwrap();
        let conn = Connection::open(fixture.file()).unwrap();
        for sql in [
            "UPDATE request SET decider = 'deadline'",
            "UPDATE request SET state = 'denied', decided = decided + 1",
            "UPDATE request SET state = 'denied'",
            "UPDATE request SET state = 'pending'",
            "UPDATE request SET digest = zeroblob(32)",
            "UPDATE request SET drill = 'force-push'",
            "UPDATE request SET own_approval = 1",
            "UPDATE request SET redeemed = NULL",
            "INSERT INTO vote SELECT request, person, place + 1, 'deny', '', '', 0 FROM vote",
            "UPDATE segment SET entries = zeroblob(9)",
            "DELETE FROM segment",
        ] {
            assert!(conn.execute(sql, []).is_err(), "{sql}");
        }
    });
}

#[test]
fn who_may_answer_their_own_request_is_kept() {
    run(async {
        for own_approval in [false, true] {
            let fixture = SqliteFixture::new();
            let store = fixture.open();
            let mut new = asked(1);
            new.request.requester = Requester::Person("ana".to_owned());
            new.request.own_approval = own_approval;
            let id = submit(&store, new).await.request.id;
            drop(store);
            let answered = fixture.open().apply(id, says("ana", Choice::Approve), context()).await;
            assert_eq!(answered.is_ok(), own_approval, "{answered:?}");
        }
    });
}

/// Another process's lock makes every commit fail for a while.
#[test]
fn writes_fail_while_commits_fail_and_then_recover() {
    run(async {
        let mut fixture = SqliteFixture::new();
        fixture.options.busy_timeout = Duration::from_millis(20);
        let store = fixture.open();
        let id = submit(&store, asked(1)).await.request.id;
        store.record_pass(pass_entry()).await.unwrap();
        store.record_pass(pass_entry()).await.unwrap();
        let other = Connection::open(fixture.file()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let yes = store.apply(id, says("ana", Choice::Approve), context()).await;
        assert!(matches!(yes, Err(StoreError::Unavailable(_))), "{yes:?}");
        assert!(!store.is_healthy().await);
        // A healthy store would return before the commit.
        let pass = store.record_pass(pass_entry()).await;
        assert!(matches!(pass, Err(StoreError::Unavailable(_))), "{pass:?}");
        other.execute_batch("ROLLBACK").unwrap();
        assert!(store.is_healthy().await);
        store.apply(id, says("ana", Choice::Deny), context()).await.unwrap();
        store.close().await.unwrap();
        drop(store);
        // Ask, two passes that had returned, deny.
        assert_eq!(kinds(&fixture.open()).await.len(), 4);
    });
}

#[test]
fn a_full_disk_rejects_writes_until_space_is_free() {
    run(async {
        let mut fixture = SqliteFixture::new();
        fixture.options.max_pages = Some(160);
        let store = fixture.open();
        let mut kept = Vec::new();
        let refused = loop {
            let mut new = asked(1);
            new.card = "x".repeat(20_000);
            match store.submit(new).await {
                Ok(_) => kept.push(()),
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
        assert!(!store.is_healthy().await);
        assert_eq!(store.pending().await.unwrap().len(), kept.len());
        assert!(store.record_pass(pass_entry()).await.is_ok() || !store.is_healthy().await);
        let other = Connection::open(fixture.file()).unwrap();
        other.execute_batch("UPDATE request_text SET card = ''").unwrap();
        assert!(store.is_healthy().await);
        submit(&store, asked(1)).await;
        assert_eq!(store.pending().await.unwrap().len(), kept.len() + 1);
        verified(&store).await;
    });
}

/// The same on a real file system that is too small, where mounting is allowed.
#[test]
fn a_full_file_system_rejects_writes_until_space_is_free() {
    let fixture = SqliteFixture::new();
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs"])
        .arg(fixture.folder.path())
        .output();
    if !mount.is_ok_and(|done| done.status.success()) {
        return proof_skip::skip(proof_skip::Cause::Machine, "no file system can be mounted");
    }
    let unmount = Unmount(fixture.folder.path().to_owned());
    run(async {
        let filler = fixture.folder.path().join("filler");
        std::fs::write(&filler, vec![0; 1 << 20]).unwrap();
        let store = fixture.open();
        let mut kept = 0;
        let refused = loop {
            let mut new = asked(1);
            new.card = "x".repeat(20_000);
            match store.submit(new).await {
                Ok(_) => kept += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
        let waiting = store.pending().await.unwrap();
        assert_eq!(waiting.len(), kept);
        // Decisions that fit are stored; the others are rejected and change nothing.
        let mut answered = 0;
        let mut refused = 0;
        for stored in &waiting {
            let yes = store.apply(stored.request.id, says("ana", Choice::Approve), context()).await;
            match yes {
                Ok(_) => answered += 1,
                Err(StoreError::Unavailable(_)) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        println!("{kept} kept, {answered} answered, {refused} refused");
        assert!(refused > 0 && !store.is_healthy().await);
        assert_eq!(store.pending().await.unwrap().len(), kept - answered);
        std::fs::remove_file(&filler).unwrap();
        assert!(store.is_healthy().await);
        let last = waiting.last().unwrap().request.id;
        store.apply(last, says("ana", Choice::Deny), context()).await.unwrap();
        verified(&store).await;
        drop(store);
        assert_eq!(fixture.open().pending().await.unwrap().len(), kept - answered - 1);
    });
    drop(unmount);
}

struct Unmount(std::path::PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn a_panic_of_the_writer_fails_its_callers_only() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = Arc::new(fixture.open());
        let id = submit(&*store, asked(1)).await.request.id;
        fixture.clock.breaks.store(true, Ordering::SeqCst);
        let broken = store.apply(id, says("ana", Choice::Approve), context()).await;
        assert!(matches!(broken, Err(StoreError::Unavailable(_))), "{broken:?}");
        assert!(store.is_healthy().await);
        store.apply(id, says("ana", Choice::Deny), context()).await.unwrap();
        assert_eq!(kinds(&*store).await.len(), 2);
    });
}

#[test]
fn a_full_queue_rejects_and_sync_passes_wait() {
    run(async {
        let mut fixture = SqliteFixture::new();
        fixture.options = SqliteOptions {
            queue_limit: 2,
            busy_timeout: Duration::from_millis(300),
            ..fixture.options
        };
        let store = Arc::new(fixture.open());
        let other = Connection::open(fixture.file()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move { store.submit(asked(1)).await })
            })
            .collect();
        let mut overloaded = 0;
        for task in tasks {
            match task.await.unwrap() {
                Err(StoreError::Overloaded) => overloaded += 1,
                Err(StoreError::Unavailable(_)) => {}
                other => panic!("{other:?}"),
            }
        }
        assert!(overloaded > 0);
        drop(other);
        drop(store);
        fixture.options = SqliteOptions { sync_passes: true, ..SqliteOptions::default() };
        let store = fixture.open();
        for count in 1..=5 {
            store.record_pass(pass_entry()).await.unwrap();
            assert_eq!(store.tree_head().await.unwrap().size, count);
        }
        drop(store);
        assert_eq!(kinds(&fixture.open()).await.len(), 5);
    });
}

/// The log is checkpointed during the commits, and stays bounded under constant load.
#[test]
fn the_log_is_checkpointed_and_stays_bounded() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let write = async || {
            let entries = (0..100).map(|_| {
                let mut entry = pass_entry();
                entry.facts = vec![("x".into(), Value::String("y".repeat(60_000).into()))];
                entry
            });
            store.append(entries.collect()).await.unwrap();
        };
        write().await;
        write().await;
        // Commits alone would leave these 12 MB in the log.
        while std::fs::metadata(fixture.file()).unwrap().len() < 8 << 20 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let log = fixture.file().with_extension("db-wal");
        for _ in 0..40 {
            write().await;
            let length = std::fs::metadata(&log).unwrap().len();
            assert!(length < 128 << 20, "{length} bytes");
        }
        verified(&store).await;
    });
}

/// Every file of the store that contains a text.
fn files_with(fixture: &SqliteFixture, words: &str) -> Vec<std::path::PathBuf> {
    let folder = std::fs::read_dir(fixture.file().parent().unwrap()).unwrap();
    let holds = |file: &std::path::PathBuf| {
        let bytes = std::fs::read(file).unwrap();
        bytes.windows(words.len()).any(|part| part == words.as_bytes())
    };
    folder.map(|entry| entry.unwrap().path()).filter(holds).collect()
}

/// A person's words in a crisis leave the disk when the request ends, not only the row.
#[test]
fn replaced_text_leaves_no_trace_in_the_files() {
    run(async {
        const WORDS: &str = "these-words-are-nobodys-business";
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let mut ids = Vec::new();
        // Long enough for pages of their own, and short enough to share one.
        for length in (0..60).map(|number| if number % 3 == 0 { 9_000 } else { 40 }) {
            let mut new = asked(1);
            new.card = format!(r#"{{"x":"{}{WORDS}"}}"#, "y".repeat(length));
            new.brief = WORDS.to_owned();
            new.card_after = Some(r#"{"brief":"A call in a crisis."}"#.to_owned());
            ids.push(submit(&store, new).await.request.id);
            submit(&store, asked(1)).await;
        }
        assert!(!files_with(&fixture, WORDS).is_empty());
        let (last, first) = ids.split_last().unwrap();
        for id in first {
            store.apply(*id, says("ana", Choice::Deny), context()).await.unwrap();
        }
        assert!(!files_with(&fixture, WORDS).is_empty(), "one still waits for its answer");
        store.apply(*last, says("ana", Choice::Deny), context()).await.unwrap();
        // The time limit of `run` ends this if they stay.
        while !files_with(&fixture, WORDS).is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        verified(&store).await;
    });
}

/// The same when the daemon crashes before the log is truncated.
#[test]
fn replaced_text_is_gone_after_a_crash_and_a_start() {
    run(async {
        const WORDS: &str = "these-words-are-nobodys-business";
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let mut new = asked(1);
        new.card = format!(r#"{{"x":"{WORDS}"}}"#);
        new.card_after = Some(r#"{"brief":"A call in a crisis."}"#.to_owned());
        let id = submit(&store, new).await.request.id;
        store.apply(id, says("ana", Choice::Deny), context()).await.unwrap();
        // A copy of the files as a crash leaves them.
        let after = SqliteFixture::new();
        std::fs::create_dir(after.file().parent().unwrap()).unwrap();
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(after.file().parent().unwrap(), private).unwrap();
        for entry in std::fs::read_dir(fixture.file().parent().unwrap()).unwrap() {
            let entry = entry.unwrap();
            let to = after.file().parent().unwrap().join(entry.file_name());
            std::fs::copy(entry.path(), to).unwrap();
        }
        assert!(!files_with(&after, WORDS).is_empty());
        let store = after.open();
        assert_eq!(store.request(id).await.unwrap().unwrap().brief, "A call in a crisis.");
        assert_eq!(files_with(&after, WORDS), Vec::<std::path::PathBuf>::new());
    });
}

/// A job that fails after its first row rolls back its whole commit, and only that.
#[test]
fn a_job_that_fails_halfway_changes_nothing() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let id = submit(&store, asked(1)).await.request.id;
        let other = Connection::open(fixture.file()).unwrap();
        let refuse = "CREATE TRIGGER broken BEFORE INSERT ON outbox \
                      BEGIN SELECT RAISE(ABORT, 'as the test wants'); END";
        other.execute_batch(refuse).unwrap();
        let yes = store.apply(id, says("ana", Choice::Approve), context()).await;
        assert!(matches!(yes, Err(StoreError::Unavailable(_))), "{yes:?}");
        let new = store.submit(asked(1)).await;
        assert!(matches!(new, Err(StoreError::Unavailable(_))), "{new:?}");
        let waiting = store.pending().await.unwrap();
        assert!(waiting.len() == 1 && waiting[0].request.votes.is_empty(), "{waiting:?}");
        other.execute_batch("DROP TRIGGER broken").unwrap();
        assert!(store.is_healthy().await);
        store.apply(id, says("ana", Choice::Deny), context()).await.unwrap();
        assert_eq!(kinds(&store).await.len(), 2);
    });
}

/// Delivery attempts share commits, and a single one does not wait for another.
#[test]
fn attempts_share_commits() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = Arc::new(fixture.open());
        for _ in 0..40 {
            submit(&*store, asked(1)).await;
        }
        let before = store.commits();
        let outbox = store.outbox(0, 99).await.unwrap();
        assert_eq!(store.outbox(outbox[29].seq, 99).await.unwrap(), outbox[30..]);
        let tasks: Vec<_> = outbox
            .into_iter()
            .map(|outgoing| {
                let store = store.clone();
                let result = AttemptResult::Delivered("m".to_owned());
                let channel = "web".to_owned();
                let attempt = DeliveryAttempt { seq: outgoing.seq, channel, result, done: true };
                tokio::spawn(async move { store.record_attempt(attempt, context()).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert!(store.commits() - before <= 10, "{} commits", store.commits() - before);
        assert!(store.outbox(0, 99).await.unwrap().is_empty());
        assert_eq!(kinds(&*store).await.len(), 80);
    });
}

/// Everything in a store of the first schema is there after the migration.
#[test]
fn a_store_of_the_first_schema_is_migrated() {
    run(async {
        let fixture = SqliteFixture::new();
        // Created with the newest schema, then downgraded by hand.
        let store = fixture.open();
        let ended = approved(&store, asked(1)).await;
        let open = submit(&store, asked(2)).await.request.id;
        store.apply(open, says("ana", Choice::Approve), context()).await.unwrap();
        let asked = store.outbox(0, 9).await.unwrap();
        let attempt = DeliveryAttempt {
            seq: asked[0].seq,
            channel: "web".to_owned(),
            result: AttemptResult::Delivered("m-1".to_owned()),
            done: true,
        };
        store.record_attempt(attempt, context()).await.unwrap();
        let told = async |store: &SqliteStore| {
            let requests =
                store.find(countersign_store::RequestQuery::default()).await.unwrap().requests;
            let went = store.deliveries(ended.request.id).await.unwrap();
            (
                requests,
                went,
                store.outbox(0, 9).await.unwrap(),
                store.request_history(open).await.unwrap(),
            )
        };
        let before = told(&store).await;
        store.close().await.unwrap();
        drop(store);
        downgrade_to_the_first_schema(&fixture);
        let store = fixture.open();
        assert_eq!(told(&store).await, before);
        store.apply(open, says("bo", Choice::Approve), context()).await.unwrap();
        assert_eq!(store.outbox(0, 9).await.unwrap().len(), before.2.len() + 1);
        verified(&store).await;
    });
}

fn downgrade_to_the_first_schema(fixture: &SqliteFixture) {
    let first = fixture.file().with_file_name("first.db");
    let conn = Connection::open(&first).unwrap();
    conn.execute_batch(include_str!("../../migrations/sqlite/0001_first.sql")).unwrap();
    conn.execute("ATTACH ?1 AS newest", [fixture.file().to_str().unwrap()]).unwrap();
    let columns = "id, requester_kind, requester, digest, raw, both_bind, tier, crisis, \
                   quorum_approve, quorum_deny, created, \
                   deadline, escalation_interval, state, level, \
                   session, \
                   batch, idempotency, policy, permit_for, permit_until, redeemed, edited, outcome";
    conn.execute_batch(&format!(
        "INSERT INTO request SELECT {columns} FROM newest.request;
         INSERT INTO request_text SELECT request, tool, brief, card, detail, card_after
             FROM newest.request_text;
         INSERT INTO decision SELECT id, state, decider, people, given, channel, reason, decided,
             decided_digest, decided_raw, decided_both_bind FROM newest.request
             WHERE decider IS NOT NULL;
         INSERT INTO vote SELECT request, place, person, choice, channel, reason, at
             FROM newest.vote;
         INSERT INTO outbox SELECT *, 0 FROM newest.outbox;
         INSERT INTO outbox SELECT outbox, request, 'asked', NULL, NULL, at, 1
             FROM newest.delivery;
         INSERT INTO delivery SELECT outbox, channel, attempts, result, detail, again, at
             FROM newest.delivery;
         INSERT INTO segment SELECT * FROM newest.segment;
         INSERT INTO story SELECT * FROM newest.story;
         PRAGMA application_id = 0x4353474E; PRAGMA user_version = 1;"
    ))
    .unwrap();
    drop(conn);
    std::fs::rename(&first, fixture.file()).unwrap();
}
