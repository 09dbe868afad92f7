//! Files of the state folder that were deleted or replaced by older copies, also together with the
//! checkpoints: what people confirmed still holds, because the ledger says it as well.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::rollback::{approve, ask, is_ready, permit, redeem};
use crate::test_daemon::{ApiSide, TestDaemon};

const DENY: &str = "[[policy.rule]]\nname = \"no-list\"\ndecision = \"deny\"\n\
    commands = [\"ls\"]\n";
const ALLOW: &str = "[policy]\npermit_up_to = \"MEDIUM\"\n[[policy.rule]]\nname = \"deploys\"\n\
    decision = \"allow\"\ncommands = [\"acmectl deploy\"]\n";
const OBSERVE: &str = "mode = \"observe\"\n\n";
const MARK: &str = "ledger.mark";
const RULES: &str = "policy.confirmed";

/// What an agent hears about a call: its state, or the kind of problem.
async fn told(daemon: &TestDaemon, agent: &str, command: &str) -> String {
    let call = json!({"tool": "terminal", "arguments": {"command": command}});
    let reply = daemon.by(agent, ApiSide::Agents, "POST /v1/requests", Some(call)).await.body;
    let word = reply["state"].as_str().or(reply["type"].as_str());
    word.unwrap_or_default().trim_start_matches("urn:countersign:problem:").to_owned()
}

async fn requested(daemon: &TestDaemon, owner: &str) -> Value {
    let shown = daemon.by(owner, ApiSide::People, "GET /v1/policy", None).await.body;
    shown["requested"].clone()
}

async fn confirm(daemon: &TestDaemon, owner: &str) {
    let hash = requested(daemon, owner).await["hash"].clone();
    let done = daemon.change(owner, "POST /v1/policy", Some(json!({"hash": hash}))).await;
    assert_eq!((done.status.as_u16(), &done.body["requested"]), (200, &Value::Null));
}

async fn acknowledge(daemon: &TestDaemon, owner: &str) {
    let body = Some(json!({"reason": "I moved the folder"}));
    let done = daemon.change(owner, "POST /v1/ledger/acknowledge", body).await;
    assert_eq!(done.status, 200, "{:?}", done.body);
}

fn remove(names: &'static [&'static str]) -> impl FnOnce(&Path) {
    move |state| {
        for name in names {
            fs::remove_file(state.join(name)).unwrap();
        }
    }
}

async fn parts(sections: &str) -> (TestDaemon, String, String) {
    let daemon = TestDaemon::with("", sections).await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 3_600_000).await);
    (daemon, owner, agent)
}

