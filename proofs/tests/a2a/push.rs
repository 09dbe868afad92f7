//! Push notifications: what the receiver of a task's states gets, and who gets nothing.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use countersign_a2a::{OutgoingTask, RemoteAgent};
use serde_json::{Value, json};

use crate::fixture::{ECHO, Fleet, HANG, raw, state, until};

/// A receiver that answers each request with the next status, and then with 200.
fn receiver(address: &str, statuses: &'static [u16]) -> (SocketAddr, Receiver<(String, Value)>) {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut statuses = statuses.iter();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.set_read_timeout(Some(HANG)).unwrap();
            let (mut text, mut room) = (String::new(), [0; 4096]);
            let (head, body) = loop {
                let count = stream.read(&mut room).unwrap_or(0);
                text.push_str(&String::from_utf8_lossy(&room[..count]));
                let whole = text.split_once("\r\n\r\n").and_then(|(head, body)| {
                    let body: Value = serde_json::from_str(body).ok()?;
                    Some((head.to_ascii_lowercase(), body))
                });
                match whole {
                    Some(whole) => break whole,
                    None if count == 0 => return,
                    None => {}
                }
            };
            let status = statuses.next().unwrap_or(&200);
            let _ = write!(stream, "HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
            if send.send((head, body)).is_err() {
                return;
            }
        }
    });
    (address, receive)
}

fn push_to(url: &str) -> Value {
    json!({
        "id": "mine", "url": url, "token": "tok-1",
        "authentication": { "scheme": "Bearer", "credentials": "cred-1" },
    })
}

/// Sends a task with a push configuration; returns its id.
fn send(alice: &RemoteAgent, text: &str, url: &str) -> String {
    let sent = alice.call(
        "SendMessage",
        &json!({
            "message": { "messageId": text, "role": "ROLE_USER", "parts": [{ "text": text }] },
            "configuration": {
                "returnImmediately": true, "taskPushNotificationConfig": push_to(url),
            },
        }),
    );
    sent.unwrap()["task"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn every_state_is_delivered_in_order_with_credentials_and_retries() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({ "push_to_private": true }));
    let alice = fleet.peer(&fleet.issue("alice"), &node);
    let (address, told) = receiver("127.0.0.1:0", &[500, 503]);
    let id = send(&alice, "Push this", &format!("http://{address}/hook"));
    fleet.approve("Push this");
    let mut states = Vec::new();
    let last = loop {
        let (head, body) = told.recv_timeout(HANG).unwrap();
        assert!(head.contains("authorization: bearer cred-1"), "{head}");
        assert!(head.contains("x-a2a-notification-token: tok-1"), "{head}");
        assert!(head.contains("content-type: application/a2a+json"), "{head}");
        if let Some(task) = body.get("task") {
            break task.clone();
        }
        assert_eq!(body["statusUpdate"]["taskId"], id);
        states.push(body["statusUpdate"]["status"]["state"].as_str().unwrap().to_owned());
    };
    // The first one was refused twice.
    let asked = "TASK_STATE_AUTH_REQUIRED";
    assert_eq!(states, [asked, asked, asked, "TASK_STATE_WORKING"]);
    assert_eq!(state(&last), "TASK_STATE_COMPLETED");
    assert_eq!(last["artifacts"][0]["parts"][0]["text"], "analysis:Push this");
}

#[test]
fn what_was_not_delivered_before_a_crash_is_delivered_after_it() {
    let fleet = Fleet::start();
    let settings = json!({ "push_to_private": true });
    let node = fleet.node(ECHO, &settings);
    let files = fleet.issue("alice");
    let alice = fleet.peer(&files, &node);
    // A port on which no server listens yet.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let id = send(&alice, "Push later", &format!("http://{address}/"));
    fleet.approve("Push later");
    let pause = Duration::from_millis(50);
    alice.wait(&id, (HANG, pause), |_, _| {}).unwrap();
    drop(node);
    let (_, told) = receiver(&address.to_string(), &[]);
    let _node = fleet.node(ECHO, &settings);
    let mut seen = Vec::new();
    while seen.last().is_none_or(|body: &Value| body.get("task").is_none()) {
        seen.push(told.recv_timeout(HANG).unwrap().1);
    }
    assert_eq!(seen.len(), 3, "auth required, working, completed: {seen:?}");
}

