//! Denials of one agent program quarantine that program only; people see it and let it out.

use countersign_store::Store as _;
use serde_json::{Value, json};

use crate::listeners::Peer;
use crate::routes;
use crate::test_daemon::{ApiSide, TestDaemon};
use axum::body::Body;
use axum::extract::Request;
use tower_service::Service as _;

/// Asks over the socket, as a hook does for its agent program.
async fn hook(daemon: &TestDaemon, kind: &str, n: u32) -> Value {
    hook_says(daemon, json!({ "host": kind }), n).await
}

/// The same with further members.
async fn hook_says(daemon: &TestDaemon, mut body: Value, n: u32) -> Value {
    body["tool"] = json!("send_message");
    body["arguments"] = json!({"to": "bo", "text": n});
    let host = format!("127.0.0.1:{}", daemon.port(ApiSide::Agents));
    let mut request = Request::post("/v1/requests")
        .header("host", host)
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    request.extensions_mut().insert(Peer::User(4242));
    let response = routes::agents(&daemon.api).call(request).await.unwrap();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn denials_of_one_program_do_not_quarantine_another() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    for n in 0..5 {
        let asked = hook(&daemon, "first", n).await;
        assert_eq!(asked["agent_kind"], "first", "{asked}");
        let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
        let deny = Some(json!({"choice": "deny", "digest": asked["digest"]}));
        assert_eq!(daemon.by(&owner, ApiSide::People, &line, deny).await.status, 200);
    }
    let refused = hook(&daemon, "first", 10).await;
    assert_eq!(refused["type"], "urn:countersign:problem:quarantined", "{refused}");
    assert_eq!(hook(&daemon, "second", 11).await["state"], "pending");
    let list = daemon.by(&owner, ApiSide::People, "GET /v1/quarantines", None).await.body;
    assert_eq!(list["quarantines"][0]["agent"], "first@uid:4242", "{list}");
    let body = Some(json!({"agent": "first@uid:4242"}));
    let line = "POST /v1/quarantines/lift";
    // A session is not enough.
    let stolen = daemon.by(&owner, ApiSide::People, line, body.clone()).await;
    assert_eq!(stolen.body["type"], "urn:countersign:problem:step-up-required");
    let refused = hook(&daemon, "first", 10).await;
    assert_eq!(refused["type"], "urn:countersign:problem:quarantined", "{refused}");
    assert_eq!(daemon.change(&owner, line, body.clone()).await.status, 200);
    assert_eq!(daemon.change(&owner, line, body).await.status, 404);
    let ledger = daemon.ledger().await;
    let lifted = ledger.iter().find(|entry| entry["facts"]["lifted"] == true).unwrap();
    assert_eq!(lifted["facts"]["step_up"]["proof"], "passphrase");
    assert_eq!(hook(&daemon, "first", 12).await["state"], "pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_of_a_program_is_a_label() {
    let daemon = TestDaemon::default().await;
    let said = json!({"host": "first", "host_version": "2.1.325"});
    let asked = hook_says(&daemon, said.clone(), 1).await;
    assert_eq!(asked["agent_version"], "2.1.325", "{asked}");
    let id = countersign_types::id::Id::parse(asked["id"].as_str().unwrap()).unwrap();
    let stored = daemon.gate.store().request(id).await.unwrap().unwrap();
    assert_eq!(crate::gate::asking_name(&stored), "first 2.1.325 (uid:4242)");
    // Anything that is no version is no label, and stops no call.
    for (n, bad) in [(2, "1 (approved by ana)"), (3, "1\u{202e}2"), (4, "")] {
        let said = json!({"host": "first", "host_version": bad});
        let asked = hook_says(&daemon, said, n).await;
        assert_eq!((&asked["agent_version"], &asked["state"]), (&Value::Null, &json!("pending")));
    }
    // A program whose name is not accepted has no version either.
    let agent = daemon.agent("coder", 1_000_000).await;
    let mut body = said;
    body["command"] = json!("systemctl restart nginx");
    let asked = daemon.by(&agent, ApiSide::Agents, "POST /v1/requests", Some(body)).await.body;
    assert_eq!((&asked["state"], &asked["agent_version"]), (&json!("pending"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quarantine_survives_a_restart_until_a_person_lifts_it() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    for n in 0..5 {
        let asked = hook(&daemon, "first", n).await;
        let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
        let deny = Some(json!({"choice": "deny", "digest": asked["digest"]}));
        assert_eq!(daemon.by(&owner, ApiSide::People, &line, deny).await.status, 200);
    }
    let before = daemon.by(&owner, ApiSide::People, "GET /v1/quarantines", None).await.body;
    let daemon = daemon.restart("", |_| {}).await;
    let refused = hook(&daemon, "first", 10).await;
    assert_eq!(refused["type"], "urn:countersign:problem:quarantined", "{refused}");
    assert_eq!(hook(&daemon, "second", 11).await["state"], "pending");
    let list = daemon.by(&owner, ApiSide::People, "GET /v1/quarantines", None).await.body;
    assert_eq!(list, before, "it ends when it was to end");
    let body = Some(json!({"agent": "first@uid:4242"}));
    let lifted = daemon.change(&owner, "POST /v1/quarantines/lift", body).await;
    assert_eq!(lifted.status, 200);
    let daemon = daemon.restart("", |_| {}).await;
    assert_eq!(hook(&daemon, "first", 12).await["state"], "pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quarantine_is_not_lifted_before_the_ledger_says_so() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    for n in 0..5 {
        let asked = hook(&daemon, "first", n).await;
        let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
        let deny = Some(json!({"choice": "deny", "digest": asked["digest"]}));
        assert_eq!(daemon.by(&owner, ApiSide::People, &line, deny).await.status, 200);
    }
    // A store that takes no more entries.
    daemon.gate.store().close().await.unwrap();
    let note = daemon.note();
    daemon.gate.lift_quarantine("first@uid:4242", "owner", &note).await.unwrap_err();
    let left = daemon.gate.quarantines();
    assert_eq!(left.first().map(|one| one.agent.as_str()), Some("first@uid:4242"));
}

/// Asks about a harmless call; `n` makes it another one.
async fn harmless(daemon: &TestDaemon, kind: &str, n: u32) -> Value {
    let body = json!({ "tool": "read_file", "arguments": {"path": format!("src/{n}.rs")},
        "host": kind, "session": "s".repeat(200) });
    let host = format!("127.0.0.1:{}", daemon.port(ApiSide::Agents));
    let mut request = Request::post("/v1/requests")
        .header("host", host)
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    request.extensions_mut().insert(Peer::User(4242));
    let response = routes::agents(&daemon.api).call(request).await.unwrap();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_harmless_calls_leaves_the_disk_to_other_agents() {
    let daemon = TestDaemon::with("", "[flood]\ndisk_mib_per_hour = 1\n").await;
    let mut passed = 0_u32;
    let refused = loop {
        let answer = harmless(&daemon, "greedy", passed).await;
        if answer["type"].is_string() {
            break answer;
        }
        passed += 1;
        assert!(passed < 4_000, "there is no end: {answer}");
    };
    assert_eq!(refused["type"], "urn:countersign:problem:disk-budget", "{refused}");
    assert!(passed > 50, "{passed}");
    for n in 0..20 {
        let answer = harmless(&daemon, "honest", n).await;
        assert!(answer["type"].is_null(), "{answer}");
    }
    // Nothing passed without a record, and the refusals are one entry.
    daemon.api.gate.log_refusals().await;
    assert_eq!(daemon.count("pass").await, usize::try_from(passed).unwrap() + 20);
    let entries = daemon.ledger().await;
    let counted: Vec<&Value> = entries.iter().filter(|it| it["facts"]["why"] == "disk").collect();
    assert_eq!(counted.len(), 1, "{counted:?}");
    daemon.forward(3_600_000);
    assert!(harmless(&daemon, "greedy", 9_999).await["type"].is_null(), "the next hour");
}
