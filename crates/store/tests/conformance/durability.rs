//! SQLite itself: files, locks, full disks, a writer that breaks, what the schema refuses.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use countersign_core::json::Value;
use countersign_core::request::Choice;
use countersign_store::{OpenError, Options, SqliteStore, Store, StoreError};
use rusqlite::Connection;

use crate::setup::*;

fn open(place: &SqlitePlace, file: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(file, place.clock.clone(), place.options.clone())
}

#[test]
fn the_files_are_ours_alone_and_one_daemon_has_them() {
    run(async {
        let place = SqlitePlace::new();
        let file = place.folder.path().join("deep/er/store.db");
        let store = open(&place, &file).unwrap();
        store.append(vec![pass_entry()]).await.unwrap();
        for entry in std::fs::read_dir(file.parent().unwrap()).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{:?}", entry.path());
        }
        let folder = std::fs::metadata(file.parent().unwrap()).unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
        assert!(matches!(open(&place, &file), Err(OpenError::InUse(_))));
        store.close().await.unwrap();
        drop(open(&place, &file).unwrap());
        let exposed = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(file.parent().unwrap(), exposed).unwrap();
        assert!(matches!(open(&place, &file), Err(OpenError::Exposed(_))));
    });
}

#[test]
fn a_newer_or_foreign_file_is_left_alone() {
    let place = SqlitePlace::new();
    let file = place.file();
    drop(open(&place, &file).unwrap());
    let conn = Connection::open(&file).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    assert_eq!(open(&place, &file).unwrap_err(), OpenError::Newer { found: 99, known: 1 });
    let other = file.with_file_name("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    assert!(matches!(open(&place, &other), Err(OpenError::NotOurs(_))));
    let text = file.with_file_name("text.db");
    std::fs::write(&text, "not a database at all, but long enough to be read").unwrap();
    assert!(matches!(open(&place, &text), Err(OpenError::NotOurs(_))));
}

#[test]
fn the_schema_itself_refuses_a_second_decision_and_a_changed_past() {
    run(async {
        let place = SqlitePlace::new();
        let store = place.open();
        let id = approved(&store, asked(1)).await.request.id;
        store.redeem(id, "coder".to_owned(), call(1), note()).await.unwrap();
        store.close().await.unwrap();
        let conn = Connection::open(place.file()).unwrap();
        for sql in [
            "INSERT INTO decision SELECT * FROM decision",
            "UPDATE decision SET state = 'denied'",
            "UPDATE request SET state = 'denied'",
            "UPDATE request SET state = 'pending'",
            "UPDATE request SET digest = zeroblob(32)",
            "UPDATE request SET redeemed = NULL",
            "INSERT INTO vote SELECT request, place + 1, person, 'deny', '', '', 0 FROM vote",
            "UPDATE segment SET entries = zeroblob(9)",
            "DELETE FROM segment",
        ] {
            assert!(conn.execute(sql, []).is_err(), "{sql}");
        }
    });
}

/// Somebody else's lock makes every commit fail, for a while.
#[test]
fn while_commits_fail_nothing_is_answered_and_then_it_goes_on() {
    run(async {
        let mut place = SqlitePlace::new();
        place.options.busy = Duration::from_millis(20);
        let store = place.open();
        let id = submit(&store, asked(1)).await.request.id;
        store.pass(pass_entry()).await.unwrap();
        store.pass(pass_entry()).await.unwrap();
        let other = Connection::open(place.file()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let yes = store.apply(id, says("ana", Choice::Approve), note()).await;
        assert!(matches!(yes, Err(StoreError::Unavailable(_))), "{yes:?}");
        assert!(!store.healthy().await);
        // A pass would ride if the store were well.
        let pass = store.pass(pass_entry()).await;
        assert!(matches!(pass, Err(StoreError::Unavailable(_))), "{pass:?}");
        other.execute_batch("ROLLBACK").unwrap();
        assert!(store.healthy().await);
        store.apply(id, says("ana", Choice::Deny), note()).await.unwrap();
        store.close().await.unwrap();
        drop(store);
        // Ask, two passes that had been answered, deny.
        assert_eq!(kinds(&place.open()).await.len(), 4);
    });
}

#[test]
fn a_full_disk_denies_and_room_heals() {
    run(async {
        let mut place = SqlitePlace::new();
        place.options.pages = Some(160);
        let store = place.open();
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
        assert!(!store.healthy().await);
        assert_eq!(store.pending().await.unwrap().len(), kept.len());
        assert!(store.pass(pass_entry()).await.is_ok() || !store.healthy().await);
        let other = Connection::open(place.file()).unwrap();
        other.execute_batch("UPDATE request_text SET card = ''").unwrap();
        assert!(store.healthy().await);
        submit(&store, asked(1)).await;
        assert_eq!(store.pending().await.unwrap().len(), kept.len() + 1);
        verified(&store).await;
    });
}

/// The same on a real file system that is too small, where one may be mounted.
#[test]
fn a_small_file_system_denies_and_room_heals() {
    let place = SqlitePlace::new();
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs"])
        .arg(place.folder.path())
        .output();
    if !mount.is_ok_and(|done| done.status.success()) {
        println!("no file system may be mounted here: left out");
        return;
    }
    let unmount = Unmount(place.folder.path().to_owned());
    run(async {
        let filler = place.folder.path().join("filler");
        std::fs::write(&filler, vec![0; 1 << 20]).unwrap();
        let store = place.open();
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
        // What still fits is answered; what does not is refused, and stays as it was.
        let mut answered = 0;
        let mut refused = 0;
        for stored in &waiting {
            let yes = store.apply(stored.request.id, says("ana", Choice::Approve), note()).await;
            match yes {
                Ok(_) => answered += 1,
                Err(StoreError::Unavailable(_)) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        println!("{kept} kept, {answered} answered, {refused} refused");
        assert!(refused > 0 && !store.healthy().await);
        assert_eq!(store.pending().await.unwrap().len(), kept - answered);
        std::fs::remove_file(&filler).unwrap();
        assert!(store.healthy().await);
        let last = waiting.last().unwrap().request.id;
        store.apply(last, says("ana", Choice::Deny), note()).await.unwrap();
        verified(&store).await;
        drop(store);
        assert_eq!(place.open().pending().await.unwrap().len(), kept - answered - 1);
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
fn a_writer_that_breaks_off_answers_everybody_and_goes_on() {
    run(async {
        let place = SqlitePlace::new();
        let store = Arc::new(place.open());
        let id = submit(&*store, asked(1)).await.request.id;
        place.clock.breaks.store(true, Ordering::SeqCst);
        let broken = store.apply(id, says("ana", Choice::Approve), note()).await;
        assert!(matches!(broken, Err(StoreError::Unavailable(_))), "{broken:?}");
        assert!(store.healthy().await);
        store.apply(id, says("ana", Choice::Deny), note()).await.unwrap();
        assert_eq!(kinds(&*store).await.len(), 2);
    });
}

#[test]
fn a_full_queue_is_refused_and_strict_passes_wait() {
    run(async {
        let mut place = SqlitePlace::new();
        place.options = Options { queue: 2, busy: Duration::from_millis(300), ..place.options };
        let store = Arc::new(place.open());
        let other = Connection::open(place.file()).unwrap();
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
        place.options = Options { strict: true, ..Options::default() };
        let store = place.open();
        for count in 1..=5 {
            store.pass(pass_entry()).await.unwrap();
            assert_eq!(store.tree_head().await.unwrap().size, count);
        }
        drop(store);
        assert_eq!(kinds(&place.open()).await.len(), 5);
    });
}

/// The log is folded beside the commits; and under load that never pauses it stays bounded.
#[test]
fn the_log_is_folded_and_stays_bounded() {
    run(async {
        let place = SqlitePlace::new();
        let store = place.open();
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
        while std::fs::metadata(place.file()).unwrap().len() < 8 << 20 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let log = place.file().with_extension("db-wal");
        for _ in 0..40 {
            write().await;
            let length = std::fs::metadata(&log).unwrap().len();
            assert!(length < 128 << 20, "{length} bytes");
        }
        verified(&store).await;
    });
}
