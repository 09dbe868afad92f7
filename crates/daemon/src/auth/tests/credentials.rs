//! Every route with every credential that must not do.

use countersign_store::{Role, Store as _};
use serde_json::{Value, json};

use crate::house::{Door, House};

const PEOPLE: [&str; 19] = [
    "GET /v1/me",
    "DELETE /v1/login",
    "GET /v1/requests",
    "GET /v1/requests/00000000000000000000000000",
    "GET /v1/requests/00000000000000000000000000/wait",
    "POST /v1/requests/00000000000000000000000000/decision",
    "POST /v1/decisions",
    "GET /v1/grants",
    "POST /v1/grants",
    "DELETE /v1/grants/00000000000000000000000000",
    "GET /v1/people",
    "POST /v1/people",
    "DELETE /v1/people/owner",
    "POST /v1/people/owner/passphrase",
    "GET /v1/agents",
    "POST /v1/agents",
    "DELETE /v1/agents/claude",
    "POST /v1/agents/claude/token",
    "POST /respond",
];

const AGENTS: [&str; 7] = [
    "POST /v1/assess",
    "POST /v1/requests",
    "GET /v1/requests",
    "GET /v1/requests/00000000000000000000000000",
    "GET /v1/requests/00000000000000000000000000/wait",
    "POST /v1/requests/00000000000000000000000000/cancel",
    "POST /v1/requests/00000000000000000000000000/outcome",
];

/// Tokens that are nobody's any more, or never were.
async fn strangers(house: &House) -> Vec<String> {
    let expired = house.login("owner", "terminal", -1).await;
    let owner = house.owner().await;
    let ended = house.owner().await;
    assert_eq!(house.by(&ended, Door::People, "DELETE /v1/login", None).await.status, 200);
    house.person("bob", Role::Administrator).await;
    let gone = house.login("bob", "terminal", 1_000_000).await;
    assert_eq!(house.by(&gone, Door::People, "GET /v1/people", None).await.status, 200);
    let revoked = house.change(&owner, "DELETE /v1/people/bob", None).await;
    assert_eq!(revoked.status, 200);
    let digest = countersign_json::canonical::Digest::of(owner.as_bytes()).to_string();
    let made_up = [String::new(), "csp_".to_owned(), owner.to_uppercase(), format!("csp_{digest}")];
    [expired, ended, gone].into_iter().chain(made_up).collect()
}

#[tokio::test]
async fn nobody_but_people_gets_through_the_people_s_door() {
    let house = House::usual().await;
    let agent = house.agent("claude", 1_000_000).await;
    let strangers = strangers(&house).await;
    let before = house.ledger().await.len();
    for line in PEOPLE {
        let body = line.starts_with("POST").then(|| json!({}));
        let nobody = house.ask(Door::People, line, &[], body.clone()).await;
        assert_eq!(nobody.status, 401, "{line}");
        for token in &strangers {
            let reply = house.by(token, Door::People, line, body.clone()).await;
            assert_eq!(reply.status, 401, "{line} {token}");
        }
        let reply = house.by(&agent, Door::People, line, body.clone()).await;
        assert_eq!(reply.status, 403, "{line}");
        if line != "POST /respond" {
            // An agent's token decides nothing at its own door either: there is nothing to decide.
            let reply = house.by(&agent, Door::Agents, line, body).await;
            assert!([400, 404, 405].contains(&reply.status.as_u16()) || line.starts_with("GET"));
        }
    }
    assert_eq!(house.ledger().await.len(), before);
}

#[tokio::test]
async fn approvers_change_nobody() {
    let house = House::usual().await;
    house.person("ana", Role::Approver).await;
    let ana = house.login("ana", "terminal", 1_000_000).await;
    for line in &PEOPLE[10..18] {
        let body = line.starts_with("POST").then(|| json!({}));
        let reply = house.change(&ana, line, body).await;
        assert_eq!(reply.status, 403, "{line}");
        assert_eq!(reply.body["type"], "urn:countersign:problem:forbidden", "{line}");
    }
    let give = house.change(&ana, "POST /v1/grants", Some(json!({}))).await;
    assert_eq!(give.status, 403);
}

