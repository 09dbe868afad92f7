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

    // The same id with other content is neither a new task nor silently the old one.
    for (name, value) in [
        (
            "message",
            json!({ "messageId": "same", "role": "ROLE_USER", "parts": [{ "text": "Two" }] }),
        ),
        ("metadata", json!({ "more": true })),
    ] {
        let mut other = body.clone();
        other[name] = value;
        let error = alice.call("SendMessage", &other).unwrap_err().to_string();
        assert!(error.contains("messageId"), "{error}");
    }
    // The original method is repeated safely if its message has an id.
    let original = json!({ "task": "Original", "requester": "x", "messageId": "m-1" });
    let first = alice.call("tasks/send", &original).unwrap();
    let second = alice.call("tasks/send", &original).unwrap();
    assert_eq!(first["taskId"], second["taskId"]);
    let other = json!({ "task": "Another", "requester": "x", "messageId": "m-1" });
    assert!(alice.call("tasks/send", &other).is_err());
    fleet.asked_about("Original");
    assert_eq!(fleet.pending().len(), 2);
}

/// How many files and sockets a process has open.
fn descriptors(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

#[test]
fn an_oversized_body_is_refused_although_it_would_be_a_task() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let config = fleet.client_config(&fleet.issue("alice"));
    let request = |padding: usize| {
        let message = json!({
            "messageId": padding.to_string(), "role": "ROLE_USER",
            "parts": [{ "text": format!("Padded with {padding}") }],
            "extra": "a".repeat(padding),
        });
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
            "params": { "message": message, "configuration": { "returnImmediately": true } },
        });
        let mut stream = node.connect(&config);
        raw(&mut stream, "POST /a2a/rpc", &body.to_string()).unwrap_or_default()
    };
    let heard = request(200 << 10);
    assert!(heard.contains("\"result\""), "{heard}");
    let heard = request(400 << 10);
    assert!(heard.contains("\"error\"") && heard.contains("bytes"), "{heard}");
    fleet.asked_about(&format!("Padded with {}", 200 << 10));
    assert_eq!(fleet.pending().len(), 1);
}

#[test]
fn readers_that_stop_reading_are_disconnected_and_hold_nobody_up() {
    let fleet = Fleet::start();
    let large = "import sys; print('a'*900000)";
    let node = fleet.node(large, &json!({}));
    let files = fleet.issue("alice");
    let (alice, config) = (fleet.peer(&files, &node), fleet.client_config(&files));
    let id = alice.send(&task("Large")).unwrap()["id"].as_str().unwrap().to_owned();
    fleet.approve("Large");
    alice.wait(&id, (HANG, Duration::from_millis(50)), |_, _| {}).unwrap();
    let before = descriptors(node.child.id());
    let get = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": id } });
    let get = get.to_string();
    let head =
        format!("POST /a2a/rpc HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", get.len());
    // More than the buffers of both ends hold, and no byte of it is read.
    let stalled: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = node.connect(&config);
            stream.write_all((head.clone() + &get).repeat(60).as_bytes()).unwrap();
            stream.flush().unwrap();
            stream
        })
        .collect();
    // A body that never comes.
    let mut slow = node.connect(&config);
    slow.write_all(b"POST /a2a/rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{").unwrap();
    let start = Instant::now();
    alice.send(&task("In between")).unwrap();
    fleet.asked_about("In between");
    assert!(start.elapsed() < HANG);
    if cfg!(target_os = "linux") {
        assert!(before > 0 && descriptors(node.child.id()) >= before + stalled.len());
        until("the end of the connections", || {
            (descriptors(node.child.id()) < before + stalled.len()).then_some(())
        });
    }
    drop(stalled);
}

#[test]
fn a_page_of_large_tasks_is_bounded_and_continues() {
    let fleet = Fleet::start();
    let node = fleet.node("import sys; print('a'*900000)", &json!({}));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let ids: Vec<String> = (0..6)
        .map(|number| {
            let text = format!("Large {number}");
            let id = alice.send(&task(&text)).unwrap()["id"].as_str().unwrap().to_owned();
            fleet.approve(&text);
            alice.wait(&id, (HANG, Duration::from_millis(50)), |_, _| {}).unwrap();
            id
        })
        .collect();
    let (mut found, mut token, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let params = json!({ "pageSize": 100, "includeArtifacts": true, "pageToken": token });
        let page = alice.call("ListTasks", &params).unwrap();
        assert!(page.to_string().len() < 1 << 20, "{}", page.to_string().len());
        let tasks = page["tasks"].as_array().unwrap();
        found.extend(tasks.iter().map(|task| task["id"].as_str().unwrap().to_owned()));
        token = page["nextPageToken"].as_str().unwrap().to_owned();
        pages += 1;
        if token.is_empty() {
            break;
        }
    }
    found.reverse();
    assert_eq!((found, pages > 1), (ids, true));
    let without = alice.call("ListTasks", &json!({ "pageSize": 100 })).unwrap();
    assert_eq!(without["tasks"].as_array().unwrap().len(), 6, "results are not loaded");
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

#[test]
fn a_node_that_cannot_ask_for_revocations_soon_accepts_nobody() {
    let mut fleet = Fleet::start();
    let socket = json!({ "agents": fleet.socket(), "revocation_age": 2 });
    let node = fleet.node(ECHO, &socket);
    let files = fleet.issue("alice");
    let config = fleet.client_config(&files);
    // Connections before and after are both refused.
    let mut warm = until("a connection", || {
        let mut stream = node.connect(&config);
        let card = raw(&mut stream, "GET /agent-card.json", "").ok()?;
        card.starts_with("HTTP/1.1 200").then_some(stream)
    });
    fleet.kill_daemon();
    until("the refusal of the open connection", || {
        let answer = raw(&mut warm, "GET /agent-card.json", "");
        (!answer.is_ok_and(|text| text.starts_with("HTTP/1.1 200"))).then_some(())
    });
    let mut fresh = node.connect(&config);
    let answer = raw(&mut fresh, "GET /agent-card.json", "");
    assert!(!answer.as_ref().is_ok_and(|text| text.starts_with("HTTP/1.1 200")), "{answer:?}");
    fleet.start_daemon();
    until("the next list", || {
        let mut stream = node.connect(&config);
        let card = raw(&mut stream, "GET /agent-card.json", "").ok()?;
        card.starts_with("HTTP/1.1 200").then_some(())
    });
}
