//! A session is not enough: every change of people and rights needs a fresh proof.

use std::collections::BTreeSet;

use countersign_store::{LinkedAccount, Role, Store as _};
use countersign_types::time::Timestamp;
use serde_json::{Value, json};

use crate::api::{DOCUMENT, STEP_UP};
use crate::auth::recovery;
use crate::notifier::test_notifier::{ReceiverBehavior, WebhookReceiver, until};
use crate::routes::{EXEMPT, NEEDED};
use crate::test_daemon::{ApiSide, TestDaemon, TestReply, step_up_proof};

const REQUIRED: &str = "urn:countersign:problem:step-up-required";

/// Every operation of the people API that changes something, from the document.
fn changes() -> BTreeSet<(String, String)> {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let mut found = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, one) in methods.as_object().unwrap() {
            let people = one["x-api"] == "people" || one["x-api"] == "both";
            if people && method != "get" {
                found.insert((method.to_ascii_uppercase(), path.clone()));
            }
        }
    }
    found
}

/// A path with a value for each parameter.
fn filled(path: &str) -> String {
    let mut out = path.to_owned();
    while let (Some(from), Some(to)) = (out.find('{'), out.find('}')) {
        out.replace_range(from..=to, "owner");
    }
    out
}

#[tokio::test]
async fn every_change_is_refused_without_a_fresh_proof() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    let browser = daemon.browser().await;
    let cookie = format!("countersign={}", browser.cookie());
    let agent = daemon.agent("claude", 1_000_000).await;
    let expired = daemon.login("owner", "terminal", -1).await;
    let before = (daemon.ledger().await.len(), daemon.api.directory.person_count());
    let exempt: BTreeSet<(String, String)> =
        EXEMPT.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
    let needed: Vec<(String, String)> =
        changes().into_iter().filter(|one| !exempt.contains(one)).collect();
    assert_eq!(needed.len(), NEEDED.len(), "{needed:?}");
    for (method, path) in &needed {
        let line = format!("{method} {}", filled(path));
        let body = (method == "POST").then(|| json!({}));
        let ask = async |headers: &[(&str, &str)]| {
            daemon.ask(ApiSide::People, &line, headers, body.clone()).await
        };
        let text = body.as_ref().map(ToString::to_string).unwrap_or_default();
        let proof = browser.proof(&line, text.as_bytes(), daemon.now().0);
        let bearer = |token: &str| format!("Bearer {token}");
        let status = |reply: &TestReply| reply.status.as_u16();
        assert_eq!(status(&ask(&[]).await), 401, "{line}: nobody");
        let reply = ask(&[("authorization", &bearer(&agent))]).await;
        assert_eq!(status(&reply), 403, "{line}: an agent's token");
        assert_ne!(reply.body["type"], REQUIRED, "{line}: no agent may step up");
        let reply = ask(&[("authorization", &bearer(&expired))]).await;
        assert_eq!(status(&reply), 401, "{line}: an expired session");
        let right = step_up_proof(&daemon.passphrase);
        let reply = ask(&[("authorization", &bearer(&expired)), (STEP_UP, &right)]).await;
        assert_eq!(status(&reply), 401, "{line}: an expired session with the passphrase");
        for stolen in [
            vec![("authorization", bearer(&owner))],
            vec![("cookie", cookie.clone()), ("x-countersign-proof", proof)],
        ] {
            let stolen: Vec<_> = stolen.iter().map(|(name, value)| (*name, &**value)).collect();
            let reply = ask(&stolen).await;
            let told = (status(&reply), &reply.body["type"], &reply.body["why"]);
            assert_eq!(told, (403, &json!(REQUIRED), &json!("passphrase")), "{line}");
        }
    }
    assert_eq!((daemon.ledger().await.len(), daemon.api.directory.person_count()), before);
}

#[test]
fn every_change_is_in_one_of_the_step_up_lists() {
    let known: BTreeSet<(String, String)> = NEEDED
        .iter()
        .chain(&EXEMPT)
        .map(|(method, path)| ((*method).to_owned(), (*path).to_owned()))
        .collect();
    assert_eq!(known.len(), NEEDED.len() + EXEMPT.len(), "none is in both");
    let mut documented = changes();
    // The inbox has routes that the document does not describe.
    for path in [crate::inbox::DENY, crate::inbox::CHECK_EDIT] {
        documented.insert(("POST".to_owned(), path.to_owned()));
    }
    assert_eq!(known, documented);
}

