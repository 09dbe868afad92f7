//! A session is not enough for power: whatever changes who may do what needs a fresh proof.

use std::collections::BTreeSet;

use countersign_store::{LinkedAccount, Role, Store as _};
use countersign_types::time::Timestamp;
use serde_json::{Value, json};

use crate::api::{DOCUMENT, EXEMPT, NEEDED, STEP_UP};
use crate::auth::recovery;
use crate::courier::rig::{Manner, Receiver, until};
use crate::house::{Door, House, Reply, step_up_header};

const REQUIRED: &str = "urn:countersign:problem:step-up-required";

/// Every operation of the people's API that changes something, as the document names it.
fn changes() -> BTreeSet<(String, String)> {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let mut found = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, one) in methods.as_object().unwrap() {
            let people = one["x-door"] == "people" || one["x-door"] == "both";
            if people && method != "get" {
                found.insert((method.to_ascii_uppercase(), path.clone()));
            }
        }
    }
    found
}

/// A path with something in each place.
fn filled(path: &str) -> String {
    let mut out = path.to_owned();
    while let (Some(from), Some(to)) = (out.find('{'), out.find('}')) {
        out.replace_range(from..=to, "owner");
    }
    out
}

#[tokio::test]
async fn every_change_is_refused_without_a_fresh_proof() {
    let house = House::usual().await;
    let owner = house.owner().await;
    let (cookie, proof) = house.browser().await;
    let cookie = format!("countersign={cookie}");
    let agent = house.agent("claude", 1_000_000).await;
    let expired = house.login("owner", "terminal", -1).await;
    let before = (house.ledger().await.len(), house.api.book.people());
    let exempt: BTreeSet<(String, String)> =
        EXEMPT.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
    let needed: Vec<(String, String)> =
        changes().into_iter().filter(|one| !exempt.contains(one)).collect();
    assert_eq!(needed.len(), NEEDED.len(), "{needed:?}");
    for (method, path) in &needed {
        let line = format!("{method} {}", filled(path));
        let body = (method == "POST").then(|| json!({}));
        let ask = async |headers: &[(&str, &str)]| {
            house.ask(Door::People, &line, headers, body.clone()).await
        };
        let bearer = |token: &str| format!("Bearer {token}");
        let status = |reply: &Reply| reply.status.as_u16();
        assert_eq!(status(&ask(&[]).await), 401, "{line}: nobody");
        let reply = ask(&[("authorization", &bearer(&agent))]).await;
        assert_eq!(status(&reply), 403, "{line}: an agent's token");
        assert_ne!(reply.body["type"], REQUIRED, "{line}: no agent may step up");
        let reply = ask(&[("authorization", &bearer(&expired))]).await;
        assert_eq!(status(&reply), 401, "{line}: an expired session");
        let right = step_up_header(&house.passphrase);
        let reply = ask(&[("authorization", &bearer(&expired)), (STEP_UP, &right)]).await;
        assert_eq!(status(&reply), 401, "{line}: an expired session with the passphrase");
        for stolen in [
            vec![("authorization", bearer(&owner))],
            vec![("cookie", cookie.clone()), ("x-countersign-proof", proof.clone())],
        ] {
            let stolen: Vec<_> = stolen.iter().map(|(name, value)| (*name, &**value)).collect();
            let reply = ask(&stolen).await;
            let told = (status(&reply), &reply.body["type"], &reply.body["why"]);
            assert_eq!(told, (403, &json!(REQUIRED), &json!("passphrase")), "{line}");
        }
    }
    assert_eq!((house.ledger().await.len(), house.api.book.people()), before);
}