#[test]
fn private_receivers_and_other_agents_tasks_are_refused() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let files = fleet.issue("alice");
    let alice = fleet.peer(&files, &node);
    let mallory = fleet.peer(&fleet.issue("mallory"), &node);
    let task = OutgoingTask { text: "Mine".to_owned(), ..OutgoingTask::default() };
    let id = alice.send(&task).unwrap()["id"].as_str().unwrap().to_owned();
    let with = |mut config: Value| {
        config["taskId"] = json!(id);
        config
    };
    for private in ["https://127.0.0.1:8443/", "https://169.254.169.254/", "http://example.org/"] {
        let error = alice.call("CreateTaskPushNotificationConfig", &with(push_to(private)));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("url must"), "{private}: {error}");
    }
    let good = with(push_to("https://example.org/hook"));
    assert_eq!(alice.call("CreateTaskPushNotificationConfig", &good).unwrap(), good);
    let which = json!({ "taskId": id, "id": "mine" });
    for method in [
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
    ] {
        let params = if method.starts_with("Create") { &good } else { &which };
        let error = mallory.call(method, params).unwrap_err().to_string();
        assert!(error.contains("task not found"), "{method}: {error}");
    }
    // The same configuration in every version.
    assert_eq!(alice.call("GetTaskPushNotificationConfig", &which).unwrap(), good);
    let old = json!({ "id": id, "pushNotificationConfigId": "mine" });
    let old = alice.call("tasks/pushNotificationConfig/get", &old).unwrap();
    assert_eq!(old["pushNotificationConfig"]["authentication"]["schemes"], json!(["Bearer"]));
    let listed = alice.call("ListTaskPushNotificationConfigs", &which).unwrap();
    assert_eq!(listed["configs"], json!([good]));
    let mut stream = node.connect(&fleet.client_config(&files));
    let path = format!("/a2a/http/tasks/{id}/pushNotificationConfigs");
    let text = raw(&mut stream, &format!("GET {path}"), "").unwrap();
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("example.org/hook"), "{text}");
    let text = raw(&mut stream, &format!("DELETE {path}/mine"), "").unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    let text = raw(&mut stream, &format!("GET {path}/mine"), "").unwrap();
    assert!(text.starts_with("HTTP/1.1 404"), "{text}");
    for number in 0..4 {
        let mut config = good.clone();
        config["id"] = json!(format!("c{number}"));
        alice.call("CreateTaskPushNotificationConfig", &config).unwrap();
    }
    let error = alice.call("CreateTaskPushNotificationConfig", &good).unwrap_err().to_string();
    assert!(error.contains("at most 4"), "{error}");
}

#[test]
fn a_revoked_peer_is_told_nothing() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({ "push_to_private": true }));
    let alice_config = fleet.client_config(&fleet.issue("alice"));
    let alice = RemoteAgent::new(node.url(), std::sync::Arc::clone(&alice_config));
    let carol = fleet.peer(&fleet.issue("carol"), &node);
    let (hers, told_alice) = receiver("127.0.0.1:0", &[]);
    let (others, told_carol) = receiver("127.0.0.1:0", &[]);
    send(&alice, "For alice", &format!("http://{hers}/"));
    fleet.asked_about("For alice");
    let (_, first) = told_alice.recv_timeout(HANG).unwrap();
    assert_eq!(first["statusUpdate"]["status"]["state"], "TASK_STATE_AUTH_REQUIRED");
    assert_eq!(fleet.change("/v1/pki/revocations", &json!({ "certificate": "alice" })).0, 200);
    until("the refusal", || {
        let mut fresh = node.connect(&alice_config);
        let heard = raw(&mut fresh, "GET /agent-card.json", "").unwrap_or_default();
        (!heard.contains("HTTP/1.1 200")).then_some(())
    });
    fleet.approve("For alice");
    // What carol is told comes after what alice would have been told.
    send(&carol, "For carol", &format!("http://{others}/"));
    fleet.approve("For carol");
    while told_carol.recv_timeout(HANG).unwrap().1.get("task").is_none() {}
    let heard: Vec<Value> = told_alice.try_iter().map(|(_, body)| body).collect();
    assert!(heard.is_empty(), "{heard:?}");
}
