//! A freeze stops everything at once, survives a restart, and ends in two stages.

use std::fs;

use countersign_store::{Backend, Role, Store as _};
use serde_json::{Value, json};

use crate::test_daemon::{ApiSide, TestDaemon, TestReply};

const SAFE: &str = "ls -la";

fn risky() -> Value {
    json!({ "command": "git push --force origin main" })
}

struct Frozen {
    daemon: TestDaemon,
    owner: String,
    agent: String,
}

impl Frozen {
    async fn new(sections: &str) -> Frozen {
        let daemon = TestDaemon::with("", sections).await;
        let owner = daemon.owner().await;
        let agent = daemon.agent("coder", 3_600_000).await;
        Frozen { daemon, owner, agent }
    }

    async fn ask(&self, body: Value) -> TestReply {
        self.daemon.by(&self.agent, ApiSide::Agents, "POST /v1/requests", Some(body)).await
    }

    async fn freeze(&self) -> TestReply {
        let body = Some(json!({}));
        self.daemon.by(&self.owner, ApiSide::People, "POST /v1/freeze", body).await
    }

    async fn thaw(&self, resume: &str) -> u16 {
        let body = Some(json!({ "resume": resume }));
        self.daemon.change(&self.owner, "POST /v1/thaw", body).await.status.as_u16()
    }

    async fn approve(&self, asked: &Value) -> TestReply {
        let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
        let body = json!({
            "choice": "approve", "digest": asked["digest"], "word": asked["phrase"],
            "reason": "it is fine",
        });
        self.daemon.by(&self.owner, ApiSide::People, &line, Some(body)).await
    }

    /// A permit for the risky call.
    async fn permit(&self) -> String {
        let asked = self.ask(risky()).await.body;
        assert_eq!(self.approve(&asked).await.status, 200);
        let line = format!("GET /v1/requests/{}", asked["id"].as_str().unwrap());
        let read = self.daemon.by(&self.agent, ApiSide::Agents, &line, None).await.body;
        read["permit"].as_str().unwrap().to_owned()
    }

    async fn redeem(&self, permit: &str) -> TestReply {
        let mut body = risky();
        body["permit"] = json!(permit);
        let line = "POST /v1/permits/redeem";
        self.daemon.by(&self.agent, ApiSide::Agents, line, Some(body)).await
    }

