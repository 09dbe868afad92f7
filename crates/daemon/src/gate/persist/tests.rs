//! Deadlines by tier and agent, and an answer that waits for its agent to come back.

use serde_json::{Value, json};

use crate::test_daemon::{ApiSide, TestDaemon};

const DAY: i64 = 86_400;

fn seconds_of(document: &Value) -> i64 {
    (time(&document["deadline"]) - time(&document["created"])) / 1000
}

/// Milliseconds of a time in a document.
fn time(value: &Value) -> i64 {
    countersign_types::time::Timestamp::parse(value.as_str().unwrap()).unwrap().0
}

async fn ask(daemon: &TestDaemon, token: &str, body: Value) -> Value {
    daemon.by(token, ApiSide::Agents, "POST /v1/requests", Some(body)).await.body
}

#[tokio::test(flavor = "multi_thread")]
async fn deadlines_follow_tier_and_agent_up_to_seven_days() {
    let sections = "[times]\nlongest_seconds = 604800\n[times.deadlines]\nhigh_seconds = 7200\n\
                    [times.deadlines.agents]\ncron = 60\n";
    let daemon = TestDaemon::with("", sections).await;
    let coder = daemon.agent("coder", 3_600_000).await;
    let cron = daemon.agent("cron", 3_600_000).await;
    let message = |n: u32, seconds: Option<i64>| {
        let mut body = json!({"tool": "send_message", "arguments": {"to": "bo", "text": n}});
        if let Some(seconds) = seconds {
            body["timeout_seconds"] = json!(seconds);
        }
        body
    };
    let push = json!({"command": "git push --force origin main", "timeout_seconds": 9 * DAY});
    for (token, body, expected) in [
        (&coder, message(1, Some(9 * DAY)), 7 * DAY),
        (&coder, message(2, None), 300),
        (&coder, push.clone(), 7_200),
        (&cron, message(3, Some(DAY)), 60),
        (&cron, push, 60),
    ] {
        assert_eq!(seconds_of(&ask(&daemon, token, body.clone()).await), expected, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_is_a_day_and_the_original_api_keeps_ten_minutes() {
    let daemon = TestDaemon::default().await;
    let coder = daemon.agent("coder", 3_600_000).await;
    let body = json!({"tool": "send_message", "arguments": {"to": "bo"}, "timeout_seconds": DAY});
    assert_eq!(seconds_of(&ask(&daemon, &coder, body).await), DAY);
    for (n, (timeout, expected)) in [(Some(DAY), 600), (None, 300)].into_iter().enumerate() {
        let mut body = json!({
            "action": "send_message", "description": "a message", "payload": {"to": "bo", "n": n},
        });
        if let Some(timeout) = timeout {
            body["timeout"] = json!(timeout);
        }
        let asking = daemon.by(&coder, ApiSide::Agents, "POST /confirm", Some(body));
        let listing = async {
            let owner = daemon.owner().await;
            loop {
                let line = "GET /v1/requests?state=pending";
                let list = daemon.by(&owner, ApiSide::People, line, None).await.body;
                let newest = list["requests"][0].clone();
                if list["requests"].as_array().is_some_and(|list| list.len() == n + 2) {
                    return newest;
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            reply = asking => panic!("{}", reply.body),
            newest = listing => assert_eq!(seconds_of(&newest), expected),
        }
    }
}

/// A call that its agent asks again later.
fn returning() -> (Value, Value) {
    let call = json!({"tool": "send_message", "arguments": {"to": "bo", "text": "hi"}});
    let mut asking = call.clone();
    (asking["join"], asking["timeout_seconds"]) = (json!(true), json!(DAY));
    (call, asking)
}

async fn approve(daemon: &TestDaemon, asked: &Value) {
    let owner = daemon.owner().await;
    let line = format!("POST /v1/requests/{}/decision", asked["id"].as_str().unwrap());
    let answer = json!({"choice": "approve", "digest": asked["digest"], "word": asked["phrase"]});
    let decided = daemon.by(&owner, ApiSide::People, &line, Some(answer)).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
}

async fn redeem(daemon: &TestDaemon, agent: &str, mut call: Value, approved: &Value) {
    call["permit"] = approved["permit"].clone();
    let used = daemon.by(agent, ApiSide::Agents, "POST /v1/permits/redeem", Some(call)).await;
    assert_eq!(used.status, 200, "{}", used.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_there_when_the_same_call_comes_back_and_runs_once() {
    let daemon = TestDaemon::default().await;
    let coder = daemon.agent("coder", 3_600_000).await;
    let (call, asking) = returning();
    let first = ask(&daemon, &coder, asking.clone()).await;
    let second = ask(&daemon, &coder, asking.clone()).await;
    assert_eq!((&first["id"], &second["state"]), (&second["id"], &json!("pending")));
    approve(&daemon, &first).await;
    let back = ask(&daemon, &coder, asking.clone()).await;
    assert_eq!((&back["id"], &back["state"]), (&first["id"], &json!("approved")));
    redeem(&daemon, &coder, call, &back).await;
    let again = ask(&daemon, &coder, asking).await;
    assert_eq!(again["state"], "pending", "one approval, one run: {again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_there_after_a_restart_for_its_agent_and_runs_once() {
    let daemon = TestDaemon::default().await;
    let coder = daemon.agent("coder", 3_600_000).await;
    let (call, asking) = returning();
    let first = ask(&daemon, &coder, asking.clone()).await;
    approve(&daemon, &first).await;
    let daemon = daemon.restart("", |_| ()).await;
    let other = ask(&daemon, &daemon.agent("other", 3_600_000).await, asking.clone()).await;
    assert_eq!(other["state"], "pending", "it is the answer to another agent: {other}");
    let back = ask(&daemon, &coder, asking.clone()).await;
    assert_eq!((&back["id"], &back["state"]), (&first["id"], &json!("approved")), "{back}");
    redeem(&daemon, &coder, call, &back).await;
    let daemon = daemon.restart("", |_| ()).await;
    let again = ask(&daemon, &coder, asking).await;
    assert_eq!(again["state"], "pending", "one approval, one run: {again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_the_evening_is_there_in_the_morning_and_not_in_the_next_evening() {
    let daemon = TestDaemon::default().await;
    let coder = daemon.agent("coder", 10 * DAY * 1_000).await;
    let (_, asking) = returning();
    let first = ask(&daemon, &coder, asking.clone()).await;
    approve(&daemon, &first).await;
    daemon.forward(15 * 3_600_000);
    let morning = ask(&daemon, &coder, asking.clone()).await;
    assert_eq!((&morning["id"], &morning["state"]), (&first["id"], &json!("approved")));
    daemon.forward(9 * 3_600_000);
    assert_eq!(ask(&daemon, &coder, asking).await["state"], "pending");
}
