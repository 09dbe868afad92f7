//! Rules that demand more of an answer, and rules that people apply through the API.

use countersign_risk::word_pair::word_pair;
use countersign_store::{Role, Store as _, StoreError, StoredRequest};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::assurance::{
    Assurance, Authority, InsufficientAssurance, RequiredAssurance, Tenure,
};
use countersign_workflow::request::{
    ApprovalScope, Choice, Event, PartsAnswer, State, TransitionError,
};
use serde_json::{Value, json};

use super::{answer, decide};
use crate::config::{DaemonConfig, Paths};
use crate::test_daemon::{ApiSide, TestDaemon};

const PASSKEY: &str = "[[policy.rule]]\nname = \"signed\"\ndecision = \"ask\"\n\
    commands = [\"acmectl deploy\"]\nassurance = \"passkey\"\nroute = [\"desktop\"]\n";
const RULES: &str = "// test: deny terraform destroy\n@id(\"no-destroy\")\n\
    forbid (principal, action, resource)\n\
    when { context.commands.contains(\"terraform destroy\") };\n\
    @id(\"deploys\")\npermit (principal, action, resource)\n\
    when { context.command.contains(\"acmectl deploy\") };\n";
const LIMIT: &str = "[policy]\npermit_up_to = \"MEDIUM\"\n";

async fn ask(daemon: &TestDaemon, agent: &str, command: &str) -> Value {
    let body = json!({ "command": command });
    daemon.by(agent, ApiSide::Agents, "POST /v1/requests", Some(body)).await.body
}

async fn stored(daemon: &TestDaemon, document: &Value) -> StoredRequest {
    let id = Id::parse(document["id"].as_str().unwrap()).unwrap();
    daemon.gate.store().request(id).await.unwrap().unwrap()
}

