//! Every route with every credential that it must reject.

use countersign_store::{Role, Store as _};
use serde_json::{Value, json};

use crate::test_daemon::{ApiSide, TestDaemon};

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

/// Tokens that are expired, revoked or made up.
async fn strangers(daemon: &TestDaemon) -> Vec<String> {
    let expired = daemon.login("owner", "terminal", -1).await;
    let owner = daemon.owner().await;
    let ended = daemon.owner().await;
    assert_eq!(daemon.by(&ended, ApiSide::People, "DELETE /v1/login", None).await.status, 200);
    daemon.person("bob", Role::Administrator).await;
    let gone = daemon.login("bob", "terminal", 1_000_000).await;
    assert_eq!(daemon.by(&gone, ApiSide::People, "GET /v1/people", None).await.status, 200);
    let revoked = daemon.change(&owner, "DELETE /v1/people/bob", None).await;
    assert_eq!(revoked.status, 200);
    let digest = countersign_json::canonical::Digest::of(owner.as_bytes()).to_string();
    let made_up = [String::new(), "csp_".to_owned(), owner.to_uppercase(), format!("csp_{digest}")];
    [expired, ended, gone].into_iter().chain(made_up).collect()
}

/// A caller of the socket names the program that it runs for. Nobody may read a person or the
/// product there.
#[tokio::test]
async fn a_hook_cannot_call_itself_by_the_name_of_a_person_or_of_the_product() {
    let daemon = TestDaemon::default().await;
    daemon.person("ana", countersign_store::Role::Approver).await;
    let caller = daemon.api.directory.socket_peer(1000, daemon.now());
    let shown = |label: &'static str| caller.accepted_host(Some(label));
    for label in [
        "owner",
        "Owner",
        "o.w-n_e.r",
        "root",
        "system",
        "countersign",
        "policy",
        "anonymous",
        "ana",
        "ANA",
        "a-n-a",
        "approved-by-ana",
        "owner-cli",
        "ana.owner",
        "admin_tool",
    ] {
        assert_eq!(shown(label), Some("unknown"), "{label}");
    }
    for label in ["claude-code", "my-agent", "banana", "anatole", "rooter", "unknown"] {
        assert_eq!(shown(label), Some(label), "{label}");
    }
}

#[tokio::test]
async fn the_people_api_rejects_every_other_credential() {
    let daemon = TestDaemon::default().await;
    let agent = daemon.agent("claude", 1_000_000).await;
    let strangers = strangers(&daemon).await;
    let before = daemon.ledger().await.len();
    for line in PEOPLE {
        let body = line.starts_with("POST").then(|| json!({}));
        let nobody = daemon.ask(ApiSide::People, line, &[], body.clone()).await;
        assert_eq!(nobody.status, 401, "{line}");
        for token in &strangers {
            let reply = daemon.by(token, ApiSide::People, line, body.clone()).await;
            assert_eq!(reply.status, 401, "{line} {token}");
        }
        let reply = daemon.by(&agent, ApiSide::People, line, body.clone()).await;
        assert_eq!(reply.status, 403, "{line}");
        if line != "POST /respond" {
            // An agent's token cannot decide on the agent API either: the route does not exist.
            let reply = daemon.by(&agent, ApiSide::Agents, line, body).await;
            assert!([400, 404, 405].contains(&reply.status.as_u16()) || line.starts_with("GET"));
        }
    }
    assert_eq!(daemon.ledger().await.len(), before);
}

#[tokio::test]
async fn approvers_cannot_change_people_or_agents() {
    let daemon = TestDaemon::default().await;
    daemon.person("ana", Role::Approver).await;
    let ana = daemon.login("ana", "terminal", 1_000_000).await;
    for line in &PEOPLE[10..18] {
        let body = line.starts_with("POST").then(|| json!({}));
        let reply = daemon.change(&ana, line, body).await;
        assert_eq!(reply.status, 403, "{line}");
        assert_eq!(reply.body["type"], "urn:countersign:problem:forbidden", "{line}");
    }
    let give = daemon.change(&ana, "POST /v1/grants", Some(json!({}))).await;
    assert_eq!(give.status, 403);
}

