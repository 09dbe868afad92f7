//! The mode: an edited file alone does not turn the gate off.

use serde_json::{Value, json};

use crate::config::{DaemonConfig, Paths};
use crate::notifier::test_notifier::{ReceiverBehavior, WebhookReceiver, until};
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

/// The banner of the inbox and the metric say when the gate does not block, or would not.
#[tokio::test(flavor = "multi_thread")]
async fn the_inbox_and_the_metrics_show_the_mode() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    let metric = async |daemon: &TestDaemon| {
        let all = daemon.page(&owner, "/metrics").await;
        let line = all.lines().find(|line| line.starts_with("countersign_mode_enforce "));
        line.map(|line| line.ends_with(" 1"))
    };
    let banner = "risky calls run without a question";
    let page = daemon.page(&owner, "/").await;
    assert!(!page.contains(banner) && !page.contains("/v1/mode"), "{page}");
    assert_eq!(metric(&daemon).await, Some(true));
    reload(&daemon, "mode = \"observe\"\n").await;
    let page = daemon.page(&owner, "/").await;
    assert!(!page.contains(banner), "observe is not in force");
    assert!(page.contains("data-path=\"/v1/mode\"") && page.contains("Confirm observe"));
    assert_eq!(metric(&daemon).await, Some(true));
    confirm(&daemon, &owner).await;
    let page = daemon.page(&owner, "/").await;
    assert!(page.contains(banner) && !page.contains("Confirm observe"), "{page}");
    assert_eq!(metric(&daemon).await, Some(false));
}

/// A changed file is announced with its difference on the channels that were in force.
#[tokio::test(flavor = "multi_thread")]
async fn a_reload_announces_what_changed_and_what_waits() {
    let folder = tempfile::tempdir().unwrap();
    let hook = WebhookReceiver::start(ReceiverBehavior::Answers(200)).await;
    let channel = hook.channel("one", folder.path());
    let daemon = TestDaemon::with("", &channel).await;
    let heard = async |words: &str| {
        until(words, async || hook.got().iter().any(|(_, body)| body.to_string().contains(words)))
            .await;
    };
    // The channel is gone from the file, but hears of it first.
    daemon.reload_file("mode = \"observe\"\n[people]\nwaiting_seconds = 0\n").await;
    heard("people.waiting_seconds: default → 0").await;
    heard("mode: default → ").await;
    daemon.reload_file(&format!("[quorum]\nhigh = 3\n{channel}")).await;
    daemon.reload_file(&format!("mode = \"observe\"\n\n{channel}")).await;
    heard("quorum.high: 3 → default").await;
    heard("The mode observe waits").await;
    heard("Settings wait for an administrator's confirmation").await;
    heard("[quorum] high: 3 → 1").await;
    let entries = daemon.ledger().await;
    let changes = |entry: &&Value| entry["facts"]["changes"].to_string().contains("quorum.high");
    assert_eq!(entries.iter().filter(changes).count(), 2);
}