#[tokio::test]
async fn only_known_agents_ask_and_each_sees_its_own() {
    let house = House::usual().await;
    let agent = house.agent("claude", 1_000_000).await;
    let other = house.agent("codex", 1_000_000).await;
    let expired = house.agent("late", -1).await;
    let gone = house.agent("gone", 1_000_000).await;
    let owner = house.owner().await;
    let reply = house.change(&owner, "DELETE /v1/agents/gone", None).await;
    assert_eq!(reply.status, 200);
    for line in AGENTS {
        let body = line.starts_with("POST").then(|| json!({}));
        assert_eq!(house.ask(Door::Agents, line, &[], body.clone()).await.status, 401, "{line}");
        for token in [&expired, &gone, &owner, &"csa_".to_owned(), &String::new()] {
            let reply = house.by(token, Door::Agents, line, body.clone()).await;
            assert_eq!(reply.status, 401, "{line} {token}");
        }
    }
    let call = json!({"command": "rm -rf /tmp/build", "session": "s"});
    let asked = house.by(&agent, Door::Agents, "POST /v1/requests", Some(call)).await;
    assert_eq!(asked.status, 201, "{:?}", asked.body);
    let id = asked.body["id"].as_str().unwrap().to_owned();
    for line in &AGENTS[3..] {
        let line = line.replace("00000000000000000000000000", &id);
        let body = match line.rsplit('/').next() {
            Some("outcome") => Some(json!({"status": "ok"})),
            Some("cancel") => Some(json!({})),
            _ => None,
        };
        let reply = house.by(&other, Door::Agents, &line, body).await;
        assert_eq!(reply.status, 404, "{line}");
    }
    let list = house.by(&other, Door::Agents, "GET /v1/requests", None).await;
    assert_eq!(list.body["requests"], json!([]));
    let line = "GET /v1/requests?agent=claude";
    assert_eq!(house.by(&other, Door::Agents, line, None).await.status, 400);
    let stored = house.gate.store().pending().await.unwrap();
    assert_eq!(stored.len(), 1);
}

#[tokio::test]
async fn the_requester_never_approves() {
    let house = House::usual().await;
    let agent = house.agent("claude", 1_000_000).await;
    let call = json!({"command": "rm -rf /tmp/build"});
    let asked = house.by(&agent, Door::Agents, "POST /v1/requests", Some(call)).await;
    let id = asked.body["id"].as_str().unwrap().to_owned();
    let digest = asked.body["digest"].clone();
    let respond = json!({"request_id": id, "approved": true, "decided_by": "owner"});
    let decide = json!({"choice": "approve", "digest": digest});
    for door in [Door::Agents, Door::People] {
        let reply = house.by(&agent, door, "POST /respond", Some(respond.clone())).await;
        assert_eq!(reply.status, 403, "{door:?}");
        let reply = house.ask(door, "POST /respond", &[], Some(respond.clone())).await;
        assert_eq!(reply.status, 401, "{door:?}");
        let line = format!("POST /v1/requests/{id}/decision");
        let reply = house.by(&agent, door, &line, Some(decide.clone())).await;
        assert!([403, 404].contains(&reply.status.as_u16()), "{door:?}");
    }
    let owner = house.owner().await;
    for approved in [json!("false"), json!("true"), json!(null), json!(1), json!(0), json!([])] {
        let body = json!({"request_id": id, "approved": approved});
        for door in [Door::Agents, Door::People] {
            let reply = house.by(&owner, door, "POST /respond", Some(body.clone())).await;
            assert_eq!(reply.status, 400, "{approved}");
        }
    }
    let line = format!("GET /v1/requests/{id}");
    let stands = house.by(&agent, Door::Agents, &line, None).await;
    assert_eq!(stands.body["state"], "pending");
    let line = format!("POST /v1/requests/{id}/decision");
    let decided = house.by(&owner, Door::People, &line, Some(decide)).await;
    assert_eq!(decided.body["state"], "approved", "{:?}", decided.body);
    assert_eq!(decided.body["decision"]["by"]["people"], json!(["owner"]));
    let again = house.by(&owner, Door::People, &line, Some(json!({"choice": "deny"}))).await;
    assert_eq!((again.status.as_u16(), again.body["outcome"].clone()), (409, Value::from("none")));
}
