//! A client that disconnects, or a crash, leaves no difference between the ledger and what is in
//! force.

use std::fs;
use std::future::poll_fn;
use std::task::Poll;

use countersign_risk::verdict::Mode;
use countersign_store::{Store as _, StoredRequest};
use countersign_types::id::Id;
use countersign_workflow::request::{Choice, State};
use serde_json::{Value, json};

use super::answer;
use crate::config::{DaemonConfig, Paths};
use crate::notifier::test_notifier::until;
use crate::test_daemon::TestDaemon;

const DEPLOYS: &str = "[policy]\npermit_up_to = \"MEDIUM\"\n[[policy.rule]]\n\
    name = \"deploys\"\ndecision = \"allow\"\ncommands = [\"acmectl deploy\"]\n";
const LEARN: &str = "[learning]\nautomatic = true\n";
const RULES: &str = "@id(\"no-destroy\")\nforbid (principal, action, resource)\n\
    when { context.commands.contains(\"terraform destroy\") };\n";
const WEAKER: &str = "@id(\"deploys\")\npermit (principal, action, resource)\n\
    when { context.command.contains(\"acmectl deploy\") };\n";
const LIMIT: &str = "[policy]\npermit_up_to = \"MEDIUM\"\n";

async fn reload(daemon: &TestDaemon, text: &str) {
    let place = daemon.state();
    let paths = Paths { config: place.join("c.toml"), state: place.clone(), runtime: place };
    let rules = DaemonConfig::read(text, &paths).unwrap().rules;
    daemon.gate.change_rules(rules).await.unwrap();
}

/// Polls a change once, as a server does for a client that disconnects right afterwards.
pub(super) async fn drop_early<T>(change: impl Future<Output = T>) {
    let mut change = std::pin::pin!(change);
    let polled = poll_fn(|context| Poll::Ready(change.as_mut().poll(context).is_ready())).await;
    assert!(!polled, "the change was done at once");
}

async fn in_ledger(daemon: &TestDaemon, fact: &str) {
    let has = async || daemon.ledger().await.iter().any(|entry| !entry["facts"][fact].is_null());
    until(fact, has).await;
}

fn has_rule(daemon: &TestDaemon, name: &str) -> bool {
    daemon.gate.rules().policy.rules().iter().any(|rule| rule.name() == name)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_that_is_in_the_ledger_is_in_force_without_its_client() {
    let daemon = TestDaemon::default().await;
    reload(&daemon, &format!("mode = \"observe\"\n{LEARN}{DEPLOYS}")).await;
    let gate = &daemon.gate;
    let policy = gate.requested_policy().unwrap().policy.hash().to_string();
    drop_early(gate.confirm_policy(&policy, "owner", daemon.note())).await;
    in_ledger(&daemon, "confirmed_policy").await;
    until("the rules in force", async || has_rule(&daemon, "deploys")).await;
    let settings = gate.requested_settings().unwrap().hash();
    drop_early(gate.confirm_settings(&settings, "owner", daemon.note())).await;
    in_ledger(&daemon, "confirmed_settings").await;
    until("the settings in force", async || gate.rules().learning.automatic).await;
    drop_early(gate.confirm_mode(Mode::Observe, "owner", daemon.note())).await;
    until("the mode in force", async || gate.rules().mode == Mode::Observe).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adoption_or_its_end_that_is_in_the_ledger_is_in_force_without_its_client() {
    let daemon = TestDaemon::with("", LIMIT).await;
    let gate = &daemon.gate;
    let text = DEPLOYS.replace("[policy]\npermit_up_to = \"MEDIUM\"\n", "");
    drop_early(gate.adopt_project(("/work/shop", &text), "owner", daemon.note())).await;
    in_ledger(&daemon, "adopted_project").await;
    until("the adoption", async || gate.adopted_projects().contains_key("/work/shop")).await;
    drop_early(gate.revoke_project("/work/shop", "owner", daemon.note())).await;
    in_ledger(&daemon, "revoked_project").await;
    until("the end of the adoption", async || gate.adopted_projects().is_empty()).await;
}

async fn proposed(daemon: &TestDaemon, rules: &str) -> StoredRequest {
    let owner = daemon.owner().await;
    let body = Some(json!({ "rules": rules }));
    let reply = daemon.change(&owner, "POST /v1/policy/rules", body).await;
    let id = Id::parse(reply.body["id"].as_str().unwrap()).unwrap();
    daemon.gate.store().request(id).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_people_approve_come_into_force_without_their_client() {
    let daemon = TestDaemon::with("", LIMIT).await;
    let id = proposed(&daemon, RULES).await.request.id;
    let request = daemon.gate.store().request(id).await.unwrap().unwrap();
    // The change waits for another one, and the client disconnects meanwhile.
    let turn = daemon.gate.changing_rules.lock().await;
    let event = answer(&request, "owner", Choice::Approve, "we agreed");
    let is_approved = async || {
        let stored = daemon.gate.store().request(id).await.unwrap().unwrap();
        stored.request.state == State::Approved
    };
    tokio::select! {
        _ = daemon.gate.decide(id, event, daemon.note()) => panic!("the change did not wait"),
        () = until("the approval", is_approved) => {}
    }
    drop(turn);
    until("the rules in force", async || has_rule(&daemon, "no-destroy")).await;
    in_ledger(&daemon, "applied_policy").await;
}

/// A crash after the file was written, and before the entry about it.
async fn crashed(rules: &str) -> (TestDaemon, Value, String) {
    let daemon = TestDaemon::with("", LIMIT).await;
    let request = proposed(&daemon, rules).await;
    let event = answer(&request, "owner", Choice::Approve, "we agreed");
    daemon.gate.store().apply(request.request.id, event, daemon.note()).await.unwrap();
    let write = |state: &std::path::Path| fs::write(state.join("api.cedar"), rules).unwrap();
    let daemon = daemon.restart(LIMIT, write).await;
    let id = json!(request.request.id.to_string());
    let entries = daemon.ledger().await;
    let about = entries.iter().find(|entry| entry["facts"]["by_request"] == id);
    let facts = about.unwrap()["facts"].clone();
    let news = daemon.gate.news().take().join("\n");
    (daemon, facts, news)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_about_a_change_after_a_crash_is_true() {
    let (daemon, facts, news) = crashed(RULES).await;
    assert!(has_rule(&daemon, "no-destroy"), "stricter rules are in force at once");
    assert!(news.contains("are in force") && !news.contains("not in force"), "{news}");
    assert!(facts["applied_policy"].is_array(), "{facts}");
    assert!(facts["policy_not_applied"].is_null(), "{facts}");
    let daemon = daemon.restart(LIMIT, |_| {}).await;
    assert_eq!(daemon.gate.news().take(), Vec::<String>::new(), "it is said once");
    let (daemon, facts, news) = crashed(WEAKER).await;
    assert!(!has_rule(&daemon, "deploys") && daemon.gate.requested_policy().is_some());
    assert!(news.contains("not in force") && news.contains("wait for"), "{news}");
    assert!(facts["policy_not_applied"].is_string(), "{facts}");
}
