//! Agents that stop while they wait for an answer: what becomes of their question.

use countersign_store::{RequestQuery, Store as _, StoredRequest};
use countersign_types::id::Id;
use countersign_workflow::request::State;
use serde_json::{Value, json};

use crate::notifier::test_notifier::until;
use crate::test_daemon::{ApiSide, TestDaemon, TestReply};

const MINUTE: u64 = 60_000;

fn question() -> Value {
    json!({ "action": "shell", "description": "clean", "payload": { "command": "rm -rf x" } })
}

/// The pending request of an agent.
async fn pending(daemon: &TestDaemon, agent: &str) -> Option<StoredRequest> {
    let query = RequestQuery {
        state: Some(State::Pending),
        agent: Some(agent.to_owned()),
        limit: 10,
        ..RequestQuery::default()
    };
    daemon.gate.store().find(query).await.unwrap().requests.pop()
}

async fn state(daemon: &TestDaemon, id: Id) -> State {
    daemon.gate.store().request(id).await.unwrap().unwrap().request.state
}

/// The agent waits, and its connection ends before there is an answer.
async fn cut(daemon: &TestDaemon, waiting: impl Future<Output = TestReply>, agent: &str) -> Id {
    let has_waiter = async || match pending(daemon, agent).await {
        Some(stored) => daemon.gate.waiters.is_waiting(stored.request.id),
        None => false,
    };
    tokio::select! {
        reply = waiting => panic!("it did not wait: {:?}", reply.body),
        () = until("an agent that waits", has_waiter) => {}
    }
    pending(daemon, agent).await.unwrap().request.id
}

#[tokio::test]
async fn the_question_of_an_agent_that_stops_is_withdrawn_after_a_minute() {
    let daemon = TestDaemon::default().await;
    let agent = daemon.agent("claude", 900_000_000).await;
    let call = json!({ "command": "rm -rf /tmp/build", "timeout_seconds": 3_600 });
    let line = "POST /v1/requests?wait=600";
    let waits = || daemon.by(&agent, ApiSide::Agents, line, Some(call.clone()));
    let id = cut(&daemon, waits(), "claude").await;
    daemon.forward(MINUTE / 2);
    daemon.gate.withdraw_abandoned().await.unwrap();
    assert_eq!(state(&daemon, id).await, State::Pending, "a retry may join it");
    // It comes back, waits again and stops again: the minute begins again.
    assert_eq!(cut(&daemon, waits(), "claude").await, id);
    daemon.forward(MINUTE / 3 * 2);
    daemon.gate.withdraw_abandoned().await.unwrap();
    assert_eq!(state(&daemon, id).await, State::Pending, "it was there meanwhile");
    daemon.forward(MINUTE / 2);
    daemon.gate.withdraw_abandoned().await.unwrap();
    assert_eq!(state(&daemon, id).await, State::Cancelled);
    let owner = daemon.owner().await;
    let line = format!("GET /v1/requests/{id}");
    let shown = daemon.by(&owner, ApiSide::People, &line, None).await.body;
    assert_eq!(shown["state"], "cancelled", "{shown}");
    let entries = daemon.ledger().await;
    let why = entries.iter().find(|entry| entry["facts"]["why"] == "the agent stopped");
    assert_eq!(why.unwrap()["request"], json!(id));
    // Withdrawn is not approved: the same call is a new question.
    let again = daemon.by(&agent, ApiSide::Agents, "POST /v1/requests", Some(call.clone())).await;
    assert_eq!((again.status.as_u16(), &again.body["state"]), (201, &json!("pending")));
}

#[tokio::test]
async fn the_question_of_an_agent_that_ended_its_wait_in_order_stays() {
    let daemon = TestDaemon::default().await;
    let agent = daemon.agent("claude", 900_000_000).await;
    let call = json!({ "command": "rm -rf /tmp/build", "timeout_seconds": 3_600 });
    let line = "POST /v1/requests?wait=1";
    let reply = daemon.by(&agent, ApiSide::Agents, line, Some(call)).await;
    assert_eq!(reply.body["state"], "pending", "{:?}", reply.body);
    daemon.forward(30 * MINUTE);
    daemon.gate.withdraw_abandoned().await.unwrap();
    assert!(pending(&daemon, "claude").await.is_some());
}

#[tokio::test]
async fn the_question_of_a_client_of_the_original_api_stays_until_its_deadline() {
    let daemon = TestDaemon::default().await;
    let waits = daemon.ask(ApiSide::Agents, "POST /confirm", &[], Some(question()));
    let id = cut(&daemon, waits, "anonymous").await;
    daemon.forward(4 * MINUTE);
    daemon.gate.withdraw_abandoned().await.unwrap();
    assert_eq!(state(&daemon, id).await, State::Pending);
    assert!(daemon.gate.stopped_waiting_at(id).is_some(), "people see that it does not wait");
    daemon.forward(2 * MINUTE);
    daemon.gate.pass_time(id).await.unwrap();
    assert_eq!(state(&daemon, id).await, State::Expired);
}
