//! Grants for commands of one form, rate limits and last uses.

use std::sync::Arc;

use countersign_store::{Store, StoreError};
use countersign_types::time::Timestamp;
use countersign_workflow::grant::{CommandShape, Grant, GrantDetails, GrantShape, ToolCallShape};
use rusqlite::Connection;

use crate::setup::*;

const HOUR: i64 = 3_600_000;
const AGENT: &str = "coder";

fn grant(per_hour: Option<u32>) -> Grant {
    let shape: CommandShape = serde_json::from_str(
        r#"{"tool":"bash","commands":["npm publish <path>","npm publish"],
            "repository":"/srv/shop","folder":null,
            "profile":{"tier":"MEDIUM","points":200,"reasons":["a"],"effects":["Publish"],
            "class":"C","doubts":[],"reversible":false,"touches":["runs npm"],"open":false}}"#,
    )
    .unwrap();
    Grant {
        id: fresh_id(),
        shape: GrantShape::Command(Box::new(shape)),
        agent: Some(AGENT.to_owned()),
        session: None,
        made_by: "ana".to_owned(),
        made_at: Timestamp(START),
        expires: Some(Timestamp(START + 100 * HOUR)),
        uses_left: None,
        revoked: None,
        details: GrantDetails { per_hour, ..GrantDetails::default() },
    }
}

pub async fn a_command_grant_is_stored_with_its_last_use<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let given = grant(None);
    let exact = Grant {
        id: fresh_id(),
        shape: GrantShape::Exact { digest: call(1) },
        details: GrantDetails { shown: Some("npm publish".to_owned()), ..GrantDetails::default() },
        ..given.clone()
    };
    for one in [&given, &exact] {
        store.create_grant(one.clone(), context()).await.unwrap();
    }
    assert_eq!(store.grants(false).await.unwrap(), [exact.clone(), given.clone()]);
    fixture.clock().forward(5_000);
    submit(&store, granted(given.id)).await;
    drop(store);
    let store = fixture.open();
    let found = store.grants(false).await.unwrap();
    assert_eq!(found[0], exact);
    assert!(found[1].details.last_used >= Some(Timestamp(START + 5_000)), "{:?}", found[1]);
    let unused = GrantDetails { last_used: None, ..found[1].details.clone() };
    assert_eq!(Grant { details: unused, ..found[1].clone() }, given);
}

/// A grant for a tool with conditions on its arguments.
pub fn tool_call_grant(details: GrantDetails) -> Grant {
    let shape: ToolCallShape = serde_json::from_str(
        r#"{"tool":"mcp__shop__place_order","arguments":[
            {"member":"amount","optional":false,"rule":{"at_most":"100"}},
            {"member":"shop","optional":true,"rule":{"one_of":["\"acme\"","3"]}},
            {"member":"note","optional":false,"rule":"any_text"}],
            "profile":{"tier":"MEDIUM","points":200,"reasons":["a"],"effects":["Remote"],
            "class":"C","doubts":[],"reversible":false,"touches":[],"open":false}}"#,
    )
    .unwrap();
    let given = grant(None);
    Grant { shape: GrantShape::ToolCall(Box::new(shape)), details, ..given }
}

pub async fn a_grant_with_conditions_is_stored_and_used<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let given = tool_call_grant(GrantDetails::default());
    store.create_grant(given.clone(), context()).await.unwrap();
    drop(store);
    let store = fixture.open();
    assert_eq!(store.grants(false).await.unwrap(), std::slice::from_ref(&given));
    submit(&store, granted(given.id)).await;
    assert!(store.revoke_grant(given.id, "ana".to_owned(), context()).await.unwrap());
    assert_eq!(store.submit(granted(given.id)).await.unwrap_err(), StoreError::GrantInactive);
}

pub async fn a_rate_limit_holds_in_every_hour<P: Fixture>() {
    let fixture = P::new();
    let store = Arc::new(fixture.open());
    let given = grant(Some(5));
    store.create_grant(given.clone(), context()).await.unwrap();
    for hour in 0..3 {
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let (store, new) = (Arc::clone(&store), granted(given.id));
                tokio::spawn(async move { store.submit(new).await })
            })
            .collect();
        let mut covered = 0;
        for task in tasks {
            match task.await.unwrap() {
                Ok(_) => covered += 1,
                Err(error) => assert_eq!(error, StoreError::GrantRateExceeded),
            }
        }
        assert_eq!(covered, 5, "hour {hour}");
        // The clock hour changes, but the last hour has its five uses.
        fixture.clock().forward(HOUR / 2);
        let used = store.submit(granted(given.id)).await;
        assert_eq!(used.unwrap_err(), StoreError::GrantRateExceeded, "hour {hour}");
        fixture.clock().forward(HOUR);
    }
}

#[test]
fn an_edited_row_does_not_widen_conditions() {
    run(async {
        for sql in [
            "UPDATE given SET commands = replace(commands, '100', '900') WHERE id = ?1",
            "UPDATE given SET commands = replace(commands, 'acme', 'evil') WHERE id = ?1",
            "UPDATE given SET commands = replace(commands, 'MEDIUM', 'HIGH') WHERE id = ?1",
            "UPDATE given SET shape = 'action' WHERE id = ?1",
        ] {
            let fixture = SqliteFixture::new();
            let store = fixture.open();
            let given = tool_call_grant(GrantDetails::default());
            store.create_grant(given.clone(), context()).await.unwrap();
            let conn = Connection::open(fixture.file()).unwrap();
            assert_eq!(conn.execute(sql, [given.id.as_bytes()]).unwrap(), 1, "{sql}");
            assert!(store.submit(granted(given.id)).await.is_err(), "{sql}");
            drop(store);
            assert!(fixture.open().submit(granted(given.id)).await.is_err(), "{sql}: restart");
        }
    });
}

#[test]
fn an_edited_row_does_not_lift_a_rate_limit() {
    run(async {
        for sql in [
            "UPDATE given SET hour_uses = 0, hour = 0 WHERE id = ?1",
            "UPDATE given SET per_hour = 100 WHERE id = ?1",
            "UPDATE given SET per_hour = NULL WHERE id = ?1",
            "UPDATE given SET commands = replace(commands, '/srv/shop', '/srv/blog') WHERE id = ?1",
            "UPDATE given SET commands = replace(commands, 'publish', 'install') WHERE id = ?1",
        ] {
            let fixture = SqliteFixture::new();
            let store = fixture.open();
            let given = grant(Some(2));
            store.create_grant(given.clone(), context()).await.unwrap();
            submit(&store, granted(given.id)).await;
            submit(&store, granted(given.id)).await;
            let conn = Connection::open(fixture.file()).unwrap();
            assert_eq!(conn.execute(sql, [given.id.as_bytes()]).unwrap(), 1, "{sql}");
            assert!(store.submit(granted(given.id)).await.is_err(), "{sql}");
            drop(store);
            assert!(fixture.open().submit(granted(given.id)).await.is_err(), "{sql}: restart");
        }
    });
}
