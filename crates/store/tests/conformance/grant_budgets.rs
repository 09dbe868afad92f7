//! Budgets of grants: money and recipients are counted with each use, exactly once.

use std::sync::Arc;

use countersign_store::{NewRequest, Store, StoreError, SubmitResult};
use countersign_types::id::Id;
use countersign_workflow::grant::{
    Grant, GrantBudget, GrantCost, GrantDetails, PlainDecimal, SpendLimit,
};
use rusqlite::Connection;

use crate::command_grants::tool_call_grant;
use crate::setup::*;

fn budget_grant(limit: &str, recipients: Option<u32>) -> Grant {
    let spend = SpendLimit::parse(&format!("amount:USD:{limit}")).unwrap();
    let budget = Some(GrantBudget { spend: Some(spend), recipients });
    tool_call_grant(GrantDetails { budget, ..GrantDetails::default() })
}

fn number(text: &str) -> PlainDecimal {
    PlainDecimal::parse(text).unwrap()
}

fn paid(grant: Id, amount: &str) -> NewRequest {
    let mut new = granted(grant);
    new.grant_cost = GrantCost { amount: Some(number(amount)), recipients: Vec::new() };
    new
}

fn sent(grant: Id, amount: &str, to: &[&str]) -> NewRequest {
    let mut new = paid(grant, amount);
    new.grant_cost.recipients = to.iter().map(|name| (*name).to_owned()).collect();
    new
}

pub async fn concurrent_uses_never_exceed_a_money_budget<P: Fixture>() {
    let fixture = P::new();
    let store = Arc::new(fixture.open());
    let given = budget_grant("1", None);
    store.create_grant(given.clone(), context()).await.unwrap();
    assert_eq!(store.grants(false).await.unwrap(), std::slice::from_ref(&given));
    let tasks: Vec<_> = (0..40)
        .map(|_| {
            let (store, new) = (Arc::clone(&store), paid(given.id, "0.07"));
            tokio::spawn(async move { store.submit(new).await })
        })
        .collect();
    let mut covered = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => covered += 1,
            Err(error) => assert_eq!(error, StoreError::GrantBudgetExceeded),
        }
    }
    assert_eq!(covered, 14, "14 times 0.07 is 0.98");
    drop(store);
    // What was spent survives a restart, and the rest can still be spent.
    let store = fixture.open();
    let found = store.grants(false).await.unwrap();
    assert_eq!(found[0].details.used.spent, number("0.98"));
    let refused = store.submit(paid(given.id, "0.020000001")).await.unwrap_err();
    assert_eq!(refused, StoreError::GrantBudgetExceeded);
    submit(&store, paid(given.id, "0.02")).await;
    for more in [paid(given.id, "0.000000001"), granted(given.id)] {
        let refused = store.submit(more).await.unwrap_err();
        assert_eq!(refused, StoreError::GrantBudgetExceeded);
    }
}

pub async fn a_use_is_charged_exactly_once<P: Fixture>() {
    let fixture = P::new();
    let store = Arc::new(fixture.open());
    let given = budget_grant("10", None);
    store.create_grant(given.clone(), context()).await.unwrap();
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (store, mut new) = (Arc::clone(&store), paid(given.id, "3"));
            new.idempotency = Some("order-1".to_owned());
            tokio::spawn(async move { store.submit(new).await.unwrap() })
        })
        .collect();
    let mut created = 0;
    for task in tasks {
        created += usize::from(matches!(task.await.unwrap(), SubmitResult::New(_)));
    }
    assert_eq!(created, 1);
    assert_eq!(store.grants(false).await.unwrap()[0].details.used.spent, number("3"));
    // A use that is refused for another reason takes nothing.
    let mut critical = paid(given.id, "3");
    critical.request.tier = countersign_types::tier::Tier::Critical;
    assert!(store.submit(critical).await.is_err());
    assert_eq!(store.grants(false).await.unwrap()[0].details.used.spent, number("3"));
}

pub async fn distinct_recipients_are_counted<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    let given = budget_grant("100", Some(2));
    store.create_grant(given.clone(), context()).await.unwrap();
    submit(&store, sent(given.id, "1", &["a"])).await;
    submit(&store, sent(given.id, "1", &["a", "b"])).await;
    drop(store);
    let store = fixture.open();
    for to in [&["c"][..], &["a", "c"], &[]] {
        let refused = store.submit(sent(given.id, "1", to)).await.unwrap_err();
        assert_eq!(refused, StoreError::GrantBudgetExceeded, "{to:?}");
    }
    submit(&store, sent(given.id, "1", &["b"])).await;
    let used = &store.grants(false).await.unwrap()[0].details.used;
    assert_eq!((used.spent, used.reached.len()), (number("3"), 2));
}

#[test]
fn an_edited_row_does_not_lift_a_budget() {
    run(async {
        for sql in [
            "UPDATE given SET spent = '0' WHERE id = ?1",
            "UPDATE given SET reached = '' WHERE id = ?1",
            "UPDATE given SET budget = NULL WHERE id = ?1",
            "UPDATE given SET budget = replace(budget, '\"10\"', '\"1000\"') WHERE id = ?1",
            "UPDATE given SET budget = replace(budget, 'USD', 'EUR') WHERE id = ?1",
            "UPDATE given SET budget = replace(budget, '2}', '20}') WHERE id = ?1",
        ] {
            let fixture = SqliteFixture::new();
            let store = fixture.open();
            let given = budget_grant("10", Some(2));
            store.create_grant(given.clone(), context()).await.unwrap();
            submit(&store, sent(given.id, "9", &["a", "b"])).await;
            let conn = Connection::open(fixture.file()).unwrap();
            assert_eq!(conn.execute(sql, [given.id.as_bytes()]).unwrap(), 1, "{sql}");
            let next = || sent(given.id, "0.5", &["a"]);
            assert!(store.submit(next()).await.is_err(), "{sql}");
            drop(store);
            assert!(fixture.open().submit(next()).await.is_err(), "{sql}: restart");
        }
    });
}
