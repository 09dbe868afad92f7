//! People's changes through the API are done to their end when the client disconnects: what the
//! store says is also in force.

use std::fs;

use countersign_json::base64;
use countersign_store::{Passkey, Role, Store as _};
use countersign_types::id::Id;
use countersign_types::time::Millis;
use countersign_workflow::request::State;
use countersign_workflow::review::{ReviewEvent, ReviewState};
use serde_json::{Value, json};

use super::dropped_changes::drop_early;
use super::reviews::{Lane, ON};
use super::{DELETE, kept};
use crate::freeze::FreezeStage;
use crate::notifier::test_notifier::until;
use crate::test_daemon::{ApiSide, TestDaemon};

const LEARN: &str =
    "[learning]\nautomatic = true\napprovals = 3\n[flood]\nasks_per_minute = 1000\n";

/// A change whose client disconnects as soon as the daemon has the request.
async fn cut(daemon: &TestDaemon, owner: &str, line: &str, body: Option<Value>) {
    drop_early(daemon.change(owner, line, body)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_and_people_are_revoked_without_the_client() {
    let daemon = TestDaemon::default().await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    daemon.person("bob", Role::Administrator).await;
    let (bob, now) = (daemon.login("bob", "terminal", 1_000_000).await, daemon.now());
    let idle = Millis::from_seconds(3_600);
    cut(&daemon, &owner, "DELETE /v1/agents/claude", None).await;
    until("the revocation of the agent", async || daemon.api.directory.agent(&agent, now).is_err())
        .await;
    cut(&daemon, &owner, "DELETE /v1/people/bob", None).await;
    until("the revocation of the person", async || {
        daemon.api.directory.person(&bob, idle, now).is_err()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_is_removed_without_the_client() {
    let daemon = TestDaemon::default().await;
    let (owner, now) = (daemon.owner().await, daemon.now());
    let passkey = Passkey {
        credential: vec![7; 32],
        person: "owner".to_owned(),
        name: "desk".to_owned(),
        public_key: vec![4; 65],
        algorithm: -7,
        uses: 0,
        added: now,
        // It cannot sign yet, so that the passphrase is still enough.
        active_from: now.plus(Millis::from_seconds(3_600)),
        used: None,
        ended: None,
    };
    let line = format!("POST /v1/passkeys/{}/remove", base64::encode_url(&passkey.credential));
    daemon.gate.store().save_passkey(passkey, daemon.note()).await.unwrap();
    daemon.api.directory.reload(daemon.gate.store()).await.unwrap();
    assert_eq!(daemon.api.directory.passkeys("owner").len(), 1);
    cut(&daemon, &owner, &line, Some(json!({}))).await;
    until("the removal", async || daemon.api.directory.passkeys("owner").is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn grants_begin_and_end_without_the_client() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    let body = json!({ "shape": "action", "tool": "send_message", "minutes": 60 });
    cut(&daemon, &owner, "POST /v1/grants", Some(body)).await;
    let listed = async |in_force: bool| {
        let listed = daemon.by(&owner, ApiSide::People, "GET /v1/grants?all=true", None).await;
        let grants = listed.body["grants"].as_array().cloned().unwrap_or_default();
        let found = grants.into_iter().find(|grant| grant["tool"] == "send_message");
        found.filter(|grant| grant["in_force"] == in_force)
    };
    until("the grant", async || listed(true).await.is_some()).await;
    let id = listed(true).await.unwrap()["id"].as_str().unwrap().to_owned();
    until("the grant in memory", async || daemon.gate.grants().holds(Id::parse(&id).unwrap()))
        .await;
    cut(&daemon, &owner, &format!("DELETE /v1/grants/{id}"), None).await;
    until("the end of the grant", async || !daemon.gate.grants().holds(Id::parse(&id).unwrap()))
        .await;
    until("its revocation", async || listed(false).await.is_some()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_and_a_thaw_are_complete_without_the_client() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    let id = kept(&daemon.gate, DELETE).await.request.id;
    cut(&daemon, &owner, "POST /v1/freeze", Some(json!({}))).await;
    until("the denial of what was pending", async || {
        let stored = daemon.gate.store().request(id).await.unwrap().unwrap();
        stored.request.state == State::Denied && daemon.count("frozen").await == 1
    })
    .await;
    let stage = || daemon.gate.freeze_state().current().map(|freeze| freeze.stage);
    assert_eq!(stage(), Some(FreezeStage::Frozen));
    for (resume, then) in [("people", Some(FreezeStage::GrantsSuspended)), ("grants", None)] {
        cut(&daemon, &owner, "POST /v1/thaw", Some(json!({ "resume": resume }))).await;
        until("the thaw", async || stage() == then).await;
    }
    assert_eq!(daemon.count("thawed").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_regret_ends_what_was_learned_without_the_client() {
    let daemon = TestDaemon::with("", LEARN).await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("coder", 900_000_000).await);
    let ask = async |number: u32| {
        let body = json!({ "tool": "terminal", "command": format!("frobnicate task {number}") });
        daemon.by(&agent, ApiSide::Agents, "POST /v1/requests", Some(body)).await.body
    };
    for number in [1, 2, 3] {
        let asked = ask(number).await;
        let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
        let body = json!({ "choice": "approve", "digest": asked["digest"] });
        daemon.by(&owner, ApiSide::People, &line, Some(body)).await;
    }
    let ran = ask(2).await;
    let grant = Id::parse(ran["decision"]["by"]["grant"].as_str().unwrap()).unwrap();
    let id = ran["id"].as_str().unwrap();
    let body = Some(json!({ "status": "ok" }));
    daemon.by(&agent, ApiSide::Agents, &format!("POST /v1/requests/{id}/outcome"), body).await;
    let line = format!("POST /v1/requests/{id}/feedback");
    cut(&daemon, &owner, &line, Some(json!({ "right": false }))).await;
    until("the end of the learned grant", async || !daemon.gate.grants().holds(grant)).await;
    assert_eq!(ask(1).await["state"], "pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_rolled_back_without_the_client() {
    let lane = Lane::new().await;
    let (review, record) = lane.deleted().await;
    lane.report(&review, &record).await;
    fs::write(lane.at("data.db"), "by hand").unwrap();
    let owner = lane.daemon.owner().await;
    let line = format!("POST /v1/reviews/{}/decision", review.request);
    let body = json!({ "choice": "roll_back", "force": true });
    cut(&lane.daemon, &owner, &line, Some(body)).await;
    until("the roll-back", async || lane.state(&review).await == ReviewState::RolledBack).await;
    assert_eq!(lane.read("data.db").as_deref(), Some("data.db before\n"));
}

#[tokio::test]
async fn a_roll_back_that_a_crash_interrupts_goes_on_as_the_person_wanted() {
    for force in [true, false] {
        let lane = Lane::new().await;
        let (review, record) = lane.deleted().await;
        lane.report(&review, &record).await;
        fs::write(lane.at("data.db"), "by hand").unwrap();
        let rejected = async |lane: &Lane, force: bool| {
            let event = ReviewEvent::Reject { person: "owner".to_owned(), force };
            let (store, note) = (lane.daemon.gate.store(), lane.daemon.note());
            store.apply_review(review.request, event, note).await.unwrap();
        };
        // What an earlier try wanted does not count.
        rejected(&lane, !force).await;
        let failed = ReviewEvent::RollBackFailed { why: "a full disk".to_owned() };
        let (store, note) = (lane.daemon.gate.store(), lane.daemon.note());
        store.apply_review(review.request, failed, note).await.unwrap();
        rejected(&lane, force).await;
        let lane = lane.restart(ON).await;
        lane.daemon.gate.follow_reviews().await.unwrap();
        let (state, file) = if force {
            (ReviewState::RolledBack, "data.db before\n")
        } else {
            (ReviewState::Open, "by hand")
        };
        assert_eq!(lane.state(&review).await, state);
        assert_eq!(lane.read("data.db").as_deref(), Some(file));
    }
}
