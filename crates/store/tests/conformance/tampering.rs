//! Rows edited with another SQLite client: nothing is approved or redeemed because a row says so.

use countersign_store::{OfflineLedger, Redemption, RequestQuery, Store, StoreError};
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::{Grant, GrantShape};
use countersign_workflow::request::{Choice, State};
use rusqlite::{Connection, params};

use crate::setup::*;

const AGENT: &str = "coder";

/// Marks a pending request as approved, as the daemon would.
fn forge(fixture: &SqliteFixture, id: Id) -> Connection {
    let conn = Connection::open(fixture.file()).unwrap();
    let sql = "UPDATE request SET state = 'approved', decider = 'people', people = '[\"ana\"]', \
               channel = 'web', reason = '', decided = created, decided_digest = digest, \
               decided_raw = raw, decided_both_bind = both_bind, permit_until = deadline, \
               votes = 1 WHERE id = ?1";
    assert_eq!(conn.execute(sql, [id.as_bytes()]).unwrap(), 1);
    let vote = "INSERT INTO vote VALUES (?1, 'ana', 0, 'approve', 'web', '', ?2, 'once')";
    conn.execute(vote, params![id.as_bytes(), START]).unwrap();
    conn
}

async fn assert_not_believed(store: &impl Store, id: Id) {
    let unrecorded = StoreError::Unrecorded(id);
    assert_eq!(store.request(id).await.unwrap_err(), unrecorded);
    assert_eq!(store.wait_for_end(id).await.unwrap_err(), unrecorded);
    let query = RequestQuery { agent: Some(AGENT.to_owned()), ..RequestQuery::default() };
    assert_eq!(store.find(query).await.unwrap_err(), unrecorded);
    let used = store.redeem(id, AGENT.to_owned(), call(1), context()).await;
    assert_eq!(used.unwrap_err(), unrecorded);
}

#[test]
fn an_approval_without_a_ledger_entry_is_not_believed() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let honest = submit(&store, asked(1)).await.request.id;
        store.apply(honest, says("ana", Choice::Approve), context()).await.unwrap();
        let id = submit(&store, asked(1)).await.request.id;
        assert_eq!(store.compare_rows().await.unwrap().differences, 0);
        forge(&fixture, id);
        assert_not_believed(&store, id).await;
        // Other requests are not affected.
        assert_eq!(store.request(honest).await.unwrap().unwrap().request.state, State::Approved);
        let used = store.redeem(honest, AGENT.to_owned(), call(1), context()).await.unwrap();
        assert_eq!(used, Redemption::Accepted);
        let found = store.compare_rows().await.unwrap();
        assert_eq!((found.requests, found.differences), (2, 1));
        let one = &found.listed[0];
        assert_eq!((one.request, one.row.as_deref()), (Some(id), Some("approved")));
        assert_eq!(one.ledger.as_deref(), Some("pending"));
        drop(store);
        assert_eq!(OfflineLedger::open(&fixture.file()).unwrap().compare_rows().unwrap(), found);
        // A restart does not change that.
        assert_not_believed(&fixture.open(), id).await;
    });
}

#[test]
fn a_forged_ledger_entry_is_not_believed_either() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let honest = submit(&store, asked(1)).await.request.id;
        store.apply(honest, says("ana", Choice::Approve), context()).await.unwrap();
        let history = store.request_history(honest).await.unwrap();
        let approval = String::from_utf8(history.last().unwrap().entry.clone()).unwrap();
        let id = submit(&store, asked(1)).await.request.id;
        let conn = forge(&fixture, id);
        // The entry of another approval, with another request in it, behind the last one.
        let text = approval.replace(&honest.to_string(), &id.to_string());
        let mut bytes = u32::try_from(text.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        let leaf = countersign_ledger::merkle::leaf_hash(text.as_bytes());
        let head = store.tree_head().await.unwrap();
        let next = i64::try_from(head.size).unwrap();
        let sql = "INSERT INTO segment VALUES (?1, 1, ?2, ?3, ?4)";
        conn.execute(sql, params![next, START, leaf.as_bytes(), bytes]).unwrap();
        let story = "INSERT INTO story VALUES (?1, ?2)";
        conn.execute(story, params![id.as_bytes(), next]).unwrap();
        let unrecorded = StoreError::Unrecorded(id);
        assert_eq!(store.request(id).await.unwrap_err(), unrecorded);
        // In the place of an entry that is there.
        conn.execute_batch("DROP TRIGGER segment_stays; DROP TRIGGER segment_is_kept").unwrap();
        conn.execute("DELETE FROM segment WHERE first = ?1", [next]).unwrap();
        let sql = "UPDATE segment SET leaves = ?1, entries = ?2 WHERE first = 0 AND count = 1";
        assert_eq!(conn.execute(sql, params![leaf.as_bytes(), bytes]).unwrap(), 1);
        conn.execute(story, params![id.as_bytes(), 0]).unwrap();
        assert_eq!(store.request(id).await.unwrap_err(), unrecorded);
        let used = store.redeem(id, AGENT.to_owned(), call(1), context()).await;
        assert_eq!(used.unwrap_err(), unrecorded);
    });
}

