//! Many tasks and many streams at once: bounded memory, nothing lost, others are served.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use countersign_a2a::OutgoingTask;
use countersign_tls::rustls::{ClientConfig, ClientConnection, StreamOwned};
use proofs::http::Client;
use proofs::installation::UNLIMITED;
use serde_json::{Value, json};

use crate::fixture::{ECHO, Fleet, HANG, RunningNode, raw, state, until};

const MIB: u64 = 1 << 20;
const STREAMS: usize = 1000;
const PEERS: usize = 4;
const TASKS_OF_PEER: usize = 2500;

type Stream = StreamOwned<ClientConnection, TcpStream>;

/// The memory of a process, in bytes.
fn memory(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}

fn send(text: &str) -> String {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
            "message": { "messageId": text, "role": "ROLE_USER", "parts": [{ "text": text }] },
            "configuration": { "returnImmediately": true },
        },
    })
    .to_string()
}

/// A stream of a task whose first event has arrived.
fn subscribe(node: &RunningNode, config: &Arc<ClientConfig>, id: &str) -> Stream {
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": { "id": id } });
    let body = body.to_string();
    let mut stream = node.connect(config);
    let head =
        format!("POST /a2a/rpc HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    stream.flush().unwrap();
    let mut room = [0; 8192];
    let mut text = String::new();
    while !text.contains("data: ") {
        let count = stream.read(&mut room).unwrap();
        assert!(count > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&room[..count]));
    }
    stream
}

#[test]
fn a_thousand_open_streams_need_less_than_64_mib() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let files = fleet.issue("alice");
    let (alice, config) = (fleet.peer(&files, &node), fleet.client_config(&files));
    let task = OutgoingTask { text: "Watched".to_owned(), ..OutgoingTask::default() };
    let id = alice.send(&task).unwrap()["id"].as_str().unwrap().to_owned();
    let question = fleet.asked_about("Watched");
    until("the question", || {
        (state(&alice.get(&id).unwrap()) == "TASK_STATE_AUTH_REQUIRED").then_some(())
    });
    let before = memory(node.child.id());
    let mut streams: Vec<Stream> = (0..STREAMS).map(|_| subscribe(&node, &config, &id)).collect();
    let grown = memory(node.child.id()).saturating_sub(before);
    eprintln!("{STREAMS} open streams: {} KiB more, {} MiB before", grown / 1024, before / MIB);
    if cfg!(target_os = "linux") {
        assert!(before > 0 && grown < 64 * MIB, "{grown}");
    }
    fleet.decide(&question, "approve");
    for stream in [0, STREAMS / 2, STREAMS - 1] {
        let (mut text, mut room) = (String::new(), [0; 8192]);
        while !text.contains("TASK_STATE_COMPLETED") {
            let count = streams[stream].read(&mut room).unwrap();
            assert!(count > 0, "stream {stream}: {text}");
            text.push_str(&String::from_utf8_lossy(&room[..count]));
        }
    }
}

#[test]
fn ten_thousand_open_tasks_are_kept_and_others_are_served() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let before = memory(node.child.id());
    let names: Vec<String> = (0..PEERS).map(|number| format!("peer{number}")).collect();
    let configs: Vec<_> =
        names.iter().map(|name| fleet.client_config(&fleet.issue(name))).collect();
    let start = Instant::now();
    thread::scope(|scope| {
        for (name, config) in names.iter().zip(&configs) {
            let mut stream = node.connect(config);
            scope.spawn(move || {
                for number in 0..TASKS_OF_PEER {
                    let body = send(&format!("{name} wants {number}"));
                    let text = raw(&mut stream, "POST /a2a/rpc", &body).unwrap();
                    assert!(text.contains("TASK_STATE_SUBMITTED"), "{text}");
                }
            });
        }
    });
    let took = start.elapsed();
    // Another peer is served while all of them are open.
    let carol = fleet.peer(&fleet.issue("carol"), &node);
    let start = Instant::now();
    let task = OutgoingTask { text: "In between".to_owned(), ..OutgoingTask::default() };
    let id = carol.send(&task).unwrap()["id"].as_str().unwrap().to_owned();
    carol.get(&id).unwrap();
    let other = start.elapsed();
    assert!(other < HANG, "{other:?}");
    let after = memory(node.child.id());
    eprintln!(
        "{} tasks in {took:?}; another peer's send and get in {other:?}; {} MiB before, {} after",
        PEERS * TASKS_OF_PEER,
        before / MIB,
        after / MIB
    );
    if cfg!(target_os = "linux") {
        assert!(after < 256 * MIB, "{after}");
    }
    for config in &configs {
        let mut stream = node.connect(config);
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":1}}"#;
        let text = raw(&mut stream, "POST /a2a/rpc", body).unwrap();
        let answer: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(answer["result"]["totalSize"], TASKS_OF_PEER, "{answer}");
    }
}

