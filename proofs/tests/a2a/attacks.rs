//! Attacks by peers and strangers: nobody without a valid certificate reaches HTTP, nobody reaches
//! another agent's task, nothing runs twice.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_a2a::{FleetFiles, OutgoingTask};
use countersign_tls::rustls::{ClientConfig, RootCertStore};
use countersign_tls::{
    FleetAuthority, FleetTrust, NewFleetCertificate, fleet_client_config, generate_authority,
    generate_key, sign_with_key,
};
use countersign_types::time::{Millis, Timestamp};
use serde_json::{Value, json};

use crate::fixture::{ECHO, Fleet, HANG, RunningNode, raw, state, until};

fn task(text: &str) -> OutgoingTask {
    OutgoingTask { text: text.to_owned(), ..OutgoingTask::default() }
}

/// What a client with this configuration hears when it asks for the card.
fn heard(node: &RunningNode, config: &Arc<ClientConfig>) -> String {
    let mut stream = node.connect(config);
    raw(&mut stream, "GET /agent-card.json", "").unwrap_or_else(|error| error.to_string())
}

#[expect(clippy::disallowed_methods, reason = "certificates are compared with the real time")]
fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp(i64::try_from(since.as_millis()).unwrap())
}

/// A certificate for `alice`, of this authority, issued at this time for an hour.
fn certificate(authority: &FleetAuthority, at: Timestamp) -> (Vec<u8>, Vec<u8>) {
    let key = generate_key().unwrap();
    let (public_key, _) = sign_with_key(&key, |_| String::new()).unwrap();
    let new = NewFleetCertificate {
        agent: "alice",
        hosts: &[],
        public_key: &public_key,
        serial: [0x41; 16],
        life: Millis(3_600_000),
    };
    (authority.issue(&new, at).unwrap(), key.to_vec())
}

/// A configuration that presents this certificate and trusts the real fleet.
fn presenting(fleet: &Fleet, (certificate, key): &(Vec<u8>, Vec<u8>)) -> Arc<ClientConfig> {
    let files = FleetFiles::in_folder(&fleet.pki(), "bob");
    let trust: Arc<FleetTrust> = files.trust().unwrap();
    files.refresh(&trust, &fleet.authority()).unwrap();
    fleet_client_config(certificate, key, trust, None).unwrap()
}

#[test]
fn nobody_without_a_valid_certificate_reaches_http() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let good = fleet.client_config(&fleet.issue("alice"));
    assert!(heard(&node, &good).starts_with("HTTP/1.1 200"), "{}", heard(&node, &good));

    // Plain HTTP.
    let mut plain = TcpStream::connect(node.address).unwrap();
    plain.set_read_timeout(Some(HANG)).unwrap();
    plain.write_all(b"GET /agent-card.json HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    let _ = plain.read_to_end(&mut bytes);
    assert!(!String::from_utf8_lossy(&bytes).contains("HTTP/1.1"), "{bytes:?}");

    // TLS without a certificate.
    let files = FleetFiles::in_folder(&fleet.pki(), "bob");
    let mut roots = RootCertStore::empty();
    let authority = countersign_tls::certificate_file(&files.authority).unwrap();
    roots.add(authority[0].clone()).unwrap();
    let provider = Arc::new(countersign_tls::rustls::crypto::ring::default_provider());
    let none = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let none = heard(&node, &Arc::new(none));
    assert!(!none.contains("HTTP/1.1"), "{none}");

    // Another authority with the same name, and an expired certificate of the right one.
    let (key, own) = generate_authority("Countersign fleet", now()).unwrap();
    let stranger = FleetAuthority::open(&key, &own).unwrap();
    let wrong = heard(&node, &presenting(&fleet, &certificate(&stranger, now())));
    assert!(!wrong.contains("HTTP/1.1"), "{wrong}");
    let state = fleet.folder.path().join("state/pki");
    let key = countersign_tls::private_key_file(&state.join("ca.key")).unwrap();
    let ours = FleetAuthority::open(&key, &authority[0]).unwrap();
    let day = Timestamp(now().0 - 86_400_000);
    let expired = heard(&node, &presenting(&fleet, &certificate(&ours, day)));
    assert!(!expired.contains("HTTP/1.1"), "{expired}");
}

