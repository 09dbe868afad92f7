//! Batches: accepted whole or not at all, answered in order, waited for as one.

use super::*;

fn delete(path: &str) -> Value {
    json!({ "command": format!("rm -rf /srv/{path}") })
}

#[tokio::test]
async fn verdicts_come_in_order_and_the_group_is_answered_together() {
    let api = TestApi::new().await;
    let calls = json!([{ "command": "ls" }, delete("a"), { "command": "pwd" }, delete("b")]);
    let body = json!({ "calls": calls, "session": "s", "timeout_seconds": 60 });
    let (status, batch) = api.agent("POST", "/v1/batches", body).await;
    assert_eq!(status, StatusCode::CREATED, "{batch}");
    let states: Vec<_> = (0..4).map(|at| batch["requests"][at]["state"].clone()).collect();
    assert_eq!(states, ["approved", "pending", "approved", "pending"]);
    assert_eq!(batch["parallel"], false);
    assert_eq!(batch["stages"], json!([[0], [1], [2], [3]]));
    let group = batch["group"].as_str().unwrap();
    let wait = format!("/v1/batches/{group}/wait?seconds=0");
    let (_, waited) = api.agent("GET", &wait, Value::Null).await;
    assert_eq!(waited["requests"][1], batch["requests"][1]);
    assert_eq!(waited["requests"][0], Value::Null, "what passed is answered already");
    assert_eq!((&waited["stages"], &waited["reasons"]), (&batch["stages"], &batch["reasons"]));
    let response = api.agents("GET", &wait, Some(OTHER_TOKEN), &[], Value::Null).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND, "another agent's batch");
    let list = format!("/v1/requests?group={group}&state=pending");
    let (_, list) = api.person("GET", &list, Value::Null).await;
    let requests = list["requests"].as_array().unwrap().iter();
    let requests: Vec<_> = requests
        .map(|one| json!({ "id": one["id"], "digest": one["digest"], "word": one["phrase"] }))
        .collect();
    assert_eq!(requests.len(), 2);
    let long = format!("/v1/batches/{group}/wait?seconds=20");
    let answer = json!({ "choice": "approve", "reason": "fine", "requests": requests });
    let ((_, waited), _) = tokio::join!(
        api.agent("GET", &long, Value::Null),
        api.person("POST", "/v1/decisions", answer),
    );
    for at in [1, 3] {
        assert_eq!(waited["requests"][at]["state"], "approved", "{waited}");
    }
}

#[tokio::test]
async fn one_invalid_call_rejects_the_whole_batch() {
    let api = TestApi::new().await;
    let calls = |bad: Value| json!({ "calls": [delete("a"), bad] });
    for bad in [
        json!({}),
        json!(7),
        json!({ "command": 7 }),
        json!({ "tool": "" }),
        json!({ "command": "ls", "unknown": 1 }),
        json!({ "command": "ls", "permit": "no" }),
        json!({ "command": "ls", "session": "s".repeat(201) }),
    ] {
        let (status, problem) = api.agent("POST", "/v1/batches", calls(bad.clone())).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{bad}");
        assert!(problem["detail"].as_str().unwrap().starts_with("calls[1]: "), "{problem}");
    }
    let many = json!({ "calls": vec![json!({ "command": "ls" }); 101] });
    for body in [json!({ "calls": [] }), json!({}), json!({ "calls": {} }), many] {
        assert_eq!(api.agent("POST", "/v1/batches", body).await.0, StatusCode::BAD_REQUEST);
    }
    let twice = json!(r#"{"calls":[{"command":"ls","command":"pwd"}]}"#);
    assert_eq!(api.agent("POST", "/v1/batches", twice).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(api.api.gate.open_requests(), 0);
    assert!(api.api.gate.store().pending().await.unwrap().is_empty());
}

#[tokio::test]
async fn batches_are_rate_limited_and_equal_calls_need_separate_approvals() {
    let api = TestApi::with("[flood]\nopen_per_agent = 3\n").await;
    let body = json!({ "calls": vec![delete("a"); 5] });
    let (_, batch) = api.agent("POST", "/v1/batches", body).await;
    let requests = batch["requests"].as_array().unwrap();
    let ids: std::collections::HashSet<_> =
        requests.iter().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(ids.len(), 3, "one yes is for one call: {batch}");
    for held in &requests[3..] {
        assert_eq!(held["problem"]["status"], 429);
        assert_eq!(held["problem"]["outcome"], "denied");
    }
}

#[tokio::test]
async fn the_same_idempotency_key_returns_the_same_batch() {
    let api = TestApi::new().await;
    let body = json!({ "calls": [delete("a"), { "command": "ls" }] });
    let key = [("idempotency-key", "k-1")];
    let mut answers = Vec::new();
    for _ in 0..2 {
        let sent = api.agents("POST", "/v1/batches", Some(CODER_TOKEN), &key, body.clone());
        answers.push(read(sent.await).await.1);
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(api.api.gate.open_requests(), 1);
    let other = json!({ "calls": [delete("b"), { "command": "ls" }] });
    let sent = api.agents("POST", "/v1/batches", Some(CODER_TOKEN), &key, other).await;
    let (_, other) = read(sent).await;
    assert_eq!(other["requests"][0]["problem"]["status"], 409, "{other}");
}

#[tokio::test]
async fn raw_arguments_bind_as_received() {
    let api = TestApi::new().await;
    let call = r#"{"tool":"send_payment","arguments": {"amount":  9007199254740993 } }"#;
    let (_, single) = api.agent("POST", "/v1/assess", json!(call)).await;
    let (_, batch) =
        api.agent("POST", "/v1/batches", json!(format!(r#"{{"calls":[ {call} ]}}"#))).await;
    assert_eq!(single["both_bind"], true);
    assert_eq!(batch["requests"][0]["raw_digest"], single["raw_digest"], "{batch}");
}
