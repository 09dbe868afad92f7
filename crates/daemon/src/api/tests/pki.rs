//! The fleet's certificates: only people set up, issue and revoke; holders renew.

use serde_json::{Value, json};

use super::StatusCode;
use crate::test_daemon::{ApiSide, TestDaemon};
use countersign_json::base64;
use countersign_tls::rustls::pki_types::CertificateDer;
use countersign_tls::rustls::pki_types::pem::PemObject as _;
use countersign_tls::sign_with_key;
use countersign_tls::{FleetCertificate, FleetTrust, generate_key, issue_text, renewal_text};
use countersign_types::time::Clock as _;

pub fn wanted(key: &[u8], agent: &str) -> Value {
    let (public, proof) = sign_with_key(key, |public| issue_text(agent, public)).unwrap();
    json!({
        "agent": agent, "hosts": ["localhost", "127.0.0.1"],
        "public_key": base64::encode(public.as_bytes()), "proof": base64::encode(&proof),
    })
}

pub fn der(answer: &Value, member: &str) -> Vec<u8> {
    let text = answer[member].as_str().unwrap();
    CertificateDer::from_pem_slice(text.as_bytes()).unwrap().to_vec()
}

pub async fn public(daemon: &TestDaemon, line: &str, body: Option<Value>) -> (StatusCode, Value) {
    let reply = daemon.ask(ApiSide::Agents, line, &[], body).await;
    (reply.status, reply.body)
}

/// A change by the owner, with her proof.
pub async fn owner(daemon: &TestDaemon, path: &str, body: Value) -> (StatusCode, Value) {
    let token = daemon.owner().await;
    let reply = daemon.change(&token, &format!("POST {path}"), Some(body)).await;
    (reply.status, reply.body)
}

pub async fn trust(daemon: &TestDaemon) -> FleetTrust {
    let (_, authority) = public(daemon, "GET /v1/pki/authority", None).await;
    let trust = FleetTrust::new(&der(&authority, "certificate")).unwrap();
    refresh(daemon, &trust).await;
    trust
}

pub async fn refresh(daemon: &TestDaemon, trust: &FleetTrust) {
    let (status, answer) = public(daemon, "GET /v1/pki/revocations", None).await;
    assert_eq!(status, StatusCode::OK);
    let list = base64::decode(answer["list"].as_str().unwrap()).unwrap();
    trust.use_list(&list, daemon.gate.clock().now().at).unwrap();
}

fn renewal(key: &[u8], certificate: &[u8], at: i64) -> Value {
    let serial = FleetCertificate::parse(certificate).unwrap().serial;
    let (_, proof) = sign_with_key(key, |_| renewal_text(serial, at)).unwrap();
    json!({
        "certificate": base64::encode(certificate), "at": at, "proof": base64::encode(&proof),
    })
}

#[tokio::test]
async fn a_person_issues_and_revokes_and_the_holder_renews() {
    let daemon = TestDaemon::default().await;
    let key = generate_key().unwrap();
    let (status, _) = owner(&daemon, "/v1/pki/certificates", wanted(&key, "alice")).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "no authority yet");
    let (status, _) = owner(&daemon, "/v1/pki", json!({})).await;
    assert_eq!(status, StatusCode::CREATED);
    let (status, _) = owner(&daemon, "/v1/pki", json!({})).await;
    assert_eq!(status, StatusCode::CONFLICT, "an authority is not replaced");
    let (status, made) = owner(&daemon, "/v1/pki/certificates", wanted(&key, "alice")).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    let (alice, trust) = (der(&made, "certificate"), trust(&daemon).await);
    let now = || daemon.now();
    assert_eq!(trust.check_client_at(&alice, now()).as_deref(), Some("alice"));

    let (status, next) =
        public(&daemon, "POST /v1/pki/renewals", Some(renewal(&key, &alice, now().0))).await;
    assert_eq!(status, StatusCode::OK, "{next}");
    let next = der(&next, "certificate");
    assert_eq!(trust.check_client_at(&next, now()).as_deref(), Some("alice"));
    for old in [&alice, &next] {
        let again = Some(renewal(&key, old, now().0));
        let (status, _) = public(&daemon, "POST /v1/pki/renewals", again).await;
        assert_eq!(status, StatusCode::CONFLICT, "once an hour");
    }

    let (status, gone) =
        owner(&daemon, "/v1/pki/revocations", json!({ "certificate": "alice" })).await;
    assert_eq!((status, gone["revoked"].as_array().unwrap().len()), (StatusCode::OK, 2));
    refresh(&daemon, &trust).await;
    assert_eq!(trust.check_client_at(&alice, now()), None);
    assert_eq!(trust.check_client_at(&next, now()), None);
    for old in [&alice, &next] {
        let sent =
            public(&daemon, "POST /v1/pki/renewals", Some(renewal(&key, old, now().0))).await;
        assert_eq!(sent.0, StatusCode::CONFLICT, "a revoked certificate is not renewed");
    }
    let token = daemon.owner().await;
    let list = daemon.by(&token, ApiSide::People, "GET /v1/pki", None).await.body;
    assert_eq!(list["certificates"].as_array().unwrap().len(), 2);
    assert_eq!(daemon.count("certificate").await, 4, "set up, issue, renew, revoke");
}

