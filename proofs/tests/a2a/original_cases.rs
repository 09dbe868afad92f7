//! The cases of the original task server and its command line, by their names. A person's approval
//! comes between sending and running; everything else is as it was.

use std::time::{Duration, Instant};

use countersign_a2a::resolve_agent;
use serde_json::{Value, json};

use crate::fixture::{ECHO, Fleet, HANG, until};

fn is_terminal(task: &Value) -> bool {
    let state = task["status"]["state"].as_str().unwrap_or_default();
    ["completed", "failed", "canceled", "rejected"].contains(&state)
}

#[test]
fn test_task_send_get_and_completion_flow() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let client = fleet.peer(&fleet.issue("allegro"), &node);
    let card = client.card().unwrap();
    assert!(!card["name"].as_str().unwrap().is_empty());
    assert!(card["a2aTaskEndpoint"].as_str().unwrap().ends_with("/a2a/rpc"));

    let params = json!({ "task": "Analyze README.md", "requester": "timmy", "metadata": {} });
    let submitted = client.call("tasks/send", &params).unwrap();
    let state = submitted["status"]["state"].as_str().unwrap();
    assert!(["submitted", "working"].contains(&state), "{submitted}");
    assert_eq!(submitted["requester"], "timmy");
    assert_eq!(submitted["metadata"]["peer_cn"], "allegro", "the certificate's name");
    let get = json!({ "taskId": submitted["taskId"] });
    let in_flight = client.call("tasks/get", &get).unwrap();
    assert!(!is_terminal(&in_flight), "{in_flight}");

    fleet.approve("Analyze README.md");
    let completed =
        until("the end", || Some(client.call("tasks/get", &get).unwrap()).filter(is_terminal));
    assert_eq!(completed["status"]["state"], "completed");
    assert_eq!(completed["artifacts"][0]["text"], "analysis:Analyze README.md");
}

#[test]
fn test_failed_executor_marks_task_failed() {
    let fleet = Fleet::start();
    let node = fleet.node("raise RuntimeError('boom')", &json!({}));
    let client = fleet.peer(&fleet.issue("allegro"), &node);
    let submitted =
        client.call("tasks/send", &json!({ "task": "explode", "requester": "timmy" })).unwrap();
    fleet.approve("explode");
    let get = json!({ "taskId": submitted["taskId"] });
    let failed =
        until("the end", || Some(client.call("tasks/get", &get).unwrap()).filter(is_terminal));
    assert_eq!(failed["status"]["state"], "failed");
    assert!(failed["status"]["message"].as_str().unwrap().contains("boom"), "{failed}");
}

#[test]
fn test_wait_for_task_times_out() {
    let fleet = Fleet::start();
    let node = fleet.node(ECHO, &json!({}));
    let client = fleet.peer(&fleet.issue("allegro"), &node);
    let sent = client.call("tasks/send", &json!({ "task": "never answered" })).unwrap();
    let start = Instant::now();
    let times = (Duration::from_millis(300), Duration::from_millis(50));
    let error = client.wait(sent["taskId"].as_str().unwrap(), times, |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("did not end in time"), "{error}");
    assert!(start.elapsed() < HANG);
}

#[test]
fn test_resolve_agent_url_supports_env_override() {
    let env = |name: &str| {
        (name == "COUNTERSIGN_A2A_ALLEGRO_URL").then(|| "https://fleet-allegro:9443".to_owned())
    };
    let found = resolve_agent("allegro", std::path::Path::new("/nonexistent"), env).unwrap();
    assert_eq!(found.url, "https://fleet-allegro:9443");
}

#[test]
fn test_cmd_send_requires_known_agent() {
    let file = std::path::Path::new("/nonexistent/a2a_agents.json");
    let error = resolve_agent("unknown", file, |_| None).unwrap_err().to_string();
    assert_eq!(
        error,
        "Unknown A2A agent 'unknown'. Set COUNTERSIGN_A2A_UNKNOWN_URL or add it to \
         /nonexistent/a2a_agents.json."
    );
}
