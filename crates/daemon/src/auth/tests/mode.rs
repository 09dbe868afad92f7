//! The mode: an edited file alone does not turn the gate off.

use serde_json::{Value, json};

use crate::config::{DaemonConfig, Paths};
use crate::test_daemon::{ApiSide, TestDaemon};

const OBSERVE: &str = "mode = \"observe\"\n\n";
const RISKY: &str = "git push --force origin main";

async fn ask(daemon: &TestDaemon, agent: &str) -> Value {
    let call = json!({"tool": "terminal", "arguments": {"command": RISKY}, "permit": true});
    daemon.by(agent, ApiSide::Agents, "POST /v1/requests", Some(call)).await.body
}

/// Reads a changed file while the daemon runs.
async fn reload(daemon: &TestDaemon, text: &str) {
    let place = daemon.state();
    let paths = Paths { config: place.clone(), state: place.clone(), runtime: place };
    let rules = DaemonConfig::read(text, &paths).unwrap().rules;
    daemon.gate.change_rules(rules).await.unwrap();
}

async fn mode(daemon: &TestDaemon) -> (Value, Value) {
    let ready = daemon.ask(ApiSide::Agents, "GET /ready", &[], None).await.body;
    (ready["mode"].clone(), ready["requested_mode"].clone())
}

async fn confirm(daemon: &TestDaemon, owner: &str) {
    let body = Some(json!({"mode": "observe"}));
    let line = "POST /v1/mode";
    let stolen = daemon.by(owner, ApiSide::People, line, body.clone()).await;
    assert_eq!(stolen.body["type"], "urn:countersign:problem:step-up-required");
    let other = daemon.change(owner, line, Some(json!({"mode": "crisis_only"}))).await;
    assert_eq!(other.status, 409, "only what the file asks for: {:?}", other.body);
    assert_eq!(mode(daemon).await, (json!("enforce"), json!("observe")));
    let done = daemon.change(owner, line, body).await;
    assert_eq!(done.body, json!({"mode": "observe", "requested": null}));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_file_and_a_reload_do_not_leave_enforce() {
    let daemon = TestDaemon::default().await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    reload(&daemon, "mode = \"observe\"\n[quorum]\ncritical = 2\n").await;
    assert_eq!(mode(&daemon).await, (json!("enforce"), json!("observe")));
    assert_eq!(ask(&daemon, &agent).await["state"], "pending");
    let entries = daemon.ledger().await;
    let change = entries.iter().rfind(|entry| entry["kind"] == "config").unwrap();
    assert_eq!(change["facts"]["requested_mode"], "observe", "{change}");
    let changes = change["facts"]["changes"].to_string();
    assert!(changes.contains("quorum.critical: default → 2"), "{changes}");
    confirm(&daemon, &owner).await;
    assert_eq!(mode(&daemon).await, (json!("observe"), Value::Null));
    let entries = daemon.ledger().await;
    let change = entries.iter().rfind(|entry| entry["kind"] == "config").unwrap();
    assert_eq!((&change["person"], &change["facts"]["mode"]), (&json!("owner"), &json!("observe")));
    assert_eq!(change["facts"]["step_up"]["proof"], "passphrase", "{change}");
    // Back to enforce at once, and the way out needs a person again.
    reload(&daemon, "").await;
    assert_eq!(mode(&daemon).await, (json!("enforce"), Value::Null));
    reload(&daemon, "mode = \"observe\"\n").await;
    assert_eq!(mode(&daemon).await, (json!("enforce"), json!("observe")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_file_and_a_restart_do_not_leave_enforce() {
    let daemon = TestDaemon::default().await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    let daemon = daemon.restart(OBSERVE, |_| {}).await;
    assert_eq!(mode(&daemon).await, (json!("enforce"), json!("observe")));
    assert_eq!(ask(&daemon, &agent).await["state"], "pending");
    confirm(&daemon, &owner).await;
    // A confirmation lasts, until the file says enforce again.
    let daemon = daemon.restart(OBSERVE, |_| {}).await;
    assert_eq!(mode(&daemon).await, (json!("observe"), Value::Null));
    let daemon = daemon.restart("", |_| {}).await.restart(OBSERVE, |_| {}).await;
    assert_eq!(mode(&daemon).await, (json!("enforce"), json!("observe")));
}

#[tokio::test(flavor = "multi_thread")]
async fn observe_mode_signs_no_permits_and_is_visible() {
    let daemon = TestDaemon::with("", OBSERVE).await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    let passed = ask(&daemon, &agent).await;
    assert_eq!((&passed["state"], &passed["permit"]), (&json!("approved"), &Value::Null));
    assert_eq!(mode(&daemon).await.0, "observe");
    let shown = daemon.by(&owner, ApiSide::People, "GET /v1/mode", None).await.body;
    assert_eq!(shown, json!({"mode": "observe", "requested": null}));
}
