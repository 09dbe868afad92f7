//! Concurrent calls: one wins and the others get an error.

use std::sync::Arc;

use countersign_ledger::entry::EntryKind;
use countersign_store::{Redemption, Store, StoreError, SubmitResult};
use countersign_types::time::Timestamp;
use countersign_workflow::grant::{Grant, GrantShape};
use countersign_workflow::request::{Choice, Event, Requester, State, Transition};

use crate::setup::*;

pub async fn concurrent_answers_make_one_decision<P: Fixture>() {
    let fixture = P::new();
    let store = Arc::new(fixture.open());
    let mut ids = Vec::new();
    for _ in 0..60 {
        ids.push(submit(&*store, asked(1)).await.request.id);
    }
    // Some of them race with their deadline as well.
    fixture.clock().forward(299_999);
    let mut tasks = Vec::new();
    for racer in 0..16_usize {
        let (store, ids) = (store.clone(), ids.clone());
        tasks.push(tokio::spawn(async move {
            let mut ends = Vec::new();
            for id in ids {
                let event = match racer % 4 {
                    0 => says(&format!("p{racer}"), Choice::Approve),
                    1 => says(&format!("p{racer}"), Choice::Deny),
                    2 => Event::Cancel { by: Requester::Agent("coder".to_owned()) },
                    _ => Event::Time,
                };
                match store.apply(id, event, context()).await {
                    Ok(applied) => {
                        if let Transition::Ended(decision) = applied.change {
                            ends.push((id, decision));
                        }
                    }
                    Err(StoreError::Refused(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            ends
        }));
    }
    fixture.clock().forward(1);
    let mut ends = Vec::new();
    for task in tasks {
        ends.extend(task.await.unwrap());
    }
    ends.sort_by_key(|(id, _)| *id);
    assert_eq!(ends.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ids);
    for (id, decision) in ends {
        assert_eq!(store.wait_for_end(id).await.unwrap().request.decision, Some(decision));
    }
    let last = [EntryKind::Approve, EntryKind::Deny, EntryKind::Cancel, EntryKind::Expire];
    let told = kinds(&*store).await.into_iter().filter(|kind| last.contains(kind));
    assert_eq!(told.count(), 60);
}

pub async fn a_counted_grant_covers_exactly_its_uses<P: Fixture>() {
    let fixture = P::new();
    let store = Arc::new(fixture.open());
    let grant = Grant {
        id: fresh_id(),
        shape: GrantShape::Action { tool: "send_message".to_owned() },
        agent: Some("coder".to_owned()),
        session: None,
        made_by: "ana".to_owned(),
        made_at: Timestamp(START),
        expires: None,
        uses_left: Some(7),
        revoked: None,
        details: countersign_workflow::grant::GrantDetails::default(),
    };
    store.create_grant(grant.clone(), context()).await.unwrap();
    let tasks: Vec<_> = (0..40)
        .map(|_| {
            let (store, new) = (store.clone(), granted(grant.id));
            tokio::spawn(async move { store.submit(new).await })
        })
        .collect();
    let mut covered = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(SubmitResult::New(stored)) => {
                assert_eq!(stored.request.state, State::Approved);
                covered += 1;
            }
            Err(StoreError::GrantInactive) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(covered, 7);
    assert_eq!(store.grants(true).await.unwrap()[0].uses_left, Some(0));
    assert!(store.grants(false).await.unwrap().is_empty());
    assert_eq!(kinds(&*store).await.len(), 8);
}

pub async fn concurrent_redemptions_use_a_permit_once<P: Fixture>() {
    let fixture = P::new();
    let store = Arc::new(fixture.open());
    for _ in 0..10 {
        let id = approved(&*store, asked(1)).await.request.id;
        let tasks: Vec<_> = (0..16)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move {
                    store.redeem(id, "coder".to_owned(), call(1), context()).await.unwrap()
                })
            })
            .collect();
        let mut used = 0;
        for task in tasks {
            match task.await.unwrap() {
                Redemption::Accepted => used += 1,
                Redemption::AlreadyUsed(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(used, 1);
    }
}

pub async fn concurrent_submissions_with_one_key_make_one_request<P: Fixture>() {
    let fixture = P::new();
    let store = Arc::new(fixture.open());
    let tasks: Vec<_> = (0..32)
        .map(|_| {
            let (store, mut new) = (store.clone(), asked(1));
            new.idempotency = Some("k".to_owned());
            tokio::spawn(async move {
                match store.submit(new).await.unwrap() {
                    SubmitResult::New(stored) | SubmitResult::Existing(stored) => stored.request.id,
                }
            })
        })
        .collect();
    let mut ids = Vec::new();
    for task in tasks {
        ids.push(task.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(kinds(&*store).await, [EntryKind::Ask]);
}