/// Each change that a stolen administrator session must not be able to make.
#[tokio::test]
async fn a_stolen_session_cannot_change_rights() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    for (line, body) in [
        ("POST /v1/people/owner/passphrase", Some(json!({}))),
        ("POST /v1/people", Some(json!({"name": "second", "role": "administrator"}))),
        ("POST /v1/grants", Some(json!({"shape": "action", "tool": "shell"}))),
        ("POST /v1/agents", Some(json!({"name": "mine"}))),
        ("POST /v1/channels/telegram/link", Some(json!({}))),
    ] {
        let reply = daemon.by(&owner, ApiSide::People, line, body).await;
        assert_eq!(reply.body["type"], REQUIRED, "{line}: {:?}", reply.body);
        assert!(reply.body["passphrase"].is_null() && reply.body["token"].is_null());
    }
}

#[tokio::test]
async fn a_wrong_passphrase_counts_as_a_failed_login() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    let add = async |passphrase: &str| {
        let body = json!({"name": "ana", "role": "approver"});
        daemon.change_with(&owner, passphrase, "POST /v1/people", Some(body)).await
    };
    for _ in 0..5 {
        assert_eq!(add("wrong").await.status, 403);
    }
    assert!(daemon.count("login_failed").await >= 5);
    let locked = add(&daemon.passphrase).await;
    assert_eq!(locked.status, 429, "{:?}", locked.body);
    let body = json!({"name": "owner", "passphrase": daemon.passphrase, "channel": "terminal"});
    let login = daemon.ask(ApiSide::People, "POST /v1/login", &[], Some(body)).await;
    assert_eq!(login.status, 429);
    // Two proofs are rejected, and so is an unreadable one.
    let bearer = format!("Bearer {owner}");
    for proofs in [["passphrase YQ", "passphrase YQ"], ["passphrase YQ==", "x"]] {
        let headers = [("authorization", &*bearer), (STEP_UP, proofs[0]), (STEP_UP, proofs[1])];
        let reply = daemon.ask(ApiSide::People, "POST /v1/people", &headers, Some(json!({}))).await;
        assert_eq!(reply.status, 400);
    }
}

async fn ask(daemon: &TestDaemon, agent: &str, command: &str) -> Value {
    let call = json!({"tool": "terminal", "arguments": {"command": command}});
    let asked = daemon.by(agent, ApiSide::Agents, "POST /v1/requests", Some(call)).await;
    assert_eq!(asked.status, 201, "{:?}", asked.body);
    asked.body
}

async fn answer(daemon: &TestDaemon, token: &str, asked: &Value, choice: &str) -> TestReply {
    let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
    let body = json!({
        "choice": choice, "digest": asked["digest"], "reason": "I looked", "word": asked["phrase"],
    });
    daemon.by(token, ApiSide::People, &line, Some(body)).await
}