async fn propose(daemon: &TestDaemon, owner: &str, rules: &str) -> Value {
    let body = json!({ "rules": rules });
    let reply = daemon.change(owner, "POST /v1/policy/rules", Some(body)).await;
    assert_eq!(reply.status, 202, "{}", reply.body);
    reply.body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_can_demand_a_passkey_for_an_approval() {
    let daemon = TestDaemon::with("", PASSKEY).await;
    let agent = daemon.agent("coder", 3_600_000).await;
    let asked = ask(&daemon, &agent, "acmectl deploy x").await;
    let request = stored(&daemon, &asked).await;
    let refused = decide(&daemon, &request, Choice::Approve).await.unwrap_err();
    let needed = InsufficientAssurance::Required(Assurance::Passkey);
    assert_eq!(refused, StoreError::Refused(TransitionError::InsufficientAssurance(needed)));
    let owner = daemon.owner().await;
    let line = format!("GET /v1/requests/{}", asked["id"].as_str().unwrap());
    let shown = daemon.by(&owner, ApiSide::People, &line, None).await.body.to_string();
    assert!(shown.contains("An approval needs at least: passkey."), "{shown}");
    assert!(shown.contains("Also announced to: desktop."), "{shown}");
    // The demand belongs to the request, also after a restart with other rules.
    let daemon = daemon.restart("", |_| {}).await;
    assert!(decide(&daemon, &request, Choice::Approve).await.is_err());
    let mut signed = answer(&request, "owner", Choice::Approve, "");
    if let Event::Answer { standing: (authority, _), .. } = &mut signed {
        authority.assurance = Assurance::Passkey;
    }
    let applied = daemon.gate.decide(request.request.id, signed, daemon.note()).await.unwrap();
    assert_eq!(applied.stored.request.state, State::Approved);
    // Denying needs nothing.
    let asked = ask(&daemon, &agent, "acmectl deploy y").await;
    let request = stored(&daemon, &asked).await;
    decide(&daemon, &request, Choice::Deny).await.unwrap();
}

#[test]
fn unknown_channels_and_levels_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let paths = Paths { config: at("c.toml"), state: at("s"), runtime: at("r") };
    let read = |text: &str| DaemonConfig::read(text, &paths).map_err(|error| error.to_string());
    read(PASSKEY).unwrap();
    for (old, new, problem) in [
        ("desktop", "pigeon", "`pigeon` is not configured"),
        ("desktop", "@ops", "rota `@ops` is not configured"),
        ("desktop", "a b", "is not a list of channels"),
        ("passkey", "retina", "is not one of reached, linked, login, passkey"),
        ("ask", "deny", "needs decision = \"ask\""),
        ("ask", "allow", "needs decision = \"ask\""),
    ] {
        let error = read(&PASSKEY.replace(old, new)).unwrap_err();
        assert!(error.contains(problem), "{new}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_through_the_api_are_a_critical_request() {
    let daemon = TestDaemon::with("", LIMIT).await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("coder", 3_600_000).await);
    let line = "POST /v1/policy/rules";
    let body = json!({ "rules": RULES });
    let stolen = daemon.by(&owner, ApiSide::People, line, Some(body.clone())).await;
    assert_eq!(stolen.body["type"], "urn:countersign:problem:step-up-required");
    let by_agent = daemon.by(&agent, ApiSide::People, line, Some(body)).await;
    assert_eq!(by_agent.status, 403, "{}", by_agent.body);
    for wrong in ["forbid (principal", &RULES.replace("deny terraform", "deny terra"), ""] {
        let body = json!({ "rules": wrong });
        assert_eq!(daemon.change(&owner, line, Some(body)).await.status, 400, "{wrong}");
    }
    let asked = propose(&daemon, &owner, RULES).await;
    assert_eq!((&asked["tier"], &asked["state"]), (&json!("CRITICAL"), &json!("pending")));
    let card = asked["card"].to_string();
    assert!(card.contains("adds rule deploys (allow)"), "{card}");
    assert!(card.contains("rule deploys allows more"), "{card}");
    assert_eq!(ask(&daemon, &agent, "acmectl deploy").await["state"], "pending");
    // A CRITICAL approval needs a reason.
    let request = stored(&daemon, &asked).await;
    assert!(decide(&daemon, &request, Choice::Approve).await.is_err());
    let event = answer(&request, "owner", Choice::Approve, "we agreed");
    daemon.gate.decide(request.request.id, event, daemon.note()).await.unwrap();
    assert_eq!(ask(&daemon, &agent, "acmectl deploy").await["state"], "approved");
    let refused = ask(&daemon, &agent, "terraform destroy").await;
    assert_eq!(refused["type"], "urn:countersign:problem:refused", "{refused}");
    let entries = daemon.ledger().await;
    let applied = entries.iter().find(|entry| entry["facts"]["applied_policy"].is_array());
    assert_eq!(applied.unwrap()["person"], "owner");
    // They are in force without another confirmation, also after a restart.
    let daemon = daemon.restart(LIMIT, |_| {}).await;
    assert_eq!(daemon.gate.requested_policy().map(|waits| waits.changes), None);
    assert_eq!(ask(&daemon, &agent, "acmectl deploy").await["state"], "approved");
    // A change of the file alone lets nothing more pass.
    let wider = RULES.replace("acmectl deploy", "acmectl destroy");
    let write = |state: &std::path::Path| {
        std::fs::write(state.join("api.cedar"), wider.replace("// test", "//")).unwrap();
    };
    let daemon = daemon.restart(LIMIT, write).await;
    assert_eq!(ask(&daemon, &agent, "acmectl destroy").await["state"], "pending");
    assert!(daemon.gate.requested_policy().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proposer_does_not_approve_where_two_people_must() {
    let daemon = TestDaemon::with("", "[quorum]\ncritical = 2\n").await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("coder", 3_600_000).await);
    for name in ["bo", "cy"] {
        daemon.person(name, Role::Approver).await;
    }
    let request = stored(&daemon, &propose(&daemon, &owner, RULES).await).await;
    let by = |person: &str| answer(&request, person, Choice::Approve, "we agreed");
    let id = request.request.id;
    let own = daemon.gate.decide(id, by("owner"), daemon.note()).await.unwrap_err();
    assert_eq!(own, StoreError::Refused(TransitionError::OwnRequest));
    daemon.gate.decide(id, by("bo"), daemon.note()).await.unwrap();
    assert_eq!(ask(&daemon, &agent, "terraform destroy").await["state"], "pending");
    daemon.gate.decide(id, by("cy"), daemon.note()).await.unwrap();
    let refused = ask(&daemon, &agent, "terraform destroy").await;
    assert_eq!(refused["type"], "urn:countersign:problem:refused", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_counts_only_for_the_differences_that_were_shown() {
    let daemon = TestDaemon::with("", LIMIT).await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("coder", 3_600_000).await);
    let first = stored(&daemon, &propose(&daemon, &owner, RULES).await).await;
    let other = RULES.replace("acmectl deploy", "acmectl start");
    let second = stored(&daemon, &propose(&daemon, &owner, &other).await).await;
    for request in [&second, &first] {
        let event = answer(request, "owner", Choice::Approve, "we agreed");
        daemon.gate.decide(request.request.id, event, daemon.note()).await.unwrap();
    }
    assert_eq!(ask(&daemon, &agent, "acmectl start").await["state"], "approved");
    assert_eq!(ask(&daemon, &agent, "acmectl deploy").await["state"], "pending");
    let news = daemon.gate.news().take().join("\n");
    assert!(news.contains("changed meanwhile"), "{news}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_between_approval_and_application_is_recorded_once() {
    let daemon = TestDaemon::with("", LIMIT).await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("coder", 3_600_000).await);
    let request = stored(&daemon, &propose(&daemon, &owner, RULES).await).await;
    let event = answer(&request, "owner", Choice::Approve, "we agreed");
    // The process ends right after the commit of the decision.
    daemon.gate.store().apply(request.request.id, event, daemon.note()).await.unwrap();
    let daemon = daemon.restart(LIMIT, |_| {}).await;
    let news = daemon.gate.news().take().join("\n");
    assert!(news.contains("approved policy rules of owner are not in force"), "{news}");
    let id = json!(request.request.id.to_string());
    let about = |entry: &&Value| entry["facts"]["by_request"] == id;
    let entries = daemon.ledger().await;
    let entries: Vec<&Value> = entries.iter().filter(about).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert!(entries[0]["facts"]["policy_not_applied"].is_string(), "{entries:?}");
    assert_eq!(ask(&daemon, &agent, "acmectl deploy").await["state"], "pending");
    let daemon = daemon.restart(LIMIT, |_| {}).await;
    assert_eq!(daemon.gate.news().take(), Vec::<String>::new());
    // An applied change is not reported, and one that cannot be applied is in the ledger at once.
    let first = stored(&daemon, &propose(&daemon, &owner, RULES).await).await;
    let other = RULES.replace("acmectl deploy", "acmectl start");
    let second = stored(&daemon, &propose(&daemon, &owner, &other).await).await;
    for request in [&first, &second] {
        let event = answer(request, "owner", Choice::Approve, "we agreed");
        daemon.gate.decide(request.request.id, event, daemon.note()).await.unwrap();
    }
    let id = json!(second.request.id.to_string());
    let failed = daemon.ledger().await;
    let failed = failed.iter().find(|entry| entry["facts"]["by_request"] == id).unwrap();
    let why = failed["facts"]["policy_not_applied"].as_str().unwrap();
    assert!(why.contains("changed meanwhile"), "{why}");
    let daemon = daemon.restart(LIMIT, |_| {}).await;
    assert_eq!(daemon.gate.news().take(), Vec::<String>::new());
    assert_eq!(ask(&daemon, &agent, "acmectl deploy").await["state"], "approved");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_parts_meets_the_demands_of_the_whole() {
    let daemon = TestDaemon::with("", PASSKEY).await;
    let agent = daemon.agent("coder", 3_600_000).await;
    let request = stored(&daemon, &ask(&daemon, &agent, "acmectl deploy x").await).await;
    let parts = |assurance: Assurance| {
        let word = word_pair(&request.request.digest.canonical).to_string();
        let authority = Authority::login(false, Tenure::from(Timestamp(0)));
        Event::AnswerParts(Box::new(PartsAnswer {
            person: "owner".to_owned(),
            seen: request.request.digest,
            channel: "web".to_owned(),
            told: "Approved only: 1".to_owned(),
            reason: String::new(),
            word,
            scope: ApprovalScope::Once,
            standing: (Authority { assurance, ..authority }, RequiredAssurance::default()),
            tier: Tier::Low,
            people: 1,
            grants: Vec::new(),
        }))
    };
    let event = parts(Assurance::Login);
    let event = daemon.gate.with_demands(request.request.id, event).await.unwrap();
    let Event::AnswerParts(given) = event else { panic!("{event:?}") };
    let needs = given.standing.1;
    assert_eq!([needs.medium, needs.high, needs.critical], [Assurance::Passkey; 3]);
}
