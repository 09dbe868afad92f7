//! Policy rules on the path of a call, and their changes.

use countersign_types::POLICY_MARKER;
use serde_json::{Value, json};

use crate::config::{DaemonConfig, Paths};
use crate::test_daemon::{ApiSide, TestDaemon};

const DENY: &str = "[[policy.rule]]\nname = \"no-destroy\"\ndecision = \"deny\"\n\
    commands = [\"terraform destroy\", \"ls\"]\nreason = \"Ask the platform team.\"\n";
const ASK: &str = "[[policy.rule]]\nname = \"two-people\"\ndecision = \"ask\"\nquorum = 2\n\
    tools = [\"send_message\"]\n";
const ALLOW: &str = "[policy]\npermit_up_to = \"MEDIUM\"\n[[policy.rule]]\nname = \"deploys\"\n\
    decision = \"allow\"\ncommands = [\"acmectl deploy\"]\n";

async fn ask(daemon: &TestDaemon, agent: &str, body: Value) -> Value {
    daemon.by(agent, ApiSide::Agents, "POST /v1/requests", Some(body)).await.body
}

fn command(text: &str) -> Value {
    json!({ "tool": "terminal", "arguments": { "command": text } })
}

fn message() -> Value {
    json!({ "tool": "send_message", "arguments": { "to": "bo", "text": "hi" } })
}