#[test]
fn a_revoked_certificate_is_refused_within_a_minute_also_on_open_connections() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let (alice, carol) = (fleet.issue("alice"), fleet.issue("carol"));
    let (alice, carol) = (fleet.client_config(&alice), fleet.client_config(&carol));
    let mut open = node.connect(&alice);
    assert!(raw(&mut open, "GET /agent-card.json", "").unwrap().starts_with("HTTP/1.1 200"));
    let start = Instant::now();
    assert_eq!(fleet.change("/v1/pki/revocations", &json!({ "certificate": "alice" })).0, 200);
    let took = until("the refusal", || {
        let mut fresh = node.connect(&alice);
        let heard = raw(&mut fresh, "GET /agent-card.json", "").unwrap_or_default();
        (!heard.contains("HTTP/1.1 200")).then(|| start.elapsed())
    });
    eprintln!("a revoked certificate was refused after {took:?}");
    assert!(took < HANG);
    let heard = raw(&mut open, "GET /agent-card.json", "").unwrap_or_default();
    assert!(!heard.contains("HTTP/1.1 200"), "{heard}");
    assert!(self::heard(&node, &carol).starts_with("HTTP/1.1 200"), "others are served");
}

#[test]
fn a_task_belongs_to_its_sender() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let mallory = fleet.peer(&fleet.issue("mallory"), &node);
    let sent = alice.send(&task("Secret of alice")).unwrap();
    let id = sent["id"].as_str().unwrap();
    for error in [mallory.get(id).unwrap_err(), mallory.cancel(id).unwrap_err()] {
        assert!(error.to_string().contains("task not found"), "{error}");
    }
    let list = mallory.call("ListTasks", &json!({})).unwrap();
    assert_eq!(list["tasks"], json!([]));
    let original = mallory.call("tasks/get", &json!({ "taskId": id })).unwrap_err();
    assert!(original.to_string().contains("task not found"), "{original}");
    // A chosen id, and another requester in the body, change nothing.
    let mine = mallory
        .call("tasks/send", &json!({ "task": "Forged", "taskId": id, "requester": "alice" }))
        .unwrap();
    assert_ne!(mine["taskId"], id);
    let card = fleet.asked_about("Forged")["card"].to_string();
    assert!(card.contains("mallory"), "{card}");
    let kept = alice.get(id).unwrap();
    assert_eq!(kept["history"][0]["parts"][0]["text"], "Secret of alice");
}

#[test]
fn a_repeated_message_is_one_task() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let body = json!({
        "message": { "messageId": "same", "role": "ROLE_USER", "parts": [{ "text": "Once" }] },
        "configuration": { "returnImmediately": true },
    });
    let first = alice.call("SendMessage", &body).unwrap();
    let second = alice.call("SendMessage", &body).unwrap();
    assert_eq!(first["task"]["id"], second["task"]["id"]);
    fleet.asked_about("Once");
    assert_eq!(fleet.pending().len(), 1);
}

#[test]
fn large_and_slow_requests_do_not_hold_the_others_up() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let files = fleet.issue("alice");
    let config = fleet.client_config(&files);
    let mut stream = node.connect(&config);
    let large = format!("{{\"x\":\"{}\"}}", "a".repeat(400 << 10));
    let heard = raw(&mut stream, "POST /a2a/rpc", &large).unwrap_or_default();
    assert!(!heard.contains("\"result\""), "{heard}");
    // A body that never comes, and streams whose reader does not read.
    let mut slow = node.connect(&config);
    slow.write_all(b"POST /a2a/rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{").unwrap();
    let alice = fleet.peer(&files, &node);
    let mut readers = Vec::new();
    for number in 0..20 {
        let mut reader = node.connect(&config);
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": { "message": {
                "messageId": format!("s{number}"), "role": "ROLE_USER",
                "parts": [{ "text": format!("Stream {number}") }],
            } },
        })
        .to_string();
        let head = format!(
            "POST /a2a/rpc HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        reader.write_all(head.as_bytes()).unwrap();
        readers.push(reader);
    }
    let start = Instant::now();
    alice.send(&task("In between")).unwrap();
    assert!(start.elapsed() < HANG);
    fleet.asked_about("In between");
}