#[test]
fn every_change_is_decided_about() {
    let known: BTreeSet<(String, String)> = NEEDED
        .iter()
        .chain(&EXEMPT)
        .map(|(method, path)| ((*method).to_owned(), (*path).to_owned()))
        .collect();
    assert_eq!(known.len(), NEEDED.len() + EXEMPT.len(), "none is in both");
    let mut documented = changes();
    // The inbox has routes of its own, which the document does not describe.
    for path in [crate::inbox::DENY, crate::inbox::CHECK_EDIT] {
        documented.insert(("POST".to_owned(), path.to_owned()));
    }
    assert_eq!(known, documented);
}

/// What a thief of an administrator's session could do before: each line by itself.
#[tokio::test]
async fn a_stolen_session_takes_no_power() {
    let house = House::usual().await;
    let owner = house.owner().await;
    for (line, body) in [
        ("POST /v1/people/owner/passphrase", Some(json!({}))),
        ("POST /v1/people", Some(json!({"name": "second", "role": "administrator"}))),
        ("POST /v1/grants", Some(json!({"shape": "action", "tool": "shell"}))),
        ("POST /v1/agents", Some(json!({"name": "mine"}))),
        ("POST /v1/channels/telegram/link", Some(json!({}))),
    ] {
        let reply = house.by(&owner, Door::People, line, body).await;
        assert_eq!(reply.body["type"], REQUIRED, "{line}: {:?}", reply.body);
        assert!(reply.body["passphrase"].is_null() && reply.body["token"].is_null());
    }
}

#[tokio::test]
async fn a_wrong_passphrase_counts_as_a_failed_login() {
    let house = House::usual().await;
    let owner = house.owner().await;
    let add = async |passphrase: &str| {
        let body = json!({"name": "ana", "role": "approver"});
        house.change_with(&owner, passphrase, "POST /v1/people", Some(body)).await
    };
    for _ in 0..5 {
        assert_eq!(add("wrong").await.status, 403);
    }
    assert!(house.count("login_failed").await >= 5);
    let locked = add(&house.passphrase).await;
    assert_eq!(locked.status, 429, "{:?}", locked.body);
    let body = json!({"name": "owner", "passphrase": house.passphrase, "channel": "terminal"});
    let login = house.ask(Door::People, "POST /v1/login", &[], Some(body)).await;
    assert_eq!(login.status, 429);
    // Two proofs are none, nor is one that cannot be read.
    let bearer = format!("Bearer {owner}");
    for proofs in [["passphrase YQ", "passphrase YQ"], ["passphrase YQ==", "x"]] {
        let headers = [("authorization", &*bearer), (STEP_UP, proofs[0]), (STEP_UP, proofs[1])];
        let reply = house.ask(Door::People, "POST /v1/people", &headers, Some(json!({}))).await;
        assert_eq!(reply.status, 400);
    }
}

async fn ask(house: &House, agent: &str, command: &str) -> Value {
    let call = json!({"tool": "terminal", "arguments": {"command": command}});
    let asked = house.by(agent, Door::Agents, "POST /v1/requests", Some(call)).await;
    assert_eq!(asked.status, 201, "{:?}", asked.body);
    asked.body
}

async fn answer(house: &House, token: &str, asked: &Value, choice: &str) -> Reply {
    let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
    let body = json!({"choice": choice, "digest": asked["digest"], "reason": "I looked"});
    house.by(token, Door::People, &line, Some(body)).await
}

