//! The page of peers: a node's own report is shown, and nobody else's statement about it.

use serde_json::{Value, json};

use super::StatusCode;
use super::pki::{der, owner, public, wanted};
use crate::test_daemon::TestDaemon;
use countersign_json::base64;
use countersign_tls::{FleetCertificate, generate_key, node_report_text, sign_with_key};

fn accepted() -> Value {
    json!({
        "allowed": true, "open_tasks": 64, "per_minute": 60, "per_day": 1000,
        "max_tier": null, "tasks": [],
    })
}

fn report(description: &str) -> Value {
    let mut alice = accepted();
    alice["max_tier"] = json!("MEDIUM");
    alice["tasks"] = json!(["Summarize *"]);
    let mut mallory = accepted();
    mallory["allowed"] = json!(false);
    json!({
        "card": {
            "name": "bob", "description": description, "version": "1.2.3",
            "supportedInterfaces": [{ "url": "https://bob.example.org:9443/a2a/rpc",
                "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
            "skills": [{ "id": "task", "name": "Task", "description": "Does a task." }],
        },
        "default": accepted(), "peers": { "alice": alice, "mallory": mallory }, "max_depth": 4,
    })
}

fn signed(key: &[u8], certificate: &[u8], at: i64, report: &Value) -> Value {
    let (serial, text) = (FleetCertificate::parse(certificate).unwrap().serial, report.to_string());
    let (_, proof) = sign_with_key(key, |_| node_report_text(serial, at, &text)).unwrap();
    json!({
        "certificate": base64::encode(certificate), "at": at, "report": text,
        "proof": base64::encode(&proof),
    })
}

async fn send(daemon: &TestDaemon, body: Value) -> StatusCode {
    public(daemon, "POST /v1/pki/nodes", Some(body)).await.0
}

async fn page(daemon: &TestDaemon) -> String {
    let token = daemon.owner().await;
    daemon.page(&token, "/fleet").await
}

/// A daemon with the certificates of bob and alice; bob's key and certificate.
async fn fleet() -> (TestDaemon, Vec<u8>, Vec<u8>) {
    let daemon = TestDaemon::default().await;
    owner(&daemon, "/v1/pki", json!({})).await;
    let (bob, alice) = (generate_key().unwrap(), generate_key().unwrap());
    owner(&daemon, "/v1/pki/certificates", wanted(&alice, "alice")).await;
    let (status, made) = owner(&daemon, "/v1/pki/certificates", wanted(&bob, "bob")).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    (daemon, bob.to_vec(), der(&made, "certificate"))
}

#[tokio::test]
async fn a_peer_has_its_card_its_certificate_and_what_it_may_ask() {
    let (daemon, key, bob) = fleet().await;
    let shown = page(&daemon).await;
    let fingerprint = countersign_json::canonical::Digest::of(&bob).to_string();
    for part in [
        "<h1>Peers</h1>",
        &fingerprint,
        "urn:countersign:agent:bob",
        "localhost, 127.0.0.1",
        "No card: bob only sends",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let body = signed(&key, &bob, daemon.now().0, &report("Reads <b>logs</b>\u{202e}"));
    assert_eq!(send(&daemon, body).await, StatusCode::NO_CONTENT);
    let shown = page(&daemon).await;
    for part in [
        "Reads &lt;b&gt;logs&lt;/b&gt;",
        "https://bob.example.org:9443/a2a/rpc",
        "at most MEDIUM",
        "Summarize *",
        "60 in a minute",
        "1,000 in a day",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains('\u{202e}') && !shown.contains("<b>logs"), "{shown}");
    // What a node reported counts while its certificate does.
    owner(&daemon, "/v1/pki/revocations", json!({ "certificate": "bob" })).await;
    assert!(!page(&daemon).await.contains("bob.example.org:9443"));
}

#[tokio::test]
async fn only_the_holder_of_a_valid_certificate_reports_and_no_report_is_replayed() {
    let (daemon, key, bob) = fleet().await;
    let (now, other) = (daemon.now().0, generate_key().unwrap());
    let good = report("first");
    let mut changed = signed(&key, &bob, now, &good);
    changed["report"] = json!(report("forged").to_string());
    let mut unnamed = bob.clone();
    let last = unnamed.len() - 1;
    unnamed[last] ^= 1;
    let mut tier = good.clone();
    tier["default"]["max_tier"] = json!("HUGE");
    let mut long = good.clone();
    long["card"]["description"] = json!("x".repeat(65 << 10));
    for (case, body, status) in [
        ("another key", signed(&other, &bob, now, &good), StatusCode::CONFLICT),
        ("too old", signed(&key, &bob, now - 600_000, &good), StatusCode::CONFLICT),
        ("from the future", signed(&key, &bob, now + 600_000, &good), StatusCode::CONFLICT),
        ("a changed report", changed, StatusCode::CONFLICT),
        ("a changed certificate", signed(&key, &unnamed, now, &good), StatusCode::CONFLICT),
        ("no report", signed(&key, &bob, now, &json!({})), StatusCode::BAD_REQUEST),
        ("no tier", signed(&key, &bob, now, &tier), StatusCode::BAD_REQUEST),
        ("too long", signed(&key, &bob, now, &long), StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(send(&daemon, body).await, status, "{case}");
    }
    assert!(page(&daemon).await.contains("No card: bob only sends"));
    let first = signed(&key, &bob, now - 1000, &good);
    assert_eq!(send(&daemon, first.clone()).await, StatusCode::NO_CONTENT);
    let second = signed(&key, &bob, now, &report("second"));
    assert_eq!(send(&daemon, second).await, StatusCode::NO_CONTENT);
    assert_eq!(send(&daemon, first).await, StatusCode::CONFLICT, "an older report");
    assert!(page(&daemon).await.contains("second"));
    // Under a renewed name: another agent's certificate shows nothing under bob.
    let eve = generate_key().unwrap();
    let (_, made) = owner(&daemon, "/v1/pki/certificates", wanted(&eve, "eve")).await;
    let eve = signed(&eve, &der(&made, "certificate"), now, &report("I am bob"));
    assert_eq!(send(&daemon, eve).await, StatusCode::NO_CONTENT);
    let shown = page(&daemon).await;
    let bob_part = shown.split("id=\"peer-bob\"").nth(1).unwrap();
    let bob_part = bob_part.split("</article>").next().unwrap();
    assert!(!bob_part.contains("I am bob") && shown.contains("I am bob"), "{bob_part}");
    owner(&daemon, "/v1/pki/revocations", json!({ "certificate": "bob" })).await;
    let late = signed(&key, &bob, now + 1, &good);
    assert_eq!(send(&daemon, late).await, StatusCode::CONFLICT, "revoked");
}
