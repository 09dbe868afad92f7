//! The official Python SDK: its client with our node, and our client with its server.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use countersign_a2a::{AgentUrl, FleetFiles, OutgoingTask, RemoteAgent};
use proof_skip::{Cause, skip};
use serde_json::{Value, json};

use crate::fixture::{ECHO, Fleet, HANG, RunningNode, state};

/// Installed by `./test`.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/a2a-venv/bin/python");
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/a2a/sdk_client.py");
const CARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/a2a/sdk_card.py");
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/a2a/sdk_server.py");

fn is_installed() -> bool {
    let found = Command::new(PYTHON).args(["-c", "import a2a, jwt, uvicorn"]).output();
    let is_there = found.is_ok_and(|out| out.status.success());
    if !is_there {
        skip(Cause::Tool, "a2a-sdk is not installed (target/a2a-venv)");
    }
    is_there
}

#[test]
fn the_sdk_client_sends_streams_reads_and_cancels() {
    if !is_installed() {
        return;
    }
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let files = fleet.issue("alice");
    for binding in ["JSONRPC", "HTTP+JSON"] {
        let mut client = Command::new(PYTHON)
            .arg(CLIENT)
            .arg(format!("https://{}", node.address))
            .args([&files.certificate, &files.key, &files.authority])
            .arg(binding)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        fleet.approve(&format!("Stream by {binding}"));
        fleet.approve(&format!("Send by {binding}"));
        let mut told = Vec::new();
        for line in BufReader::new(client.stdout.take().unwrap()).lines() {
            told.push(line.unwrap());
        }
        assert!(client.wait().unwrap().success(), "{binding}: {told:#?}");
        assert_eq!(told.last().map(String::as_str), Some("ok"), "{binding}: {told:#?}");
    }
}

#[test]
fn the_sdk_verifies_the_signed_card_of_a_node() {
    if !is_installed() {
        return;
    }
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let (alice, bob) = (fleet.issue("alice"), FleetFiles::in_folder(&fleet.pki(), "bob"));
    let checked = Command::new(PYTHON)
        .arg(CARD)
        .arg(format!("https://{}", node.address))
        .args([&alice.certificate, &alice.key, &alice.authority, &bob.certificate])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(told.trim(), "ok", "{}", String::from_utf8_lossy(&checked.stderr));
    // Our own client checks it as well.
    let trust = alice.trust().unwrap();
    alice.refresh(&trust, &fleet.authority()).unwrap();
    let (card, signer) = fleet.peer(&alice, &node).checked_card(&trust).unwrap();
    assert_eq!((&card["name"], signer.as_deref()), (&json!("bob"), Some("bob")));
}

#[test]
fn our_client_delegates_to_the_sdk_server() {
    if !is_installed() {
        return;
    }
    let fleet = Fleet::start();
    let (alice, server) = (fleet.issue("alice"), fleet.issue("sdk"));
    let child = Command::new(PYTHON)
        .arg(SERVER)
        .args([&server.certificate, &server.key, &server.authority])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Killed also if the test fails.
    let mut running = RunningNode { child, address: ([127, 0, 0, 1], 0).into() };
    let mut line = String::new();
    BufReader::new(running.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = AgentUrl::parse(&format!("https://127.0.0.1:{}", line.trim())).unwrap();
    let remote = RemoteAgent::new(url, fleet.client_config(&alice));
    let trust = alice.trust().unwrap();
    let (card, signer) = remote.checked_card(&trust).unwrap();
    assert_eq!((&card["name"], signer.as_deref()), (&json!("sdk sample"), Some("sdk")), "{card}");
    let task = OutgoingTask { text: "hello".to_owned(), ..OutgoingTask::default() };
    let sent = remote.send(&task).unwrap();
    let pause = std::time::Duration::from_millis(50);
    let done = remote.wait(sent["id"].as_str().unwrap(), (HANG, pause), |_, _| {}).unwrap();
    drop(running);
    assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{done}");
    let text = done.pointer("/artifacts/0/parts/0/text").and_then(Value::as_str);
    assert_eq!(text, Some("sdk:hello"), "{done}");
}
