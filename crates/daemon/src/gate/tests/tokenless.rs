//! Callers of the original API without a token: they wait on a part of the agents' connections.

use countersign_risk::word_pair::word_pair;
use countersign_store::{RequestQuery, Store as _};
use countersign_workflow::request::{Request, State};
use serde_json::{Value, json};

use crate::notifier::test_notifier::until;
use crate::test_daemon::{ApiSide, TestDaemon};

fn question() -> Value {
    json!({ "action": "shell", "description": "clean", "payload": { "command": "rm -rf x" } })
}

/// The pending request of an agent.
async fn pending(daemon: &TestDaemon, agent: &str) -> Option<Request> {
    let (state, agent) = (Some(State::Pending), Some(agent.to_owned()));
    let query = RequestQuery { state, agent, limit: 10, ..RequestQuery::default() };
    daemon.gate.store().find(query).await.unwrap().requests.pop().map(|stored| stored.request)
}

#[tokio::test]
async fn callers_without_a_token_wait_on_their_part_of_the_connections_only() {
    let daemon = TestDaemon::default().await;
    let (agent, owner) = (daemon.agent("claude", 900_000_000).await, daemon.owner().await);
    daemon.api.now.tokenless_waits.divide(8);
    let confirm = || daemon.ask(ApiSide::Agents, "POST /confirm", &[], Some(question()));
    let is_full = async || daemon.api.now.tokenless_waits.waiting() == 2;
    let others = async {
        until("two that wait", is_full).await;
        let third = confirm().await;
        assert_eq!(third.status, 429, "{:?}", third.body);
        assert_eq!(third.body["type"], "urn:countersign:problem:too-many-waiting");
        // An agent with a token has its own connections.
        let waits = daemon.by(&agent, ApiSide::Agents, "POST /confirm", Some(question()));
        let approves = async {
            until("its question", async || pending(&daemon, "claude").await.is_some()).await;
            let asked = pending(&daemon, "claude").await.unwrap();
            let line = format!("POST /v1/requests/{}/decision", asked.id);
            let digest = asked.digest.canonical;
            let word = word_pair(&digest).to_string();
            let body = json!({ "choice": "approve", "digest": digest, "word": word, "reason": "" });
            daemon.by(&owner, ApiSide::People, &line, Some(body)).await
        };
        let (waited, decided) = tokio::join!(waits, approves);
        assert_eq!(waited.body["status"], "approved", "{:?}", decided.body);
    };
    tokio::select! {
        _ = confirm() => panic!("it did not wait"),
        _ = confirm() => panic!("it did not wait"),
        () = others => {}
    }
    assert_eq!(daemon.api.now.tokenless_waits.waiting(), 0);
}
