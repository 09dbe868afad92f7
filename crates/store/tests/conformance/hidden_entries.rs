//! Index rows deleted and entries changed with another SQLite client: what an entry took away does
//! not come back because nothing points to the entry any more.

use countersign_store::{ClockRebase, Redemption, Store, StoreError};
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::{Grant, GrantShape};
use countersign_workflow::request::Choice;
use rusqlite::{Connection, params};

use crate::session_answers::{asks, for_session};
use crate::setup::*;

pub fn grant(uses_left: Option<u32>) -> Grant {
    Grant {
        id: fresh_id(),
        shape: GrantShape::Action { tool: "send".to_owned() },
        agent: Some("coder".to_owned()),
        session: None,
        made_by: "ana".to_owned(),
        made_at: Timestamp(START),
        expires: None,
        uses_left,
        revoked: None,
        details: countersign_workflow::grant::GrantDetails::default(),
    }
}

/// Deletes the index rows of all entries about `id` from the second one on, and edits its row.
fn hide(fixture: &SqliteFixture, id: Id, kept: u32, edit: &str) {
    let conn = Connection::open(fixture.file()).unwrap();
    let sql = "DELETE FROM story WHERE request = ?1 AND seq NOT IN \
               (SELECT seq FROM story WHERE request = ?1 ORDER BY seq LIMIT ?2)";
    assert!(conn.execute(sql, params![id.as_bytes(), kept]).unwrap() > 0);
    conn.execute_batch("DROP TRIGGER IF EXISTS request_redeemed_once").unwrap();
    assert_eq!(conn.execute(edit, [id.as_bytes()]).unwrap(), 1);
}

async fn assert_covers_nothing(store: &impl Store, id: Id, when: &str) {
    let used = store.submit(granted(id)).await;
    assert_eq!(used.unwrap_err(), StoreError::GrantInactive, "{when}");
    assert_eq!(store.grants(false).await.unwrap(), [], "{when}");
}

const RESTORED: &str = "UPDATE given SET revoked = NULL WHERE id = ?1";

#[test]
fn a_revocation_is_not_hidden_by_the_index() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let (given, kept) = (grant(None), grant(None));
        for grant in [&given, &kept] {
            store.create_grant(grant.clone(), context()).await.unwrap();
        }
        store.revoke_grant(given.id, "ana".to_owned(), context()).await.unwrap();
        hide(&fixture, given.id, 1, RESTORED);
        let used = store.submit(granted(given.id)).await;
        assert_eq!(used.unwrap_err(), StoreError::GrantInactive);
        assert_eq!(store.grants(false).await.unwrap(), std::slice::from_ref(&kept));
        drop(store);
        let store = fixture.open();
        let used = store.submit(granted(given.id)).await;
        assert_eq!(used.unwrap_err(), StoreError::GrantInactive, "after a restart");
        assert_eq!(store.grants(false).await.unwrap(), std::slice::from_ref(&kept));
        assert!(store.has_intact_ledger().await.unwrap());
        submit(&store, granted(kept.id)).await;
        let found = store.compare_rows().await.unwrap();
        assert_eq!((found.differences, found.listed[0].request), (1, Some(given.id)));
    });
}

#[test]
fn a_use_is_not_hidden_by_the_index() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let given = grant(Some(1));
        store.create_grant(given.clone(), context()).await.unwrap();
        submit(&store, granted(given.id)).await;
        hide(&fixture, given.id, 1, "UPDATE given SET uses_left = 1 WHERE id = ?1");
        assert_covers_nothing(&store, given.id, "live").await;
        drop(store);
        assert_covers_nothing(&fixture.open(), given.id, "after a restart").await;
    });
}

#[test]
fn the_revocation_of_an_answer_is_not_hidden_by_the_index() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let id = submit(&store, asks(1, &[1])).await.request.id;
        store.apply(id, for_session("ana"), context()).await.unwrap();
        let entries = u32::try_from(store.request_history(id).await.unwrap().len()).unwrap();
        store.revoke_grant(id, "ana".to_owned(), context()).await.unwrap();
        hide(&fixture, id, entries, RESTORED);
        assert_covers_nothing(&store, id, "live").await;
        let found = store.compare_rows().await.unwrap();
        assert_eq!((found.differences, found.listed[0].request), (1, Some(id)));
        drop(store);
        assert_covers_nothing(&fixture.open(), id, "after a restart").await;
    });
}