/// A person added by the API, signed in.
async fn add(daemon: &TestDaemon, owner: &str, name: &str) -> String {
    let body = json!({"name": name, "role": "administrator"});
    let added = daemon.change(owner, "POST /v1/people", Some(body)).await;
    assert_eq!(added.status, 201, "{:?}", added.body);
    let body = json!({
        "name": name, "passphrase": added.body["passphrase"], "channel": "terminal",
    });
    let login = daemon.ask(ApiSide::People, "POST /v1/login", &[], Some(body)).await;
    login.body["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn people_added_after_a_request_cannot_approve_it() {
    let sections = "[quorum]\ncritical = 2\n[people]\nwaiting_seconds = 0\n";
    let daemon = TestDaemon::with("", sections).await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    let asked = ask(&daemon, &agent, "rm -rf /").await;
    assert_eq!(asked["tier"], "CRITICAL");
    daemon.forward(5);
    let (one, two) = (add(&daemon, &owner, "one").await, add(&daemon, &owner, "two").await);
    for token in [&one, &two] {
        let reply = answer(&daemon, token, &asked, "approve").await;
        assert_eq!(reply.status, 403, "{:?}", reply.body);
        assert_eq!(reply.body["type"], "urn:countersign:problem:too-new");
        assert!(reply.body["detail"].as_str().unwrap().contains("newer than the request"));
    }
    // They can answer requests from now on.
    daemon.forward(5);
    let later = ask(&daemon, &agent, "rm -rf /usr").await;
    assert_eq!(answer(&daemon, &one, &later, "approve").await.status, 200);
    let decided = answer(&daemon, &two, &later, "approve").await;
    assert_eq!(decided.body["state"], "approved", "{:?}", decided.body);
    // Anyone can deny.
    assert_eq!(answer(&daemon, &one, &asked, "deny").await.body["state"], "denied");
}

#[tokio::test]
async fn a_new_person_waits_before_they_approve() {
    let daemon = TestDaemon::default().await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    let ana = add(&daemon, &owner, "ana").await;
    daemon.forward(5);
    let asked = ask(&daemon, &agent, "rm -rf /").await;
    let reply = answer(&daemon, &ana, &asked, "approve").await;
    assert_eq!(reply.status, 403, "{:?}", reply.body);
    assert!(reply.body["detail"].as_str().unwrap().contains("cannot approve before"));
    assert_eq!(answer(&daemon, &owner, &asked, "approve").await.status, 200);
}

/// A new role counts as new, however long the person exists.
#[tokio::test]
async fn a_new_role_waits_and_is_recorded() {
    let sections = "[people]\nwaiting_seconds = 0\n";
    let daemon = TestDaemon::with("", sections).await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    daemon.person("ana", Role::Approver).await;
    let ana = daemon.login("ana", "terminal", 1_000_000).await;
    let asked = ask(&daemon, &agent, "rm -rf /").await;
    daemon.forward(5);
    let line = "POST /v1/people/ana/role";
    let role = |word: &str| Some(json!({ "role": word }));
    assert_eq!(daemon.change(&ana, line, role("administrator")).await.status, 403);
    assert_eq!(daemon.change(&owner, line, role("administrator")).await.status, 200);
    let reply = answer(&daemon, &ana, &asked, "approve").await;
    assert_eq!(reply.body["type"], "urn:countersign:problem:too-new", "{:?}", reply.body);
    let last = "POST /v1/people/owner/role";
    assert_eq!(daemon.change(&owner, last, role("approver")).await.status, 200);
    assert_eq!(daemon.change(&ana, line, role("approver")).await.status, 409, "the last one");
    let told: Vec<String> = daemon
        .ledger()
        .await
        .iter()
        .filter(|entry| entry["facts"]["step_up"]["proof"] == "passphrase")
        .map(|entry| entry["facts"]["what"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(told, ["role changed", "role changed"]);
}

/// A linked account is as old as its link.
#[tokio::test]
async fn an_account_is_as_old_as_its_link() {
    let daemon = TestDaemon::default().await;
    let now = daemon.now();
    let account = LinkedAccount {
        channel: "telegram".to_owned(),
        account: "77".to_owned(),
        person: "owner".to_owned(),
        called: "Eve".to_owned(),
        linked: now,
        active_from: Timestamp(now.0 + 60_000),
        ended: None,
    };
    daemon.gate.store().save_account(account, daemon.note()).await.unwrap();
    daemon.api.directory.reload(daemon.gate.store()).await.unwrap();
    let (person, tenure) = daemon.api.directory.account("telegram", "77").unwrap();
    assert_eq!((person.as_str(), tenure.since), ("owner", now));
    assert_eq!(tenure.active_from, Timestamp(now.0 + 60_000));
}

#[tokio::test]
async fn a_passphrase_is_only_reset_with_a_recovery_code() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    daemon.person("ana", Role::Approver).await;
    let ana = daemon.login("ana", "terminal", 1_000_000).await;
    // No other session gets the passphrase, with any proof.
    let line = "POST /v1/people/ana/passphrase";
    let reply = daemon.change(&owner, line, Some(json!({}))).await;
    assert_eq!((reply.status.as_u16(), &reply.body["passphrase"]), (409, &Value::Null));
    let recover = async |name: &str, code: &str| {
        let body = json!({"name": name, "code": code});
        daemon.ask(ApiSide::People, "POST /v1/recover", &[], Some(body)).await
    };
    assert_eq!(recover("ana", "no-such-code").await.status, 403);
    let (code, _) = recovery::issue(&daemon.state(), "ana", false, daemon.now().0).unwrap();
    assert_eq!(recover("owner", &code).await.status, 403, "for another person");
    let done = recover("ana", &code).await;
    assert_eq!(done.status, 200, "{:?}", done.body);
    assert_eq!(recover("ana", &code).await.status, 403, "twice");
    assert_eq!(daemon.by(&ana, ApiSide::People, "GET /v1/me", None).await.status, 401);
    let body = json!({
        "name": "ana", "passphrase": done.body["passphrase"], "channel": "terminal",
    });
    let login = daemon.ask(ApiSide::People, "POST /v1/login", &[], Some(body)).await;
    assert_eq!(login.status, 200);
    let ledger = daemon.ledger().await;
    let entry = ledger.iter().find(|entry| entry["facts"]["what"] == "passphrase changed");
    assert_eq!(entry.unwrap()["facts"]["step_up"]["proof"], "recovery code");
}

#[tokio::test]
async fn an_approval_with_a_quorum_cannot_give_a_grant() {
    let daemon = TestDaemon::with("", "[quorum]\nhigh = 2\n").await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    let call = json!({
        "tool": "terminal", "session": "s", "arguments": {"command": "rm -rf /srv/data"},
    });
    let asked = daemon.by(&agent, ApiSide::Agents, "POST /v1/requests", Some(call)).await.body;
    assert_eq!((&asked["tier"], &asked["quorum"]["approve"]), (&json!("HIGH"), &json!(2)));
    let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
    let grant = json!({"shape": "exact", "scope": "session"});
    let body = json!({"choice": "approve", "digest": asked["digest"], "grant": grant});
    let reply = daemon.by(&owner, ApiSide::People, &line, Some(body)).await;
    assert_eq!(reply.status, 409, "{:?}", reply.body);
    let grants = daemon.by(&owner, ApiSide::People, "GET /v1/grants", None).await.body;
    let list = grants["grants"].as_array().unwrap();
    assert!(list.iter().all(|one| one["shape"] != "exact"), "{grants}");
}

#[tokio::test]
async fn a_grant_with_an_answer_needs_a_proof_unless_exact_and_in_session() {
    let daemon = TestDaemon::default().await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    let decide = async |grant: Value, proof: bool| {
        let text = crate::random::secret("").unwrap();
        let call = json!({
            "tool": "send_message", "session": "s", "arguments": {"to": "bo", "text": text},
        });
        let asked = daemon.by(&agent, ApiSide::Agents, "POST /v1/requests", Some(call)).await.body;
        let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
        let body = Some(json!({"choice": "approve", "digest": asked["digest"], "grant": grant}));
        if proof {
            daemon.change(&owner, &line, body).await
        } else {
            daemon.by(&owner, ApiSide::People, &line, body).await
        }
    };
    let narrow = json!({"shape": "exact", "scope": "session"});
    assert_eq!(decide(narrow, false).await.status, 200);
    for wide in [
        json!({"shape": "exact", "scope": "until", "minutes": 60}),
        json!({"shape": "exact", "scope": "session", "minutes": 721}),
        // Last, because it covers the later calls.
        json!({"shape": "action", "scope": "session"}),
    ] {
        let refused = decide(wide.clone(), false).await;
        assert_eq!(refused.body["type"], REQUIRED, "{wide}: {:?}", refused.body);
        assert_eq!(decide(wide.clone(), true).await.status, 200, "{wide}");
    }
}

/// Only administrators give grants, with an answer too. An approver can still approve exactly the
/// same call for the rest of its session.
#[tokio::test]
async fn an_approver_gives_no_wide_grant_with_an_answer() {
    let daemon = TestDaemon::default().await;
    daemon.person("ana", Role::Approver).await;
    let ana = daemon.login("ana", "terminal", 1_000_000).await;
    let (owner, agent) = (daemon.owner().await, daemon.agent("claude", 1_000_000).await);
    let asked = async || {
        let text = crate::random::secret("").unwrap();
        let call = json!({
            "tool": "send_message", "session": "s", "arguments": {"to": "bo", "text": text},
        });
        daemon.by(&agent, ApiSide::Agents, "POST /v1/requests", Some(call)).await.body
    };
    for wide in [
        json!({"shape": "action", "scope": "until", "minutes": 43_200}),
        json!({"shape": "action", "scope": "session"}),
        json!({"shape": "exact", "scope": "until", "minutes": 1}),
        json!({"shape": "exact", "scope": "session", "minutes": 721}),
    ] {
        let asked = asked().await;
        let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
        let body = json!({"choice": "approve", "digest": asked["digest"], "grant": wide});
        // Her passphrase is the owner's.
        let refused = daemon.change(&ana, &line, Some(body)).await;
        assert_eq!(refused.status, 403, "{wide}: {:?}", refused.body);
        assert!(refused.body["detail"].as_str().unwrap().contains("administrator"));
        let shown = format!("GET /v1/requests/{}", asked["id"].as_str().unwrap());
        let shown = daemon.by(&ana, ApiSide::People, &shown, None).await.body;
        assert_eq!(shown["state"], "pending", "{wide}");
    }
    let asked = asked().await;
    let id = asked["id"].as_str().unwrap();
    // The inbox offers what would be accepted.
    let (hers, owners) = (
        daemon.page(&ana, &format!("/requests/{id}")).await,
        daemon.page(&owner, &format!("/requests/{id}")).await,
    );
    for offer in ["data-shape=\"exact\"", "data-shape=\"action\""] {
        assert_eq!((hers.contains(offer), owners.contains(offer)), (false, true), "{offer}");
    }
    let narrow = json!({"shape": "exact", "scope": "session"});
    let body = json!({"choice": "approve", "digest": asked["digest"], "grant": narrow});
    let line = format!("POST /v1/requests/{id}/decision");
    assert_eq!(daemon.by(&ana, ApiSide::People, &line, Some(body)).await.status, 200);
}

/// Every channel announces that a new person can approve.
#[tokio::test]
async fn changes_of_who_may_approve_are_announced_on_every_channel() {
    let folder = tempfile::tempdir().unwrap();
    let (first, beside) = (
        WebhookReceiver::start(ReceiverBehavior::Answers(200)).await,
        WebhookReceiver::start(ReceiverBehavior::Answers(200)).await,
    );
    let sections = format!(
        "[escalation]\nfirst = [\"one\"]\n{}{}",
        first.channel("one", folder.path()),
        beside.channel("two", folder.path())
    );
    let daemon = TestDaemon::with("", &sections).await;
    let owner = daemon.owner().await;
    add(&daemon, &owner, "ana").await;
    let words = "owner added ana as an administrator";
    for (name, hook) in [("one", &first), ("two", &beside)] {
        until(name, async || hook.got().iter().any(|(_, body)| body.to_string().contains(words)))
            .await;
    }
}

#[tokio::test]
async fn a_person_sees_and_ends_their_own_sessions() {
    let daemon = TestDaemon::default().await;
    let (owner, other) = (daemon.owner().await, daemon.owner().await);
    daemon.person("ana", Role::Approver).await;
    let ana = daemon.login("ana", "terminal", 1_000_000).await;
    let list = daemon.by(&owner, ApiSide::People, "GET /v1/sessions", None).await.body;
    let list = list["sessions"].as_array().unwrap();
    assert_eq!(list.len(), 2, "{list:?}");
    let found = list.iter().find(|one| one["current"] == false).unwrap();
    let line = format!("DELETE /v1/sessions/{}", found["id"].as_str().unwrap());
    assert_eq!(daemon.by(&ana, ApiSide::People, &line, None).await.status, 404, "not hers");
    assert_eq!(daemon.by(&owner, ApiSide::People, &line, None).await.status, 200);
    assert_eq!(daemon.by(&other, ApiSide::People, "GET /v1/me", None).await.status, 401);
    assert_eq!(daemon.by(&owner, ApiSide::People, "GET /v1/me", None).await.status, 200);
}