#[test]
fn a_permit_is_not_used_again_because_a_row_says_so() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let id = submit(&store, asked(1)).await.request.id;
        store.apply(id, says("ana", Choice::Approve), context()).await.unwrap();
        let redeem = || store.redeem(id, AGENT.to_owned(), call(1), context());
        assert_eq!(redeem().await.unwrap(), Redemption::Accepted);
        let conn = Connection::open(fixture.file()).unwrap();
        conn.execute_batch("DROP TRIGGER request_redeemed_once").unwrap();
        conn.execute("UPDATE request SET redeemed = NULL WHERE id = ?1", [id.as_bytes()]).unwrap();
        assert!(matches!(redeem().await.unwrap(), Redemption::AlreadyUsed(_)));
        assert_eq!(store.compare_rows().await.unwrap().differences, 1);
        // Neither is it an answer that an agent may still use, also after a restart.
        assert_eq!(store.unused_approvals(Timestamp(START)).await.unwrap(), [id], "the row alone");
        assert!(store.request(id).await.unwrap().unwrap().redeemed.is_some());
        drop(store);
        assert!(fixture.open().request(id).await.unwrap().unwrap().redeemed.is_some());
    });
}

fn grant(uses_left: Option<u32>) -> Grant {
    Grant {
        id: fresh_id(),
        shape: GrantShape::Targets { tool: "send".to_owned(), targets: vec!["a@x".to_owned()] },
        agent: Some(AGENT.to_owned()),
        session: None,
        made_by: "ana".to_owned(),
        made_at: Timestamp(START),
        expires: Some(Timestamp(START + 60_000)),
        uses_left,
        revoked: None,
        details: countersign_workflow::grant::GrantDetails::default(),
    }
}

/// Grants whose rows are edited: what is done first, and the edit.
const EDITS: [(&str, &str); 11] = [
    ("shape", "UPDATE given SET shape = 'action', targets = NULL WHERE id = ?1"),
    ("tool", "UPDATE given SET tool = 'terminal' WHERE id = ?1"),
    ("targets", "UPDATE given SET targets = '[\"a@x\",\"eve@x\"]' WHERE id = ?1"),
    ("agent", "UPDATE given SET agent = NULL WHERE id = ?1"),
    ("session", "UPDATE given SET session = 's-1' WHERE id = ?1"),
    ("maker", "UPDATE given SET made_by = 'bo' WHERE id = ?1"),
    ("expired", "UPDATE given SET expires = 9000000000000 WHERE id = ?1"),
    ("unlimited", "UPDATE given SET uses_left = NULL WHERE id = ?1"),
    ("more uses", "UPDATE given SET uses_left = 3 WHERE id = ?1"),
    ("revoked", "UPDATE given SET revoked = NULL WHERE id = ?1"),
    (
        "answer",
        "UPDATE given SET shape = 'same_question', agent = NULL, tool = NULL, targets = NULL \
         WHERE id = ?1",
    ),
];

#[test]
fn an_edited_grant_is_not_believed() {
    run(async {
        for (name, sql) in EDITS {
            let fixture = SqliteFixture::new();
            let store = fixture.open();
            let uses = matches!(name, "unlimited" | "more uses").then_some(3);
            let grant = grant(uses);
            let id = grant.id;
            store.create_grant(grant, context()).await.unwrap();
            submit(&store, granted(id)).await;
            assert_eq!(store.grants(false).await.unwrap().len(), 1, "{name}");
            assert_eq!(store.compare_rows().await.unwrap().differences, 0, "{name}");
            if name == "revoked" {
                store.revoke_grant(id, "ana".to_owned(), context()).await.unwrap();
            }
            if name == "expired" {
                fixture.clock().forward(60_000);
            }
            let conn = Connection::open(fixture.file()).unwrap();
            conn.execute_batch("PRAGMA ignore_check_constraints = ON").unwrap();
            assert_eq!(conn.execute(sql, [id.as_bytes()]).unwrap(), 1, "{name}");
            assert_grant_not_believed(&store, id, name).await;
            let found = store.compare_rows().await.unwrap();
            assert_eq!((found.differences, found.listed[0].request), (1, Some(id)), "{name}");
            drop(store);
            assert_grant_not_believed(&fixture.open(), id, name).await;
        }
    });
}

async fn assert_grant_not_believed(store: &impl Store, id: Id, name: &str) {
    let used = store.submit(granted(id)).await;
    assert_eq!(used.unwrap_err(), StoreError::GrantInactive, "{name}");
    assert_eq!(store.grants(false).await.unwrap(), [], "{name}");
}

#[test]
fn an_inserted_grant_is_not_believed() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let honest = grant(None);
        store.create_grant(honest.clone(), context()).await.unwrap();
        let conn = Connection::open(fixture.file()).unwrap();
        let id = fresh_id();
        let columns = "shape, tool, targets, digest, raw, both_bind, agent, session, made_by, \
                       made_at, expires, uses_left, revoked, commands, shown, per_hour";
        let sql = format!("INSERT INTO given (id, {columns}) SELECT ?1, {columns} FROM given");
        assert_eq!(conn.execute(&sql, [id.as_bytes()]).unwrap(), 1);
        // The entry of another grant does not help.
        let sql = "INSERT INTO story SELECT ?1, seq FROM story WHERE request = ?2";
        conn.execute(sql, [id.as_bytes(), honest.id.as_bytes()]).unwrap();
        let used = store.submit(granted(id)).await;
        assert_eq!(used.unwrap_err(), StoreError::GrantInactive);
        assert_eq!(store.grants(false).await.unwrap(), std::slice::from_ref(&honest));
        submit(&store, granted(honest.id)).await;
        let found = store.compare_rows().await.unwrap();
        assert_eq!((found.differences, found.listed[0].request), (1, Some(id)));
        assert_eq!(found.listed[0].ledger, None);
    });
}