#[tokio::test]
async fn nobody_else_gets_a_certificate() {
    let daemon = TestDaemon::default().await;
    owner(&daemon, "/v1/pki", json!({})).await;
    let (key, other) = (generate_key().unwrap(), generate_key().unwrap());
    // Without a proof of the person: an agent's token, an approver, and a token alone.
    let body = wanted(&key, "alice");
    let agent = daemon.agent("coder", 60_000).await;
    daemon.person("bea", countersign_store::Role::Approver).await;
    let (token, bea) = (daemon.owner().await, daemon.login("bea", "terminal", 60_000).await);
    for path in ["/v1/pki", "/v1/pki/certificates", "/v1/pki/revocations"] {
        let line = format!("POST {path}");
        let sent = daemon.by(&agent, ApiSide::Agents, &line, Some(body.clone())).await;
        assert!([404, 405].contains(&sent.status.as_u16()), "{path}: {sent:?}");
        let sent = daemon.by(&agent, ApiSide::People, &line, Some(body.clone())).await;
        assert_eq!(sent.status, StatusCode::FORBIDDEN, "{path}");
        let sent = daemon.by(&token, ApiSide::People, &line, Some(body.clone())).await;
        assert_eq!(sent.status, StatusCode::FORBIDDEN, "{path}");
        let sent = daemon.change(&bea, &line, Some(body.clone())).await;
        assert_eq!(sent.status, StatusCode::FORBIDDEN, "{path}");
    }
    // A key that the caller does not hold, and another agent's proof.
    let mut wrong = wanted(&key, "alice");
    wrong["public_key"] = wanted(&other, "alice")["public_key"].clone();
    assert_eq!(owner(&daemon, "/v1/pki/certificates", wrong).await.0, StatusCode::BAD_REQUEST);
    let mut wrong = wanted(&key, "alice");
    wrong["agent"] = json!("bob");
    assert_eq!(owner(&daemon, "/v1/pki/certificates", wrong).await.0, StatusCode::BAD_REQUEST);
    let (_, made) = owner(&daemon, "/v1/pki/certificates", body).await;
    let alice = der(&made, "certificate");
    let now = daemon.now().0;
    // A renewal with another key, with an old proof, and of a changed certificate.
    let mut changed = alice.clone();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    for bad in [
        renewal(&other, &alice, now),
        renewal(&key, &alice, now - 600_000),
        renewal(&key, &changed, now),
    ] {
        let sent = public(&daemon, "POST /v1/pki/renewals", Some(bad)).await;
        assert_eq!(sent.0, StatusCode::CONFLICT, "{}", sent.1);
    }
}

#[tokio::test]
async fn an_existing_authority_is_taken_over_and_its_key_stays_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let daemon = TestDaemon::default().await;
    let now = daemon.now();
    let (key, certificate) = countersign_tls::generate_authority("Example Org", now).unwrap();
    let (other, _) = countersign_tls::generate_authority("Example Org", now).unwrap();
    let body = |key: &[u8]| {
        json!({
            "certificate": countersign_tls::pem(&certificate),
            "key": countersign_tls::key_pem(key).to_string(),
        })
    };
    assert_eq!(owner(&daemon, "/v1/pki", body(&other)).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(owner(&daemon, "/v1/pki", body(&key)).await.0, StatusCode::CREATED);
    let file = daemon.state().join("pki/ca.key");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let agent = generate_key().unwrap();
    let (_, made) = owner(&daemon, "/v1/pki/certificates", wanted(&agent, "alice")).await;
    let trust = trust(&daemon).await;
    assert_eq!(trust.check_client_at(&der(&made, "certificate"), now).as_deref(), Some("alice"));
}