    /// Whether a call of each kind is refused with the reason.
    async fn assert_refused(&self) {
        let confirm = json!({ "action": "ls", "description": "look", "payload": {} });
        let agents = ApiSide::Agents;
        let batch = json!({ "calls": [{ "command": SAFE }] });
        for (line, body) in [
            ("POST /v1/requests", json!({ "command": SAFE })),
            ("POST /v1/requests", json!({ "command": SAFE, "permit": true })),
            ("POST /v1/requests", risky()),
            ("POST /confirm", confirm),
        ] {
            let reply = self.daemon.by(&self.agent, agents, line, Some(body)).await;
            assert_eq!(reply.status, 403, "{line}: {}", reply.body);
            assert_eq!(reply.body["type"], "urn:countersign:problem:frozen");
            assert_eq!(reply.body["outcome"], "denied");
            assert!(reply.body["detail"].as_str().unwrap().contains("frozen by owner"));
        }
        let reply = self.daemon.by(&self.agent, agents, "POST /v1/batches", Some(batch)).await;
        let problem = &reply.body["requests"][0]["problem"]["type"];
        assert_eq!(problem, "urn:countersign:problem:frozen", "{}", reply.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_denies_what_is_pending_and_refuses_every_new_call() {
    let frozen = Frozen::new("").await;
    let permit = frozen.permit().await;
    let asked = frozen.ask(json!({ "command": "rm -rf /srv/data" })).await.body;
    assert_eq!(asked["state"], "pending");
    let reply = frozen.freeze().await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!((&reply.body["stage"], &reply.body["by"]), (&json!("frozen"), &json!("owner")));
    let line = format!("GET /v1/requests/{}", asked["id"].as_str().unwrap());
    let read = frozen.daemon.by(&frozen.agent, ApiSide::Agents, &line, None).await.body;
    assert_eq!(read["state"], "denied");
    assert_eq!(read["decision"]["reason"], "frozen by owner");
    frozen.assert_refused().await;
    assert_eq!(frozen.redeem(&permit).await.body["type"], "urn:countersign:problem:frozen");
    assert_eq!(frozen.daemon.count("frozen").await, 1);
    // An approval of a request that slipped in would be refused as well.
    assert!(frozen.daemon.gate.freeze_state().check().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_from_before_a_freeze_is_not_told_while_frozen() {
    let frozen = Frozen::new("").await;
    let asked = frozen.ask(risky()).await.body;
    assert_eq!(frozen.approve(&asked).await.status, 200);
    let read = format!("GET /v1/requests/{}", asked["id"].as_str().unwrap());
    for line in [read.clone(), format!("{read}/wait")] {
        let before = frozen.daemon.by(&frozen.agent, ApiSide::Agents, &line, None).await;
        assert_eq!(before.body["state"], "approved", "{line}: {}", before.body);
    }
    frozen.freeze().await;
    for line in [read.clone(), format!("{read}/wait")] {
        let reply = frozen.daemon.by(&frozen.agent, ApiSide::Agents, &line, None).await;
        assert_eq!(reply.status, 403, "{line}: {}", reply.body);
        assert_eq!(reply.body["type"], "urn:countersign:problem:frozen");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_ends_in_two_stages_and_only_with_a_proof() {
    let frozen = Frozen::new("").await;
    let permit = frozen.permit().await;
    let grant = json!({ "shape": "action", "tool": "send_message", "minutes": 60 });
    let made = frozen.daemon.change(&frozen.owner, "POST /v1/grants", Some(grant)).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let message = || json!({ "tool": "send_message", "arguments": { "to": "bo", "text": "hi" } });
    assert_eq!(frozen.ask(message()).await.body["state"], "approved");
    frozen.freeze().await;
    let body = Some(json!({ "resume": "people" }));
    let bare = frozen.daemon.by(&frozen.owner, ApiSide::People, "POST /v1/thaw", body).await;
    assert_eq!(bare.body["type"], "urn:countersign:problem:step-up-required");
    frozen.assert_refused().await;
    assert_eq!(frozen.thaw("grants").await, 409, "people come first");
    assert_eq!(frozen.thaw("people").await, 200);
    assert_eq!(frozen.ask(json!({ "command": SAFE })).await.status, 200);
    let asked = frozen.ask(message()).await.body;
    assert_eq!(asked["state"], "pending", "the grant is suspended: {asked}");
    assert_eq!(frozen.redeem(&permit).await.body["why"], "late", "it is from before the freeze");
    assert_eq!(frozen.thaw("people").await, 409);
    let fresh = frozen.permit().await;
    assert_eq!(frozen.redeem(&fresh).await.status, 200);
    assert_eq!(frozen.thaw("grants").await, 200);
    let again = json!({ "tool": "send_message", "arguments": { "to": "eve", "text": "hi" } });
    assert_eq!(frozen.ask(again).await.body["state"], "approved");
    assert_eq!(frozen.redeem(&permit).await.status, 200, "suspended, not revoked");
    assert_eq!(frozen.daemon.count("thawed").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_from_before_a_freeze_is_not_told_until_the_grants_are_resumed() {
    let frozen = Frozen::new("").await;
    let bearer = format!("Bearer {}", frozen.agent);
    let headers = [("authorization", &*bearer), ("idempotency-key", "one")];
    let line = "POST /v1/requests?wait=0";
    let ask = || frozen.daemon.ask(ApiSide::Agents, line, &headers, Some(risky()));
    let asked = ask().await.body;
    assert_eq!(frozen.approve(&asked).await.status, 200);
    assert_eq!(ask().await.body["state"], "approved");
    frozen.freeze().await;
    assert_eq!(frozen.thaw("people").await, 200);
    let read = format!("GET /v1/requests/{}", asked["id"].as_str().unwrap());
    let agents = ApiSide::Agents;
    for reply in [
        ask().await,
        frozen.daemon.by(&frozen.agent, agents, &read, None).await,
        frozen.daemon.by(&frozen.agent, agents, &format!("{read}/wait"), None).await,
    ] {
        assert_eq!(reply.status, 403, "{}", reply.body);
        assert_eq!(reply.body["type"], "urn:countersign:problem:frozen");
        assert!(reply.body["detail"].as_str().unwrap().contains("before owner froze"));
    }
    // The same call can be asked about again, and that approval counts.
    let again = frozen.ask(risky()).await.body;
    assert_eq!(again["state"], "pending", "{again}");
    assert_eq!(frozen.approve(&again).await.status, 200);
    let line = format!("GET /v1/requests/{}", again["id"].as_str().unwrap());
    let read = frozen.daemon.by(&frozen.agent, agents, &line, None).await.body;
    assert!(read["permit"].is_string(), "{read}");
    assert_eq!(frozen.thaw("grants").await, 200);
    assert_eq!(ask().await.body["state"], "approved");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_survives_a_restart_and_a_deleted_mark() {
    let frozen = Frozen::new("").await;
    frozen.freeze().await;
    let Frozen { daemon, owner, agent } = frozen;
    let daemon = daemon.restart("", |_| {}).await;
    let frozen = Frozen { daemon, owner, agent };
    frozen.assert_refused().await;
    let Frozen { daemon, owner, agent } = frozen;
    let delete = |state: &std::path::Path| fs::remove_file(state.join("ledger.mark")).unwrap();
    let daemon = daemon.restart("", delete).await;
    let frozen = Frozen { daemon, owner, agent };
    frozen.assert_refused().await;
    let Frozen { daemon, owner, agent } = frozen;
    let spoil = |state: &std::path::Path| fs::write(state.join("ledger.mark"), "?").unwrap();
    let daemon = daemon.restart("", spoil).await;
    let frozen = Frozen { daemon, owner, agent };
    frozen.assert_refused().await;
    let line = "POST /v1/ledger/acknowledge";
    let body = Some(json!({ "reason": "a test" }));
    let reply = frozen.daemon.change(&frozen.owner, line, body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    frozen.assert_refused().await;
    assert_eq!(frozen.thaw("people").await, 200);
    let Frozen { daemon, owner, agent } = frozen;
    let daemon = daemon.restart("", |_| {}).await;
    let frozen = Frozen { daemon, owner, agent };
    assert_eq!(frozen.ask(json!({ "command": SAFE })).await.status, 200);
    assert!(frozen.daemon.gate.freeze_state().suspends_grants());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_puts_no_agent_in_quarantine_and_needs_no_quorum() {
    let frozen = Frozen::new("\n\n[quorum]\ndeny = 3\n").await;
    frozen.daemon.person("bob", Role::Approver).await;
    for n in 0..6 {
        let asked = frozen.ask(json!({ "command": format!("rm -rf /srv/data{n}") })).await;
        assert_eq!(asked.body["state"], "pending");
    }
    frozen.freeze().await;
    assert!(frozen.daemon.gate.store().pending().await.unwrap().is_empty());
    assert_eq!(frozen.thaw("people").await, 200);
    assert_eq!(frozen.ask(risky()).await.status, 201);
    assert_eq!(frozen.daemon.count("quarantine").await, 0);
}

/// Many denials share a commit, each call is denied once, and the ledger has them in their order.
#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_denies_many_calls_in_few_commits() {
    const CALLS: usize = 300;
    let frozen = Frozen::new(crate::test_gate::FLOOD).await;
    for n in 0..CALLS {
        let asked = frozen.ask(json!({ "command": format!("rm -rf /srv/data{n}") })).await;
        assert_eq!(asked.body["state"], "pending", "{}", asked.body);
    }
    let store = frozen.daemon.gate.store();
    let Backend::Sqlite(sqlite) = store;
    let pending = store.pending().await.unwrap();
    let pending: Vec<_> = pending.iter().map(|one| one.request.id.to_string()).collect();
    assert_eq!(pending.len(), CALLS);
    let before = sqlite.commits();
    let reply = frozen.freeze().await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let commits = sqlite.commits() - before;
    assert!(commits < 100, "{CALLS} denials took {commits} commits");
    assert!(store.pending().await.unwrap().is_empty());
    let ledger = frozen.daemon.ledger().await;
    let denied = ledger.iter().filter(|entry| entry["kind"] == "deny");
    let denied: Vec<_> = denied.map(|entry| entry["request"].as_str().unwrap()).collect();
    assert_eq!(denied, pending, "once each, oldest first");
}
