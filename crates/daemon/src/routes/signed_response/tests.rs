//! What a signature of the daemon covers: a response that was made for another request is never
//! signed for this one.

use countersign_ledger::response_signature::parse_signature;
use ed25519_dalek::{Signature, VerifyingKey};

use super::*;
use crate::listeners::Peer;
use crate::routes::AgentApi;
use crate::test_daemon::{ApiSide, TestDaemon};

const NONCE: &str = "AAAAAAAAAAAAAAAAAAAAAA";
const OTHER_NONCE: &str = "BBBBBBBBBBBBBBBBBBBBBB";
const ASSESS: &str = "/v1/assess";
const CALL: &str = r#"{"command":"ls"}"#;

/// A request as a client sends it.
#[derive(Clone, Copy)]
struct Sent<'a> {
    nonce: &'a str,
    method: &'a str,
    target: &'a str,
    credential: &'a str,
    body: &'a str,
}

/// What came back.
struct Received {
    status: u16,
    body: Vec<u8>,
    signature: Option<String>,
}

impl Sent<'_> {
    async fn send(&self, daemon: &TestDaemon) -> Received {
        let host = format!("127.0.0.1:{}", daemon.port(ApiSide::Agents));
        let mut request = Request::builder().method(self.method).uri(self.target);
        request = request.header("host", host).header("content-type", "application/json");
        for (name, value) in [(NONCE_HEADER, self.nonce), ("authorization", self.credential)] {
            if !value.is_empty() {
                request = request.header(name, value);
            }
        }
        let request = request.body(Body::from(self.body.to_owned())).unwrap();
        let peer = Peer::Network { local: true };
        let response = AgentApi::new(&daemon.api).respond(request, peer).await;
        let (parts, body) = response.into_parts();
        let signature = parts.headers.get(SIGNATURE_HEADER);
        Received {
            status: parts.status.as_u16(),
            signature: signature.map(|value| value.to_str().unwrap().to_owned()),
            body: axum::body::to_bytes(body, MAX_RESPONSE).await.unwrap().to_vec(),
        }
    }

    /// Whether the daemon's key signed this response to this request.
    fn is_answered_by(&self, daemon: &TestDaemon, received: &Received) -> bool {
        let exchange = SignedExchange {
            nonce: self.nonce,
            method: self.method,
            target: self.target,
            credential: self.credential,
            request: Digest::of(self.body.as_bytes()),
            status: received.status,
            response: Digest::of(&received.body),
        };
        let Some(signature) = &received.signature else { return false };
        let signature = Signature::from_bytes(&parse_signature(signature).unwrap());
        let key = VerifyingKey::from_bytes(&daemon.api.keys.response_public()).unwrap();
        key.verify_strict(exchange.signing_input().as_bytes(), &signature).is_ok()
    }
}

#[tokio::test]
async fn a_signature_holds_for_its_own_request_only() {
    let daemon = TestDaemon::default().await;
    let credential = format!("Bearer {}", daemon.agent("coder", 3_600_000).await);
    let sent =
        Sent { nonce: NONCE, method: "POST", target: ASSESS, credential: &credential, body: CALL };
    let received = sent.send(&daemon).await;
    assert_eq!(received.status, 200, "{}", String::from_utf8_lossy(&received.body));
    assert!(sent.is_answered_by(&daemon, &received));
    for (name, other) in [
        ("another nonce", Sent { nonce: OTHER_NONCE, ..sent }),
        ("another method", Sent { method: "PUT", ..sent }),
        ("another route", Sent { target: "/v1/requests", ..sent }),
        ("a query", Sent { target: "/v1/assess?x=1", ..sent }),
        ("another agent", Sent { credential: "Bearer csa_other", ..sent }),
        ("no credential", Sent { credential: "", ..sent }),
        ("another call", Sent { body: r#"{"command":"rm -rf /"}"#, ..sent }),
        ("another space", Sent { body: r#"{"command": "ls"}"#, ..sent }),
    ] {
        assert!(!other.is_answered_by(&daemon, &received), "{name}");
    }
    let changed = |change: fn(&mut Received)| {
        let Received { status, body, signature } = &received;
        let mut other =
            Received { status: *status, body: body.clone(), signature: signature.clone() };
        change(&mut other);
        other
    };
    for (name, other) in [
        ("a truncated body", changed(|received| received.body.truncate(received.body.len() - 1))),
        ("no body", changed(|received| received.body.clear())),
        ("a longer body", changed(|received| received.body.push(b'\n'))),
        ("another status", changed(|received| received.status = 201)),
        ("no signature", changed(|received| received.signature = None)),
    ] {
        assert!(!sent.is_answered_by(&daemon, &other), "{name}");
    }
}

#[tokio::test]
async fn a_replayed_response_answers_no_later_request() {
    let daemon = TestDaemon::default().await;
    let sent = Sent { nonce: NONCE, method: "GET", target: "/health", credential: "", body: "" };
    let later = Sent { nonce: OTHER_NONCE, ..sent };
    let (first, second) = (sent.send(&daemon).await, later.send(&daemon).await);
    assert_eq!(first.body, second.body);
    assert!(sent.is_answered_by(&daemon, &first) && later.is_answered_by(&daemon, &second));
    assert!(!later.is_answered_by(&daemon, &first));
    assert_ne!(first.signature, second.signature);
}

#[tokio::test]
async fn problems_are_signed_and_what_lets_nothing_run_is_not() {
    let daemon = TestDaemon::default().await;
    let sent = Sent { nonce: NONCE, method: "POST", target: ASSESS, credential: "", body: CALL };
    let refused = Sent { credential: "Bearer csa_unknown", ..sent };
    let received = refused.send(&daemon).await;
    assert_eq!(received.status, 401);
    assert!(refused.is_answered_by(&daemon, &received));
    let missing = Sent { target: "/nowhere", ..sent };
    assert!(missing.is_answered_by(&daemon, &missing.send(&daemon).await));
    // Without a nonce, or with one that could be guessed, nothing is signed.
    assert_eq!(Sent { nonce: "", ..sent }.send(&daemon).await.signature, None);
    let short = Sent { nonce: "short", ..sent }.send(&daemon).await;
    assert_eq!((short.status, short.signature), (400, None));
}
