//! What breaks: the daemon, the server, the client, or the number of calls. Nothing risky runs.

use std::time::Instant;

use serde_json::{Value, json};

use crate::fixture::{ProxyFixture, alone, report_figures, until, words};

fn mail(number: usize) -> Value {
    json!({"to": "bo@example.org", "text": format!("number {number}")})
}

#[test]
fn without_a_daemon_only_harmless_calls_run() {
    let _alone = alone();
    let mut place = ProxyFixture::new();
    let mut client = place.proxy(None, &[]);
    client.greet();
    place.gate.take().unwrap().kill().unwrap();
    client.call(1, "send_email", &mail(1));
    client.call(2, "read_file", &json!({"path": "a"}));
    assert_eq!(client.next()["id"], 2);
    let denied = client.next();
    assert_eq!(denied["result"]["isError"], true);
    assert!(words(&denied).contains("Nothing was approved"), "{denied}");
    assert!(!place.reached("send_email"));
}

#[test]
fn a_daemon_that_is_killed_while_a_call_waits_approves_nothing() {
    let _alone = alone();
    let mut place = ProxyFixture::new();
    let mut client = place.proxy(Some(4000), &[]);
    client.greet();
    client.call(1, "send_email", &mail(1));
    place.waiting(1);
    place.gate.take().unwrap().kill().unwrap();
    let answer = client.next();
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(!place.reached("send_email"));
}

#[test]
fn a_daemon_that_takes_calls_and_never_answers_is_not_waited_for_longer_than_the_client_does() {
    let _alone = alone();
    let place = ProxyFixture::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut words_of_proxy = place.proxy_words(Some(1500));
    words_of_proxy[1] = silent.local_addr().unwrap().to_string();
    let server = format!("{}/tests/mcp/server.py", env!("CARGO_MANIFEST_DIR"));
    words_of_proxy.extend(["python3".to_owned(), server]);
    let mut client = place.start(&words_of_proxy, &[]);
    client.greet();
    client.call(1, "send_email", &mail(1));
    let answer = client.next();
    assert_eq!(answer["result"]["isError"], true);
    assert!(!place.reached("send_email"));
}

#[test]
fn a_server_that_dies_in_a_call_leaves_no_call_unanswered() {
    let _alone = alone();
    let place = ProxyFixture::new();
    let mut client = place.proxy(None, &[]);
    client.greet();
    client.call(1, "send_email", &mail(1));
    place.waiting(1);
    client.call(2, "never", &json!({}));
    client.call(3, "crash", &json!({}));
    let waiting = place.waiting(3);
    for request in waiting.iter().filter(|one| one["tool"] == "mcp__files__never") {
        assert_eq!(place.decide(request, true, None).status, 200);
    }
    until("the call reaches the server", || place.reached("never"));
    for request in waiting.iter().filter(|one| one["tool"] == "mcp__files__crash") {
        assert_eq!(place.decide(request, true, None).status, 200);
    }
    let mut ids: Vec<i64> = Vec::new();
    for _ in 0..3 {
        let answer = client.next();
        assert!(answer["error"]["message"].is_string(), "{answer}");
        ids.push(answer["id"].as_i64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3]);
    assert!(!place.reached("send_email"));
    assert_eq!(client.child.wait().unwrap().code(), Some(3));
    for request in &waiting {
        let state = place.request(&request["id"])["state"].clone();
        assert!(state != "pending", "{state}");
    }
}

#[test]
fn a_client_that_hangs_up_takes_its_calls_back() {
    let _alone = alone();
    let place = ProxyFixture::new();
    let mut client = place.proxy(None, &[]);
    client.greet();
    client.call(1, "send_email", &mail(1));
    let request = place.waiting(1).remove(0);
    assert_eq!(client.end(), 0);
    assert_eq!(place.request(&request["id"])["state"], "cancelled");
    assert!(!place.reached("send_email"));
}

#[test]
fn a_signal_ends_the_server_too() {
    let _alone = alone();
    let place = ProxyFixture::new();
    let mut client = place.proxy(None, &[]);
    client.greet();
    let id = client.child.id().to_string();
    let children = format!("/proc/{id}/task/{id}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    let told = std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert!(told.success());
    let code = client.child.wait().unwrap().code();
    assert_eq!(code, Some(143), "ended by SIGTERM, as the server was");
    for child in children.split_whitespace() {
        assert!(!std::path::Path::new(&format!("/proc/{child}/stat")).exists(), "{child} lives");
    }
}

const MANY: usize = 1000;

#[test]
fn a_thousand_calls_at_once_keep_their_ids_and_none_runs_without_its_own_yes() {
    let _alone = alone();
    let place = ProxyFixture::new();
    let mut client = place.proxy(None, &[]);
    client.greet();
    let start = Instant::now();
    for number in 0..MANY {
        client.call(number, "send_email", &mail(number));
    }
    // Even ones are approved, odd ones denied, as they come.
    let mut decided = std::collections::HashSet::new();
    while decided.len() < MANY {
        for request in place.waiting(1) {
            let id = request["id"].as_str().unwrap().to_owned();
            if !decided.insert(id) {
                continue;
            }
            let yes = decided.len() % 2 == 0;
            assert_eq!(place.decide(&request, yes, None).status, 200);
        }
    }
    let mut ran = 0;
    let mut answered = std::collections::HashSet::new();
    for _ in 0..MANY {
        let answer = client.next();
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        assert!(answered.insert(id), "{id} was answered twice");
        if answer["result"]["isError"] == false {
            ran += 1;
            // Each answer is for its own call.
            let mine = format!("number {id}\"");
            assert!(words(&answer).contains(&mine), "{answer}");
        }
    }
    assert_eq!(ran, MANY / 2);
    let log = place.log();
    let reached = log.lines().filter(|line| line.contains("send_email")).count();
    assert_eq!(reached, MANY / 2);
    report_figures(&format!(
        "{MANY} calls held at once, {ran} approved, in {:.1} s",
        start.elapsed().as_secs_f64()
    ));
}