/// Reads changed rules while the daemon runs.
async fn reload(daemon: &TestDaemon, text: &str) {
    let place = daemon.state();
    let paths = Paths { config: place.join("c.toml"), state: place.clone(), runtime: place };
    let rules = DaemonConfig::read(text, &paths).unwrap().rules;
    daemon.gate.change_rules(rules).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_denies_by_name_also_what_only_reads() {
    let daemon = TestDaemon::with("", DENY).await;
    let agent = daemon.agent("coder", 3_600_000).await;
    for text in ["ls", "sudo terraform destroy", "echo a; ls -la"] {
        let reply = ask(&daemon, &agent, command(text)).await;
        assert_eq!(reply["type"], "urn:countersign:problem:refused", "{text}: {reply}");
        let detail = reply["detail"].as_str().unwrap();
        assert_eq!(detail, "denied by rule no-destroy: Ask the platform team", "{text}");
    }
    assert_eq!(ask(&daemon, &agent, command("cat a.txt")).await["state"], "approved");
    let entries = daemon.ledger().await;
    let denied = entries.iter().rfind(|entry| entry["kind"] == "deny").unwrap();
    assert_eq!(denied["facts"]["rules"], json!(["no-destroy"]), "{denied}");
    // Hooks ask about every call while a rule denies.
    let gateways = daemon.state().with_file_name("countersign-gateways");
    assert!(gateways.join(POLICY_MARKER).exists());
    reload(&daemon, "").await;
    assert!(gateways.join(POLICY_MARKER).exists(), "the weaker rules wait");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_asks_is_answered_by_people_and_not_by_a_grant() {
    let daemon = TestDaemon::with("", ASK).await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("coder", 3_600_000).await);
    let grant = json!({ "shape": "action", "tool": "send_message", "minutes": 60 });
    let made = daemon.change(&owner, "POST /v1/grants", Some(grant)).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let asked = ask(&daemon, &agent, message()).await;
    assert_eq!(asked["state"], "pending", "{asked}");
    assert_eq!(
        asked["quorum"]["approve"].as_u64().or(asked["quorum"].as_u64()),
        Some(2),
        "{asked}"
    );
    let line = format!("GET /v1/requests/{}", asked["id"].as_str().unwrap());
    let shown = daemon.by(&owner, ApiSide::People, &line, None).await.body.to_string();
    assert!(shown.contains("A person must decide, by rule two-people."), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_lets_a_call_pass_and_the_ledger_names_it() {
    let daemon = TestDaemon::with("", ALLOW).await;
    let agent = daemon.agent("coder", 3_600_000).await;
    for body in [command("acmectl deploy"), {
        let mut body = command("acmectl deploy");
        body["permit"] = json!(true);
        body
    }] {
        let passed = ask(&daemon, &agent, body).await;
        assert_eq!(passed["state"], "approved", "{passed}");
    }
    let entries = daemon.ledger().await;
    let named = |entry: &&Value| entry["facts"]["rules"] == json!(["deploys"]);
    assert_eq!(entries.iter().filter(named).count(), 2, "{entries:?}");
    for text in ["acmectl deploy; id", "acmectl deploy --now", "acmectl destroy"] {
        assert_eq!(ask(&daemon, &agent, command(text)).await["state"], "pending", "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_in_crisis_gets_no_permit_by_a_rule() {
    let rule = ALLOW.replace("commands = [\"acmectl deploy\"]", "tools = [\"send_message\"]");
    let daemon = TestDaemon::with("", &rule).await;
    let agent = daemon.agent("coder", 3_600_000).await;
    let mut body = message();
    body["session"] = json!("s1");
    assert_eq!(ask(&daemon, &agent, body.clone()).await["state"], "approved");
    let screened = json!({ "text": "I want to kill myself tonight", "session": "s1" });
    let line = "POST /v1/screen";
    let reply = daemon.by(&agent, ApiSide::Agents, line, Some(screened)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(ask(&daemon, &agent, body).await["state"], "pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_let_more_pass_wait_for_a_person() {
    let daemon = TestDaemon::with("", DENY).await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("coder", 3_600_000).await);
    reload(&daemon, ALLOW).await;
    let refused = ask(&daemon, &agent, command("ls")).await;
    assert_eq!(refused["type"], "urn:countersign:problem:refused", "{refused}");
    assert_eq!(ask(&daemon, &agent, command("acmectl deploy a")).await["state"], "pending");
    // A restart with the edited file changes nothing.
    let daemon = daemon.restart(ALLOW, |_| {}).await;
    let refused = ask(&daemon, &agent, command("ls")).await;
    assert_eq!(refused["type"], "urn:countersign:problem:refused", "{refused}");
    let shown = daemon.by(&owner, ApiSide::People, "GET /v1/policy", None).await.body;
    let changes = shown["requested"]["changes"].to_string();
    assert!(changes.contains("no-destroy") && changes.contains("deploys"), "{shown}");
    let hash = shown["requested"]["hash"].clone();
    let (line, body) = ("POST /v1/policy", json!({ "hash": hash }));
    let stolen = daemon.by(&owner, ApiSide::People, line, Some(body.clone())).await;
    assert_eq!(stolen.body["type"], "urn:countersign:problem:step-up-required");
    let other = json!({ "hash": "0".repeat(64) });
    assert_eq!(daemon.change(&owner, line, Some(other)).await.status, 409);
    let done = daemon.change(&owner, line, Some(body)).await;
    assert_eq!((&done.body["hash"], &done.body["requested"]), (&hash, &Value::Null));
    assert_eq!(ask(&daemon, &agent, command("ls")).await["state"], "approved");
    assert_eq!(ask(&daemon, &agent, command("acmectl deploy b")).await["state"], "approved");
    let entries = daemon.ledger().await;
    let confirmed = |entry: &&Value| entry["facts"]["confirmed_policy"].is_array();
    assert_eq!(entries.iter().find(confirmed).unwrap()["person"], "owner");
    // A confirmation lasts. Rules that deny more are in force at once.
    let daemon = daemon.restart(ALLOW, |_| {}).await;
    assert_eq!(ask(&daemon, &agent, command("ls")).await["state"], "approved");
    reload(&daemon, &format!("{ALLOW}{DENY}")).await;
    let refused = ask(&daemon, &agent, command("ls")).await;
    assert_eq!(refused["type"], "urn:countersign:problem:refused", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_or_forged_file_of_confirmed_rules_confirms_nothing() {
    let daemon = TestDaemon::with("", "").await;
    let agent = daemon.agent("coder", 3_600_000).await;
    let daemon = daemon.restart(ALLOW, |_| {}).await;
    assert_eq!(ask(&daemon, &agent, command("acmectl deploy a")).await["state"], "pending");
    let gone =
        |state: &std::path::Path| std::fs::remove_file(state.join("policy.confirmed")).unwrap();
    let daemon = daemon.restart(ALLOW, gone).await;
    assert_eq!(ask(&daemon, &agent, command("acmectl deploy b")).await["state"], "pending");
    let forge = |state: &std::path::Path| {
        let rules = r#"{"permit_up_to":"MEDIUM","files":[]}"#;
        std::fs::write(state.join("policy.confirmed"), format!("AAAA\n{rules}")).unwrap();
    };
    let daemon = daemon.restart(ALLOW, forge).await;
    assert_eq!(ask(&daemon, &agent, command("acmectl deploy c")).await["state"], "pending");
}

#[test]
fn invalid_rules_and_failing_tests_are_rejected_with_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let paths = Paths { config: at("c.toml"), state: at("s"), runtime: at("r") };
    let read = |text: &str| DaemonConfig::read(text, &paths).map_err(|error| error.to_string());
    let failing = format!("{DENY}[[policy.test]]\ncall = \"id\"\nexpect = \"deny\"\n");
    assert!(read(&failing).unwrap_err().contains("policy.test 1: expected deny, found allow"));
    std::fs::create_dir(at("policy")).unwrap();
    std::fs::write(at("policy/a.cedar"), "@id(\"x\")\nforbid (principal, action, oops);").unwrap();
    let error = read("").unwrap_err();
    assert!(error.starts_with("policy/a.cedar:2: "), "{error}");
    let valid = "@id(\"x\") forbid (principal, action, resource) when { context.tier > 3 };";
    std::fs::write(at("policy/a.cedar"), valid).unwrap();
    let (with, without) = (read("").unwrap(), {
        std::fs::remove_file(at("policy/a.cedar")).unwrap();
        read("").unwrap()
    });
    assert_ne!(with.rules.hash, without.rules.hash);
    let changes = without.rules.written.changes(&with.rules.written);
    assert!(changes.concat().contains("rule x in policy/a.cedar"), "{changes:?}");
}