/// A person added by the API, signed in.
async fn add(house: &House, owner: &str, name: &str) -> String {
    let body = json!({"name": name, "role": "administrator"});
    let added = house.change(owner, "POST /v1/people", Some(body)).await;
    assert_eq!(added.status, 201, "{:?}", added.body);
    let body = json!({
        "name": name, "passphrase": added.body["passphrase"], "channel": "terminal",
    });
    let login = house.ask(Door::People, "POST /v1/login", &[], Some(body)).await;
    login.body["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn people_made_after_a_request_are_no_quorum_for_it() {
    let sections = "[quorum]\ncritical = 2\n[people]\nwaiting_seconds = 0\n";
    let house = House::with("", sections).await;
    let (owner, agent) = (house.owner().await, house.agent("claude", 1_000_000).await);
    let asked = ask(&house, &agent, "rm -rf /").await;
    assert_eq!(asked["tier"], "CRITICAL");
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let (one, two) = (add(&house, &owner, "one").await, add(&house, &owner, "two").await);
    for token in [&one, &two] {
        let reply = answer(&house, token, &asked, "approve").await;
        assert_eq!(reply.status, 403, "{:?}", reply.body);
        assert_eq!(reply.body["type"], "urn:countersign:problem:too-new");
        assert!(reply.body["detail"].as_str().unwrap().contains("newer than the request"));
    }
    // What is asked from now on is theirs to answer.
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let later = ask(&house, &agent, "rm -rf /usr").await;
    assert_eq!(answer(&house, &one, &later, "approve").await.status, 200);
    let decided = answer(&house, &two, &later, "approve").await;
    assert_eq!(decided.body["state"], "approved", "{:?}", decided.body);
    // A denial is taken from anybody.
    assert_eq!(answer(&house, &one, &asked, "deny").await.body["state"], "denied");
}

#[tokio::test]
async fn a_new_person_waits_before_they_approve() {
    let house = House::usual().await;
    let (owner, agent) = (house.owner().await, house.agent("claude", 1_000_000).await);
    let ana = add(&house, &owner, "ana").await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let asked = ask(&house, &agent, "rm -rf /").await;
    let reply = answer(&house, &ana, &asked, "approve").await;
    assert_eq!(reply.status, 403, "{:?}", reply.body);
    assert!(reply.body["detail"].as_str().unwrap().contains("cannot approve before"));
    assert_eq!(answer(&house, &owner, &asked, "approve").await.status, 200);
}

/// A role that is new counts as new, however old the person is.
#[tokio::test]
async fn a_new_role_waits_and_is_written_down() {
    let sections = "[people]\nwaiting_seconds = 0\n";
    let house = House::with("", sections).await;
    let (owner, agent) = (house.owner().await, house.agent("claude", 1_000_000).await);
    house.person("ana", Role::Approver).await;
    let ana = house.login("ana", "terminal", 1_000_000).await;
    let asked = ask(&house, &agent, "rm -rf /").await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let line = "POST /v1/people/ana/role";
    let role = |word: &str| Some(json!({ "role": word }));
    assert_eq!(house.change(&ana, line, role("administrator")).await.status, 403);
    assert_eq!(house.change(&owner, line, role("administrator")).await.status, 200);
    let reply = answer(&house, &ana, &asked, "approve").await;
    assert_eq!(reply.body["type"], "urn:countersign:problem:too-new", "{:?}", reply.body);
    let last = "POST /v1/people/owner/role";
    assert_eq!(house.change(&owner, last, role("approver")).await.status, 200);
    assert_eq!(house.change(&ana, line, role("approver")).await.status, 409, "the last one");
    let told: Vec<String> = house
        .ledger()
        .await
        .iter()
        .filter(|entry| entry["facts"]["step_up"]["proof"] == "passphrase")
        .map(|entry| entry["facts"]["what"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(told, ["role changed", "role changed"]);
}

/// A linked account is as old as its link, whoever it belongs to.
#[tokio::test]
async fn an_account_is_as_old_as_its_link() {
    let house = House::usual().await;
    let now = house.now();
    let account = LinkedAccount {
        channel: "telegram".to_owned(),
        account: "77".to_owned(),
        person: "owner".to_owned(),
        called: "Eve".to_owned(),
        linked: now,
        active_from: Timestamp(now.0 + 60_000),
        ended: None,
    };
    house.gate.store().save_account(account, house.note()).await.unwrap();
    house.api.book.read(house.gate.store()).await.unwrap();
    let (person, tenure) = house.api.book.account("telegram", "77").unwrap();
    assert_eq!((person.as_str(), tenure.since), ("owner", now));
    assert_eq!(tenure.active_from, Timestamp(now.0 + 60_000));
}

#[tokio::test]
async fn a_reset_reaches_the_person_by_a_code_from_the_machine_alone() {
    let house = House::usual().await;
    let owner = house.owner().await;
    house.person("ana", Role::Approver).await;
    let ana = house.login("ana", "terminal", 1_000_000).await;
    // Nobody else's session gets it, with whatever proof.
    let line = "POST /v1/people/ana/passphrase";
    let reply = house.change(&owner, line, Some(json!({}))).await;
    assert_eq!((reply.status.as_u16(), &reply.body["passphrase"]), (409, &Value::Null));
    let recover = async |name: &str, code: &str| {
        let body = json!({"name": name, "code": code});
        house.ask(Door::People, "POST /v1/recover", &[], Some(body)).await
    };
    assert_eq!(recover("ana", "no-such-code").await.status, 403);
    let (code, _) = recovery::issue(&house.state(), "ana", false, house.now().0).unwrap();
    assert_eq!(recover("owner", &code).await.status, 403, "for another person");
    let done = recover("ana", &code).await;
    assert_eq!(done.status, 200, "{:?}", done.body);
    assert_eq!(recover("ana", &code).await.status, 403, "twice");
    assert_eq!(house.by(&ana, Door::People, "GET /v1/me", None).await.status, 401);
    let body = json!({
        "name": "ana", "passphrase": done.body["passphrase"], "channel": "terminal",
    });
    let login = house.ask(Door::People, "POST /v1/login", &[], Some(body)).await;
    assert_eq!(login.status, 200);
    let ledger = house.ledger().await;
    let entry = ledger.iter().find(|entry| entry["facts"]["what"] == "passphrase changed");
    assert_eq!(entry.unwrap()["facts"]["step_up"]["proof"], "recovery code");
}

#[tokio::test]
async fn an_edit_into_a_graver_call_takes_that_calls_rules() {
    let house = House::with("", "[quorum]\ncritical = 2\n").await;
    let (owner, agent) = (house.owner().await, house.agent("claude", 1_000_000).await);
    let call = json!({"tool": "send_message", "arguments": {"to": "bo", "text": "hi"}});
    let asked = house.by(&agent, Door::Agents, "POST /v1/requests", Some(call)).await.body;
    assert_eq!(asked["tier"], "MEDIUM", "{asked}");
    let asked = ask(&house, &agent, "git push origin main --force-with-lease").await;
    assert_ne!(asked["tier"], "CRITICAL", "{asked}");
    let id = asked["id"].as_str().unwrap();
    let mut body = json!({"digest": asked["digest"], "edited_arguments": {"command": "rm -rf /"}});
    let line = format!("POST /v1/requests/{id}/edit");
    let checked = house.by(&owner, Door::People, &line, Some(body.clone())).await;
    assert_eq!(checked.body["tier"], "CRITICAL", "{:?}", checked.body);
    body["choice"] = json!("approve");
    body["reason"] = json!("I looked");
    body["edited_digest"] = checked.body["digest"].clone();
    let line = format!("POST /v1/requests/{id}/decision");
    let reply = house.by(&owner, Door::People, &line, Some(body)).await;
    assert_eq!(reply.status, 409, "{:?}", reply.body);
    assert!(reply.body["detail"].as_str().unwrap().contains("several people"));
}

#[tokio::test]
async fn one_of_several_people_gives_no_grant() {
    let house = House::with("", "[quorum]\nhigh = 2\n").await;
    let (owner, agent) = (house.owner().await, house.agent("claude", 1_000_000).await);
    let call = json!({
        "tool": "terminal", "session": "s", "arguments": {"command": "rm -rf /srv/data"},
    });
    let asked = house.by(&agent, Door::Agents, "POST /v1/requests", Some(call)).await.body;
    assert_eq!((&asked["tier"], &asked["quorum"]["approve"]), (&json!("HIGH"), &json!(2)));
    let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
    let grant = json!({"shape": "exact", "scope": "session"});
    let body = json!({"choice": "approve", "digest": asked["digest"], "grant": grant});
    let reply = house.by(&owner, Door::People, &line, Some(body)).await;
    assert_eq!(reply.status, 409, "{:?}", reply.body);
    let grants = house.by(&owner, Door::People, "GET /v1/grants", None).await.body;
    let list = grants["grants"].as_array().unwrap();
    assert!(list.iter().all(|one| one["shape"] != "exact"), "{grants}");
}

#[tokio::test]
async fn a_grant_with_an_answer_is_a_power_unless_it_is_that_very_call_in_its_session() {
    let house = House::usual().await;
    let (owner, agent) = (house.owner().await, house.agent("claude", 1_000_000).await);
    let decide = async |grant: Value, proof: bool| {
        let text = crate::chance::secret("").unwrap();
        let call = json!({
            "tool": "send_message", "session": "s", "arguments": {"to": "bo", "text": text},
        });
        let asked = house.by(&agent, Door::Agents, "POST /v1/requests", Some(call)).await.body;
        let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
        let body = Some(json!({"choice": "approve", "digest": asked["digest"], "grant": grant}));
        if proof {
            house.change(&owner, &line, body).await
        } else {
            house.by(&owner, Door::People, &line, body).await
        }
    };
    let narrow = json!({"shape": "exact", "scope": "session"});
    assert_eq!(decide(narrow, false).await.status, 200);
    for wide in [
        json!({"shape": "exact", "scope": "until", "minutes": 60}),
        json!({"shape": "exact", "scope": "session", "minutes": 721}),
        // Last, because it covers the calls that come after it.
        json!({"shape": "action", "scope": "session"}),
    ] {
        let refused = decide(wide.clone(), false).await;
        assert_eq!(refused.body["type"], REQUIRED, "{wide}: {:?}", refused.body);
        assert_eq!(decide(wide.clone(), true).await.status, 200, "{wide}");
    }
}

/// Whoever answers through any channel hears that somebody new can approve.
#[tokio::test]
async fn changes_of_who_may_approve_are_announced_on_every_channel() {
    let folder = tempfile::tempdir().unwrap();
    let (first, beside) =
        (Receiver::start(Manner::Answers(200)).await, Receiver::start(Manner::Answers(200)).await);
    let sections = format!(
        "[ladder]\nfirst = [\"one\"]\n{}{}",
        first.channel("one", folder.path()),
        beside.channel("two", folder.path())
    );
    let house = House::with("", &sections).await;
    let owner = house.owner().await;
    add(&house, &owner, "ana").await;
    let words = "owner added ana as an administrator";
    for (name, hook) in [("one", &first), ("two", &beside)] {
        until(name, async || hook.got().iter().any(|(_, body)| body.to_string().contains(words)))
            .await;
    }
}

#[tokio::test]
async fn a_person_sees_and_ends_their_own_sessions() {
    let house = House::usual().await;
    let (owner, other) = (house.owner().await, house.owner().await);
    house.person("ana", Role::Approver).await;
    let ana = house.login("ana", "terminal", 1_000_000).await;
    let list = house.by(&owner, Door::People, "GET /v1/sessions", None).await.body;
    let list = list["sessions"].as_array().unwrap();
    assert_eq!(list.len(), 2, "{list:?}");
    let found = list.iter().find(|one| one["current"] == false).unwrap();
    let line = format!("DELETE /v1/sessions/{}", found["id"].as_str().unwrap());
    assert_eq!(house.by(&ana, Door::People, &line, None).await.status, 404, "not hers");
    assert_eq!(house.by(&owner, Door::People, &line, None).await.status, 200);
    assert_eq!(house.by(&other, Door::People, "GET /v1/me", None).await.status, 401);
    assert_eq!(house.by(&owner, Door::People, "GET /v1/me", None).await.status, 200);
}