#[test]
fn a_flood_of_one_peer_is_bounded_and_others_are_served() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({ "open_tasks": 10, "per_minute": 1000 }));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let carol = fleet.peer(&fleet.issue("carol"), &node);
    let sent: Vec<_> =
        (0..40).map(|number| alice.send(&task(&format!("Flood {number}")))).collect();
    let taken = sent.iter().filter(|one| one.is_ok()).count();
    assert_eq!(taken, 10, "{sent:?}");
    let refused: Vec<String> =
        sent.into_iter().filter_map(Result::err).map(|error| error.to_string()).collect();
    assert!(refused.iter().all(|error| error.contains("open already")), "{refused:?}");
    carol.send(&task("Of carol")).unwrap();
    fleet.asked_about("Of carol");
}

#[test]
fn a_peer_may_ask_only_what_its_policy_says() {
    let fleet = Fleet::start();
    let peers = json!({
        "mallory": { "allowed": false },
        "alice": { "tasks": ["Summarize *"], "per_day": 2 },
        "carol": { "max_tier": "LOW" },
    });
    let node = fleet.node(ECHO, &json!({ "peer": peers }));
    let peer = |name: &str| fleet.peer(&fleet.issue(name), &node);
    let (mallory, alice, carol) = (peer("mallory"), peer("alice"), peer("carol"));
    for error in [
        mallory.send(&task("Summarize this")).unwrap_err(),
        alice.send(&task("Delete this")).unwrap_err(),
    ] {
        assert!(error.to_string().contains("may not send this task"), "{error}");
    }
    for number in 0..2 {
        alice.send(&task(&format!("Summarize {number}"))).unwrap();
    }
    let error = alice.send(&task("Summarize more")).unwrap_err().to_string();
    assert!(error.contains("2 tasks in a day"), "{error}");
    // A delegated task is at least MEDIUM: no person is asked about carol's.
    let sent = carol.send(&task("Summarize that")).unwrap();
    let pause = Duration::from_millis(50);
    let done = carol.wait(sent["id"].as_str().unwrap(), (HANG, pause), |_, _| {}).unwrap();
    assert_eq!(state(&done), "TASK_STATE_REJECTED");
    assert_eq!(fleet.pending().len(), 2);
}

#[test]
fn policies_are_read_again_and_an_invalid_file_changes_nothing() {
    let fleet = Fleet::start();
    let file = fleet.folder.path().join("peers.toml");
    let node = fleet.node(ECHO, &json!({ "policies": file }));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    alice.send(&task("Before")).unwrap();
    let write = |lines: &str| {
        let limits = "[default]\nopen_tasks = 100000\nper_minute = 100000\nper_day = 100000\n";
        std::fs::write(&file, format!("{limits}[peer.alice]\n{lines}\n")).unwrap();
    };
    write("allowed = false");
    let refused = until("the refusal", || alice.send(&task("After")).err());
    assert!(refused.to_string().contains("may not send"), "{refused}");
    // An invalid file permits nothing more; a later valid one is used.
    write("allowed = maybe");
    assert!(alice.send(&task("Still")).is_err());
    write("tasks = [\"Again\"]");
    until("the permission", || alice.send(&task("Again")).ok());
    assert!(alice.send(&task("Other")).is_err());
}

#[test]
fn invalid_requests_are_errors_and_never_tasks() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let config = fleet.client_config(&fleet.issue("alice"));
    let mut stream = node.connect(&config);
    for (body, code) in [
        ("{", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ListTasks"}"#, -32700),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ListTasks"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"task":" "}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}"#, -32001),
        (r#"{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig"}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}"#, -32004),
    ] {
        let text = raw(&mut stream, "POST /a2a/rpc", body).unwrap();
        let answer: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
    }
    assert!(fleet.pending().is_empty());
    let alice = fleet.peer(&FleetFiles::in_folder(&fleet.pki(), "alice"), &node);
    assert_eq!(alice.call("ListTasks", &json!({})).unwrap()["tasks"], json!([]));
}
