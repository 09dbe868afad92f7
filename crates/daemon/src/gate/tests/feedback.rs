//! What people say about calls that ran: it takes suggestions away and never gives any.

use std::collections::HashSet;

use countersign_store::{CallFeedback, Store as _, StoredRequest};
use countersign_workflow::learning::DEFAULT_APPROVALS;
use countersign_workflow::request::Choice;

use super::{answer, kept};
use crate::calibration::buckets;
use crate::test_daemon::TestDaemon;

const CALL: &str = r#"{"command":"frobnicate --all"}"#;

/// The same call, approved and run this many times.
async fn ran(daemon: &TestDaemon, times: u32) -> Vec<StoredRequest> {
    let mut all = Vec::new();
    for _ in 0..times {
        let stored = kept(&daemon.gate, CALL).await;
        let (id, digest) = (stored.request.id, stored.request.digest);
        let event = answer(&stored, "owner", Choice::Approve, "");
        all.push(daemon.gate.decide(id, event, daemon.note()).await.unwrap().stored);
        daemon.gate.redeem(id, "claude".to_owned(), digest).await.unwrap();
    }
    all
}

async fn say(daemon: &TestDaemon, stored: &StoredRequest, regretted: bool) {
    let said = feedback(daemon, stored, regretted);
    daemon.gate.store().give_feedback(said, daemon.note()).await.unwrap();
}

fn feedback(daemon: &TestDaemon, stored: &StoredRequest, regretted: bool) -> CallFeedback {
    let (request, at) = (stored.request.id, daemon.now());
    CallFeedback { request, regretted, person: "owner".to_owned(), at }
}

#[tokio::test]
async fn a_regretted_call_is_never_suggested_however_often_it_is_approved() {
    let daemon = TestDaemon::default().await;
    let grants = async || daemon.gate.store().grants(true).await.unwrap();
    let before = grants().await;
    let all = ran(&daemon, DEFAULT_APPROVALS).await;
    let suggested = async || daemon.gate.grant_suggestions(DEFAULT_APPROVALS).await.unwrap().len();
    assert_eq!(suggested().await, 1);
    // Praise changes nothing.
    say(&daemon, &all[0], false).await;
    assert_eq!(suggested().await, 1);
    say(&daemon, &all[0], true).await;
    assert_eq!(suggested().await, 0);
    ran(&daemon, DEFAULT_APPROVALS).await;
    assert_eq!(suggested().await, 0, "more approvals do not outweigh it");
    assert_eq!(daemon.count("feedback").await, 2);
    assert_eq!(grants().await, before, "nothing is widened");
}

#[tokio::test]
async fn a_regretted_approval_counts_as_a_denial_in_the_calibration() {
    let daemon = TestDaemon::default().await;
    let all = ran(&daemon, 3).await;
    let counts = |regretted: &HashSet<_>| {
        let found = buckets(&all, regretted);
        (found.iter().map(|one| one.approved).sum(), found.iter().map(|one| one.denied).sum())
    };
    assert_eq!(counts(&HashSet::new()), (3_u64, 0_u64));
    assert_eq!(counts(&HashSet::from([all[1].request.id])), (2, 1));
}

#[tokio::test]
async fn only_a_call_that_ran_has_feedback() {
    let daemon = TestDaemon::default().await;
    let pending = kept(&daemon.gate, CALL).await;
    let store = daemon.gate.store();
    let id = pending.request.id;
    let said = || feedback(&daemon, &pending, true);
    let refused = store.give_feedback(said(), daemon.note()).await;
    assert!(refused.is_err() && store.regretted().await.unwrap().is_empty());
    let event = answer(&pending, "owner", Choice::Approve, "");
    daemon.gate.decide(id, event, daemon.note()).await.unwrap();
    let refused = store.give_feedback(said(), daemon.note()).await;
    assert!(refused.is_err(), "it was approved and did not run yet");
}