#[tokio::test]
async fn only_known_agents_can_ask_and_each_sees_its_own() {
    let daemon = TestDaemon::default().await;
    let agent = daemon.agent("claude", 1_000_000).await;
    let other = daemon.agent("codex", 1_000_000).await;
    let expired = daemon.agent("late", -1).await;
    let gone = daemon.agent("gone", 1_000_000).await;
    let owner = daemon.owner().await;
    let reply = daemon.change(&owner, "DELETE /v1/agents/gone", None).await;
    assert_eq!(reply.status, 200);
    for line in AGENTS {
        let body = line.starts_with("POST").then(|| json!({}));
        assert_eq!(
            daemon.ask(ApiSide::Agents, line, &[], body.clone()).await.status,
            401,
            "{line}"
        );
        for token in [&expired, &gone, &owner, &"csa_".to_owned(), &String::new()] {
            let reply = daemon.by(token, ApiSide::Agents, line, body.clone()).await;
            assert_eq!(reply.status, 401, "{line} {token}");
        }
    }
    let call = json!({"command": "rm -rf /tmp/build", "session": "s"});
    let asked = daemon.by(&agent, ApiSide::Agents, "POST /v1/requests", Some(call)).await;
    assert_eq!(asked.status, 201, "{:?}", asked.body);
    let id = asked.body["id"].as_str().unwrap().to_owned();
    for line in &AGENTS[3..] {
        let line = line.replace("00000000000000000000000000", &id);
        let body = match line.rsplit('/').next() {
            Some("outcome") => Some(json!({"status": "ok"})),
            Some("cancel") => Some(json!({})),
            _ => None,
        };
        let reply = daemon.by(&other, ApiSide::Agents, &line, body).await;
        assert_eq!(reply.status, 404, "{line}");
    }
    let list = daemon.by(&other, ApiSide::Agents, "GET /v1/requests", None).await;
    assert_eq!(list.body["requests"], json!([]));
    let line = "GET /v1/requests?agent=claude";
    assert_eq!(daemon.by(&other, ApiSide::Agents, line, None).await.status, 400);
    let stored = daemon.gate.store().pending().await.unwrap();
    assert_eq!(stored.len(), 1);
}

#[tokio::test]
async fn an_agent_cannot_approve_its_own_request() {
    let daemon = TestDaemon::default().await;
    let agent = daemon.agent("claude", 1_000_000).await;
    let call = json!({"command": "rm -rf /tmp/build"});
    let asked = daemon.by(&agent, ApiSide::Agents, "POST /v1/requests", Some(call)).await;
    let id = asked.body["id"].as_str().unwrap().to_owned();
    let digest = asked.body["digest"].clone();
    let respond = json!({"request_id": id, "approved": true, "decided_by": "owner"});
    let decide = json!({"choice": "approve", "digest": digest, "word": asked.body["phrase"]});
    for side in [ApiSide::Agents, ApiSide::People] {
        let reply = daemon.by(&agent, side, "POST /respond", Some(respond.clone())).await;
        assert_eq!(reply.status, 403, "{side:?}");
        let reply = daemon.ask(side, "POST /respond", &[], Some(respond.clone())).await;
        assert_eq!(reply.status, 401, "{side:?}");
        let line = format!("POST /v1/requests/{id}/decision");
        let reply = daemon.by(&agent, side, &line, Some(decide.clone())).await;
        assert!([403, 404].contains(&reply.status.as_u16()), "{side:?}");
    }
    let owner = daemon.owner().await;
    for approved in [json!("false"), json!("true"), json!(null), json!(1), json!(0), json!([])] {
        let body = json!({"request_id": id, "approved": approved});
        for side in [ApiSide::Agents, ApiSide::People] {
            let reply = daemon.by(&owner, side, "POST /respond", Some(body.clone())).await;
            assert_eq!(reply.status, 400, "{approved}");
        }
    }
    let line = format!("GET /v1/requests/{id}");
    let stands = daemon.by(&agent, ApiSide::Agents, &line, None).await;
    assert_eq!(stands.body["state"], "pending");
    let line = format!("POST /v1/requests/{id}/decision");
    let decided = daemon.by(&owner, ApiSide::People, &line, Some(decide)).await;
    assert_eq!(decided.body["state"], "approved", "{:?}", decided.body);
    assert_eq!(decided.body["decision"]["by"]["people"], json!(["owner"]));
    let again = daemon.by(&owner, ApiSide::People, &line, Some(json!({"choice": "deny"}))).await;
    assert_eq!((again.status.as_u16(), again.body["outcome"].clone()), (409, Value::from("none")));
}