#[tokio::test(flavor = "multi_thread")]
async fn deny_rules_are_not_forgotten_with_the_file_of_confirmed_rules() {
    let (daemon, owner, agent) = parts(DENY).await;
    assert_eq!(told(&daemon, &agent, "ls").await, "refused");
    // The rules themselves did not change, so there is nothing to confirm.
    let daemon = daemon.restart(DENY, remove(&[RULES])).await;
    assert_eq!(told(&daemon, &agent, "ls").await, "refused");
    assert_eq!(requested(&daemon, &owner).await, Value::Null);
    let daemon = daemon.restart("", remove(&[RULES])).await;
    assert_eq!(told(&daemon, &agent, "ls").await, "pending");
    let changes = requested(&daemon, &owner).await["changes"].to_string();
    assert!(changes.contains("policy.confirmed"), "{changes}");
    // Another restart changes nothing; a person does.
    let daemon = daemon.restart("", |_| {}).await;
    assert_eq!(told(&daemon, &agent, "ls -l").await, "pending");
    confirm(&daemon, &owner).await;
    assert_eq!(told(&daemon, &agent, "ls").await, "approved");
    let daemon = daemon.restart("", |_| {}).await;
    assert_eq!(told(&daemon, &agent, "ls").await, "approved");
    assert_eq!(requested(&daemon, &owner).await, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_file_of_confirmed_rules_confirms_nothing() {
    let (daemon, owner, agent) = parts("").await;
    let daemon = daemon.restart(ALLOW, |_| {}).await;
    confirm(&daemon, &owner).await;
    assert_eq!(told(&daemon, &agent, "acmectl deploy a").await, "approved");
    let older = fs::read(daemon.state().join(RULES)).unwrap();
    // The operator takes the rule away; an agent restores file and rule.
    let daemon = daemon.restart("", |_| {}).await;
    assert_eq!(told(&daemon, &agent, "acmectl deploy b").await, "pending");
    let restore = |state: &Path| fs::write(state.join(RULES), &older).unwrap();
    let daemon = daemon.restart(ALLOW, restore).await;
    assert_eq!(told(&daemon, &agent, "acmectl deploy c").await, "pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_mark_and_checkpoints_an_installation_is_not_a_new_one() {
    let (daemon, owner, agent) = parts(DENY).await;
    let daemon = daemon.restart(OBSERVE, remove(&[MARK, RULES])).await;
    let shown = daemon.by(&owner, ApiSide::People, "GET /v1/mode", None).await.body;
    assert_eq!(shown, json!({"mode": "enforce", "requested": "observe"}));
    assert!(!is_ready(&daemon).await);
    assert_eq!(told(&daemon, &agent, "ls").await, "pending");
    acknowledge(&daemon, &owner).await;
    assert!(is_ready(&daemon).await);
    assert_eq!(told(&daemon, &agent, "ls -l").await, "pending", "the rules still wait");
    let daemon = daemon.restart(OBSERVE, |_| {}).await;
    assert_eq!(told(&daemon, &agent, "ls -a").await, "pending", "the rules still wait");
    confirm(&daemon, &owner).await;
    assert_eq!(told(&daemon, &agent, "ls").await, "approved");
    assert_eq!(told(&daemon, &agent, "systemctl restart nginx").await, "pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_mark_confirms_no_mode_and_thaws_nothing() {
    let (daemon, owner, agent) = parts(OBSERVE).await;
    let older = fs::read(daemon.state().join(MARK)).unwrap();
    let restore = |state: &Path| fs::write(state.join(MARK), &older).unwrap();
    let daemon = daemon.restart("", |_| {}).await;
    let daemon = daemon.restart(OBSERVE, restore).await;
    assert_eq!(told(&daemon, &agent, "systemctl restart nginx").await, "pending");
    let frozen = daemon.by(&owner, ApiSide::People, "POST /v1/freeze", Some(json!({}))).await;
    assert_eq!(frozen.status, 200, "{:?}", frozen.body);
    let daemon = daemon.restart("", restore).await;
    assert_eq!(told(&daemon, &agent, "systemctl restart nginx").await, "frozen");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_mark_gives_no_permit_back() {
    let (daemon, owner, agent) = parts("").await;
    let asked = ask(&daemon, &agent, super::rollback::MEDIUM).await;
    assert_eq!(approve(&daemon, &owner, &asked).await, 200);
    let permit = permit(&daemon, &agent, &asked).await;
    daemon.gate.raise_mark().await.unwrap();
    let older = fs::read(daemon.state().join(MARK)).unwrap();
    let daemon = daemon.restart("", remove(&[MARK])).await;
    acknowledge(&daemon, &owner).await;
    assert_eq!(redeem(&daemon, &agent, &permit).await, 409);
    let restore = |state: &Path| fs::write(state.join(MARK), &older).unwrap();
    let daemon = daemon.restart("", restore).await;
    assert_eq!(redeem(&daemon, &agent, &permit).await, 409);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_or_changed_settings_of_the_last_start_are_announced() {
    let (daemon, _, _) = parts("[quorum]\ncritical = 2\n").await;
    let newest = async |daemon: &TestDaemon| {
        let entries = daemon.ledger().await;
        let changed = |entry: &&Value| entry["facts"]["changes"].is_array();
        entries.iter().rfind(changed).map(|entry| entry["facts"]["changes"].to_string())
    };
    assert_eq!(newest(&daemon).await, None);
    let daemon = daemon.restart("", remove(&["settings.json"])).await;
    let changes = newest(&daemon).await.unwrap_or_default();
    assert!(changes.contains("settings.json was deleted or changed"), "{changes}");
    let now = fs::read_to_string(daemon.state().join("settings.json")).unwrap();
    let daemon = daemon.restart("[quorum]\ncritical = 2\n", |_| {}).await;
    assert!(newest(&daemon).await.unwrap().contains("quorum.critical"));
    // The file says already what the edited configuration says.
    let forge = |state: &Path| fs::write(state.join("settings.json"), &now).unwrap();
    let daemon = daemon.restart("", forge).await;
    let changes = newest(&daemon).await.unwrap();
    assert!(changes.contains("settings.json was deleted or changed"), "{changes}");
}
