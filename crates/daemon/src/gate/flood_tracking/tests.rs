//! Denials of one agent program quarantine that program only; people see it and let it out.

use serde_json::{Value, json};

use crate::listeners::Peer;
use crate::routes;
use crate::test_daemon::{ApiSide, TestDaemon};
use axum::body::Body;
use axum::extract::Request;
use tower_service::Service as _;

/// Asks over the socket, as a hook does for its agent program.
async fn hook(daemon: &TestDaemon, kind: &str, n: u32) -> Value {
    let body = json!({
        "tool": "send_message", "arguments": {"to": "bo", "text": n}, "host": kind,
    });
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
    assert_eq!(daemon.by(&owner, ApiSide::People, line, body.clone()).await.status, 200);
    assert_eq!(daemon.by(&owner, ApiSide::People, line, body).await.status, 404);
    assert_eq!(hook(&daemon, "first", 12).await["state"], "pending");
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
    let lifted = daemon.by(&owner, ApiSide::People, "POST /v1/quarantines/lift", body).await;
    assert_eq!(lifted.status, 200);
    let daemon = daemon.restart("", |_| {}).await;
    assert_eq!(hook(&daemon, "first", 12).await["state"], "pending");
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