/// How many round trips are measured, after as many that warm everything up.
const ROUNDS: usize = 40;

/// A blocking send that the gate approves by itself, and a read of its result.
fn round_trip(stream: &mut Stream, number: usize) -> Duration {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": { "message": {
            "messageId": format!("m{number}"), "role": "ROLE_USER", "parts": [{ "text": "Round" }],
        } },
    });
    let start = Instant::now();
    let text = raw(stream, "POST /a2a/rpc", &body.to_string()).unwrap();
    let answer: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
    let task = &answer["result"]["task"];
    assert_eq!(state(task), "TASK_STATE_COMPLETED", "{text}");
    let get =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": task["id"] } });
    let text = raw(stream, "POST /a2a/rpc", &get.to_string()).unwrap();
    assert!(text.contains("TASK_STATE_COMPLETED"), "{text}");
    start.elapsed()
}

/// An assessment and a confirmation of the same daemon over plain HTTP.
fn plain_round_trip(daemon: &mut Client) -> Duration {
    let start = Instant::now();
    let assess = json!({ "command": "git status" });
    assert_eq!(daemon.post("/v1/assess", &assess).unwrap().status, 200);
    let confirm = json!({ "action": "terminal", "description": "git status",
        "payload": { "command": "git status" } });
    let said = daemon.post("/confirm", &confirm).unwrap();
    assert_eq!(said.status, 200, "{:?}", said.body);
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The median times of a send with a read over mutual TLS, and of the plain exchange.
fn measured(fleet: &Fleet, node: &RunningNode, agent: &str) -> (Duration, Duration) {
    let mut stream = node.connect(&fleet.client_config(&fleet.issue(agent)));
    let mut daemon = Client::with(fleet.daemon.agents, fleet.daemon_token());
    let (mut tls, mut plain) = (Vec::new(), Vec::new());
    for number in 0..2 * ROUNDS {
        let times = (round_trip(&mut stream, number), plain_round_trip(&mut daemon));
        if number >= ROUNDS {
            tls.push(times.0);
            plain.push(times.1);
        }
    }
    (median(tls), median(plain))
}

/// A send that the gate approves by itself, and a read, over a warm connection, beside an
/// assessment and a confirmation of the same daemon. Only reported: the machine may be busy.
#[test]
fn a_round_trip_over_mutual_tls_is_measured() {
    let rule = "[policy]\npermit_up_to = \"MEDIUM\"\n[[policy.rule]]\nname = \"tasks\"\n\
                decision = \"allow\"\ntools = [\"delegate_task\"]\n";
    for (how, settings) in [("a rule", rule), ("a grant", "")] {
        let fleet = Fleet::with(&format!("{UNLIMITED}{settings}"));
        let node = fleet.node(ECHO, &json!({ "command": ["/bin/true"] }));
        if settings.is_empty() {
            // The gate assesses and records each task, and asks nobody.
            let grant = json!({ "shape": "action", "tool": "delegate_task", "agent": "node" });
            let (status, said) = fleet.change("/v1/grants", &grant);
            assert_eq!(status, 201, "{said}");
        }
        let (tls, plain) = measured(&fleet, &node, "alice");
        let factor = tls.as_secs_f64() / plain.as_secs_f64();
        eprintln!(
            "by {how}: send and get over mutual TLS {tls:?}, assess and confirm {plain:?}: \
             {factor:.2}"
        );
    }
}
