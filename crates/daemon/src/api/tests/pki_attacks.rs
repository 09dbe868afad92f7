//! Attacks on the files of the fleet's authority: editing, restoring or deleting a file gives no
//! revoked certificate back.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::StatusCode;
use super::pki::{der, owner, public, refresh, trust, wanted};
use crate::test_daemon::{ApiSide, TestDaemon};
use countersign_tls::generate_key;

const RECORDS: &str = "pki/certificates.json";

/// A daemon whose only certificate is revoked, and the certificate.
async fn revoked() -> (TestDaemon, Vec<u8>, Value) {
    let daemon = TestDaemon::default().await;
    let key = generate_key().unwrap();
    owner(&daemon, "/v1/pki", json!({})).await;
    let (status, made) = owner(&daemon, "/v1/pki/certificates", wanted(&key, "alice")).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    let token = daemon.owner().await;
    let before = daemon.by(&token, ApiSide::People, "GET /v1/pki", None).await.body;
    let (status, _) =
        owner(&daemon, "/v1/pki/revocations", json!({ "certificate": "alice" })).await;
    assert_eq!(status, StatusCode::OK);
    (daemon, der(&made, "certificate"), json!({ "certificates": before["certificates"] }))
}

async fn assert_refused(daemon: &TestDaemon, certificate: &[u8], case: &str) {
    let trust = trust(daemon).await;
    assert_eq!(trust.check_client_at(certificate, daemon.now()), None, "{case}");
    let token = daemon.owner().await;
    let list = daemon.by(&token, ApiSide::People, "GET /v1/pki", None).await.body;
    assert!(list["certificates"][0]["revoked"].is_i64(), "{case}: {list}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_restored_or_deleted_file_gives_no_certificate_back() {
    let (daemon, alice, before) = revoked().await;
    assert_refused(&daemon, &alice, "revoked").await;
    // An older copy, in which the certificate is not revoked, and an empty one.
    for text in [before.to_string(), json!({ "certificates": [] }).to_string()] {
        fs::write(daemon.state().join(RECORDS), &text).unwrap();
        assert_refused(&daemon, &alice, &text).await;
    }
    let change = |state: &Path| fs::write(state.join(RECORDS), before.to_string()).unwrap();
    let daemon = daemon.restart("", change).await;
    assert_refused(&daemon, &alice, "restored before a start").await;
    let daemon = daemon.restart("", |state| fs::remove_file(state.join(RECORDS)).unwrap()).await;
    assert_refused(&daemon, &alice, "deleted before a start").await;
    // A valid certificate survives a start.
    let key = generate_key().unwrap();
    let (_, made) = owner(&daemon, "/v1/pki/certificates", wanted(&key, "carol")).await;
    let daemon = daemon.restart("", |_| {}).await;
    let carol = trust(&daemon).await.check_client_at(&der(&made, "certificate"), daemon.now());
    assert_eq!(carol.as_deref(), Some("carol"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolled_back_store_accepts_nobody_and_later_only_new_certificates() {
    let daemon = TestDaemon::default().await;
    let key = generate_key().unwrap();
    owner(&daemon, "/v1/pki", json!({})).await;
    let (_, made) = owner(&daemon, "/v1/pki/certificates", wanted(&key, "alice")).await;
    let alice = der(&made, "certificate");
    let known = trust(&daemon).await;
    daemon.gate.raise_mark().await.unwrap();
    let copy = tempfile::tempdir().unwrap();
    let files = |from: &Path, to: &Path| {
        for end in ["", "-wal", "-shm"] {
            let name = format!("countersign.db{end}");
            let _ = fs::remove_file(to.join(&name));
            let _ = fs::copy(from.join(&name), to.join(&name));
        }
    };
    files(&daemon.state(), copy.path());
    owner(&daemon, "/v1/pki/revocations", json!({ "certificate": "alice" })).await;
    daemon.gate.raise_mark().await.unwrap();
    let daemon = daemon.restart("", |state| files(copy.path(), state)).await;
    let (status, body) = public(&daemon, "GET /v1/pki/revocations", None).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{body}");
    // A person accepts the store, in which the revocation is missing.
    let token = daemon.owner().await;
    let body = Some(json!({ "reason": "a backup" }));
    let done = daemon.change(&token, "POST /v1/ledger/acknowledge", body).await;
    assert_eq!(done.status, 200, "{:?}", done.body);
    refresh(&daemon, &known).await;
    assert_eq!(known.check_client_at(&alice, daemon.now()), None);
    let daemon = daemon.restart("", |_| {}).await;
    assert_refused(&daemon, &alice, "after the next start").await;
    let (_, made) = owner(&daemon, "/v1/pki/certificates", wanted(&key, "alice")).await;
    let new = trust(&daemon).await.check_client_at(&der(&made, "certificate"), daemon.now());
    assert_eq!(new.as_deref(), Some("alice"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_the_ledger_does_not_name_issues_nothing() {
    let (daemon, ..) = revoked().await;
    let fault = async |daemon: &TestDaemon| {
        let ready = daemon.ask(ApiSide::Agents, "GET /ready", &[], None).await;
        assert_eq!(ready.status, 200);
        ready.body["fleet_fault"].clone()
    };
    assert_eq!(fault(&daemon).await, Value::Null);
    let (key, other) = countersign_tls::generate_authority("x", daemon.now()).unwrap();
    let folder = daemon.state().join("pki");
    let (own_key, own) = (folder.join("ca.key"), folder.join("ca.crt"));
    let kept = (fs::read(&own_key).unwrap(), fs::read(&own).unwrap());
    fs::write(&own_key, countersign_tls::key_pem(&key).as_bytes()).unwrap();
    fs::write(&own, countersign_tls::pem(&other)).unwrap();
    let said = fault(&daemon).await;
    assert!(said.as_str().is_some_and(|text| text.contains("not the one in the ledger")), "{said}");
    for line in ["GET /v1/pki/revocations", "GET /v1/pki/authority"] {
        let (status, body) = public(&daemon, line, None).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{line}: {body}");
    }
    let agent = generate_key().unwrap();
    let (status, body) = owner(&daemon, "/v1/pki/certificates", wanted(&agent, "mallory")).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{body}");
    fs::write(&own_key, kept.0).unwrap();
    fs::remove_file(&own).unwrap();
    assert!(fault(&daemon).await.is_string(), "a deleted certificate is reported");
    fs::write(&own, kept.1).unwrap();
    assert_eq!(fault(&daemon).await, Value::Null);
}