#[test]
fn a_used_permit_is_not_hidden_by_the_index() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let id = submit(&store, asked(1)).await.request.id;
        store.apply(id, says("ana", Choice::Approve), context()).await.unwrap();
        let entries = u32::try_from(store.request_history(id).await.unwrap().len()).unwrap();
        let used = store.redeem(id, "coder".to_owned(), call(1), context()).await.unwrap();
        assert_eq!(used, Redemption::Accepted);
        hide(&fixture, id, entries, "UPDATE request SET redeemed = NULL WHERE id = ?1");
        let used = store.redeem(id, "coder".to_owned(), call(1), context()).await.unwrap();
        assert!(matches!(used, Redemption::AlreadyUsed(_)), "{used:?}");
        drop(store);
        let store = fixture.open();
        let used = store.redeem(id, "coder".to_owned(), call(1), context()).await.unwrap();
        assert!(matches!(used, Redemption::AlreadyUsed(_)), "{used:?} after a restart");
    });
}

#[test]
fn a_permit_ends_whatever_its_row_says() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let id = submit(&store, asked(1)).await.request.id;
        store.apply(id, says("ana", Choice::Approve), context()).await.unwrap();
        let conn = Connection::open(fixture.file()).unwrap();
        let sql = "UPDATE request SET permit_until = 9000000000000 WHERE id = ?1";
        assert_eq!(conn.execute(sql, [id.as_bytes()]).unwrap(), 1);
        fixture.clock().forward(8 * 24 * 3_600_000);
        let used = store.redeem(id, "coder".to_owned(), call(1), context()).await.unwrap();
        assert_eq!(used, Redemption::Expired);
    });
}

#[test]
fn a_changed_entry_ends_every_grant() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let given = grant(None);
        store.create_grant(given.clone(), context()).await.unwrap();
        let before = store.tree_head().await.unwrap().size;
        store.revoke_grant(given.id, "ana".to_owned(), context()).await.unwrap();
        let entry = store.entries(before, 1).await.unwrap().entries.remove(0);
        drop(store);
        // The revocation becomes one of another grant. With its leaf hash it would change the root,
        // which the daemon compares with its signed mark.
        let text = String::from_utf8(entry).unwrap();
        let text = text.replace(&given.id.to_string(), &fresh_id().to_string());
        let mut bytes = u32::try_from(text.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        let conn = Connection::open(fixture.file()).unwrap();
        conn.execute_batch("DROP TRIGGER segment_stays").unwrap();
        let sql = "UPDATE segment SET entries = ?2 WHERE first = ?1 AND count = 1";
        let first = i64::try_from(before).unwrap();
        assert_eq!(conn.execute(sql, params![first, bytes]).unwrap(), 1);
        conn.execute(RESTORED, [given.id.as_bytes()]).unwrap();
        drop(conn);
        let store = fixture.open();
        assert!(!store.has_intact_ledger().await.unwrap());
        assert_covers_nothing(&store, given.id, "after the change").await;
    });
}

#[test]
fn a_permit_from_before_a_rebase_is_not_revived_by_its_row() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let id = submit(&store, asked(1)).await.request.id;
        store.apply(id, says("ana", Choice::Approve), context()).await.unwrap();
        fixture.clock().forward(86_400_000);
        store.append(vec![pass_entry()]).await.unwrap();
        fixture.clock().forward(-86_400_000);
        let to = ClockRebase { to: fixture.clock().at(), person: "ana".to_owned() };
        store.rebase_clock(to, context()).await.unwrap();
        let conn = Connection::open(fixture.file()).unwrap();
        let sql = "UPDATE request SET permit_until = 9000000000000 WHERE id = ?1";
        assert_eq!(conn.execute(sql, [id.as_bytes()]).unwrap(), 1);
        let used = store.redeem(id, "coder".to_owned(), call(1), context()).await.unwrap();
        assert_eq!(used, Redemption::Expired);
    });
}
