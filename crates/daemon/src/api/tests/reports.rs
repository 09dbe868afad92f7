//! Reports of gateways, and calls that are seen twice but asked about once.

use super::*;

fn delete(more: &Value) -> Value {
    let mut call = json!({ "command": "rm -rf /srv/data", "session": "s" });
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

async fn ask(api: &TestApi, more: Value) -> Value {
    let (status, document) = api.agent("POST", "/v1/requests", delete(&more)).await;
    assert!(status.is_success(), "{document}");
    document
}

async fn redeem(api: &TestApi, document: &Value) -> StatusCode {
    let mut body = delete(&json!({}));
    body["permit"] = document["permit"].clone();
    api.agent("POST", "/v1/permits/redeem", body).await.0
}

#[tokio::test]
async fn a_retry_joins_an_approved_request_and_uses_it_once() {
    let api = TestApi::new().await;
    let first = ask(&api, json!({ "join": true, "call_id": "one" })).await;
    let again = ask(&api, json!({ "join": true, "call_id": "two" })).await;
    assert_eq!(again["id"], first["id"], "the same open question");
    api.approve(&first).await;
    let joined = ask(&api, json!({ "join": true, "call_id": "three" })).await;
    assert_eq!((&joined["id"], &joined["state"]), (&first["id"], &json!("approved")));
    assert_eq!(redeem(&api, &joined).await, StatusCode::OK);
    assert_eq!(redeem(&api, &joined).await, StatusCode::CONFLICT);
    let next = ask(&api, json!({ "join": true, "call_id": "four" })).await;
    assert_ne!(next["id"], first["id"], "one yes is for one call");
    assert_eq!(next["state"], "pending");
}

#[tokio::test]
async fn without_the_join_option_no_approval_is_joined() {
    let api = TestApi::new().await;
    let first = ask(&api, json!({})).await;
    api.approve(&first).await;
    let next = ask(&api, json!({})).await;
    assert_eq!(next["state"], "pending");
    assert_ne!(next["id"], first["id"]);
    // Neither another session nor another agent joins.
    let other = ask(&api, json!({ "join": true, "session": "other" })).await;
    assert_eq!(other["state"], "pending");
    let body = delete(&json!({ "join": true, "call_id": "one" }));
    let response = api.agents("POST", "/v1/requests", Some(OTHER_TOKEN), &[], body).await;
    assert_eq!(read(response).await.1["state"], "pending");
}

#[tokio::test]
async fn hook_and_proxy_share_one_request_by_call_id() {
    let api = TestApi::new().await;
    let hook = ask(&api, json!({ "join": true, "call_id": "toolu_1" })).await;
    api.approve(&hook).await;
    let hook = ask(&api, json!({ "join": true, "call_id": "toolu_1" })).await;
    assert_eq!(redeem(&api, &hook).await, StatusCode::OK);
    let proxy = ask(&api, json!({ "join": true, "call_id": "toolu_1" })).await;
    assert_eq!((&proxy["id"], &proxy["state"]), (&hook["id"], &json!("approved")));
    assert!(proxy["redeemed"].is_string() && proxy["reported"].is_null(), "{proxy}");
    assert_eq!(proxy["permit"], Value::Null);
    // The same call id with another call: a person is asked.
    let changed = delete(&json!({ "join": true, "call_id": "toolu_1", "command": "rm -rf /srv" }));
    let (_, changed) = api.agent("POST", "/v1/requests", changed).await;
    assert_eq!(changed["state"], "pending", "{changed}");
}

#[tokio::test]
async fn outcomes_find_their_request_and_the_first_one_counts() {
    let api = TestApi::new().await;
    let asked = ask(&api, json!({ "join": true, "call_id": "toolu_1" })).await;
    api.approve(&asked).await;
    let digest = "ab".repeat(32);
    let said = delete(&json!({
        "call_id": "toolu_1", "status": "error", "exit_code": 2, "duration_ms": 17,
        "result_digest": digest,
    }));
    let (status, kept) = api.agent("POST", "/v1/outcomes", said).await;
    assert_eq!((status, &kept["request"]), (StatusCode::OK, &asked["id"]), "{kept}");
    let path = format!("/v1/requests/{}", asked["id"].as_str().unwrap());
    let (_, document) = api.person("GET", &path, Value::Null).await;
    let reported = &document["reported"];
    assert_eq!((&reported["status"], &reported["exit_code"]), (&json!("error"), &json!(2)));
    assert_eq!(reported["result_digest"], json!(digest));
    // Without a call id the call itself is enough; an unknown call has no request.
    let again = delete(&json!({ "status": "ok" }));
    let (_, kept) = api.agent("POST", "/v1/outcomes", again).await;
    assert_eq!(kept["request"], asked["id"]);
    assert_eq!(api.person("GET", &path, Value::Null).await.1["reported"]["status"], "error");
    let stranger = json!({ "command": "ls", "status": "ok" });
    let (_, kept) = api.agent("POST", "/v1/outcomes", stranger).await;
    assert_eq!(kept["request"], Value::Null);
    for bad in [
        json!({ "command": "ls" }),
        json!({ "command": "ls", "status": "fine" }),
        json!({ "command": "ls", "status": "ok", "exit_code": "0" }),
        json!({ "command": "ls", "status": "ok", "duration_ms": -1 }),
        json!({ "command": "ls", "status": "ok", "result_digest": "abc" }),
    ] {
        let (status, _) = api.agent("POST", "/v1/outcomes", bad.clone()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{bad}");
    }
}

#[tokio::test]
async fn reported_passes_are_assessed_again_and_wrong_ones_marked() {
    let api = TestApi::new().await;
    let passes = json!({ "gateway": "claude", "passes": [
        { "tool": "Read", "arguments": { "file_path": "/srv/a" }, "seconds_ago": 3.5 },
        { "command": "rm -rf /" },
    ]});
    let (status, kept) = api.agent("POST", "/v1/passes", passes).await;
    assert_eq!((status, kept), (StatusCode::OK, json!({ "kept": 2, "would_ask": 1 })));
    let entries = api.api.gate.store();
    // Passes are written with the next commit, which any durable write makes.
    ask(&api, json!({})).await;
    let slice = entries.entries(0, 100).await.unwrap();
    let lines: Vec<_> = slice.entries.iter().map(|one| String::from_utf8_lossy(one)).collect();
    let told: Vec<_> = lines.iter().filter(|line| line.contains("reported_by")).collect();
    assert_eq!(told.len(), 2, "{lines:?}");
    assert!(told[1].contains("\"would_ask\":true") && told[1].contains("CRITICAL"), "{}", told[1]);
    assert!(!told[0].contains("would_ask") && !told[0].contains("/srv/a"), "{}", told[0]);
    let bad = json!({ "gateway": "claude", "passes": [{ "command": "ls" }, { "command": 7 }] });
    assert_eq!(api.agent("POST", "/v1/passes", bad).await.0, StatusCode::BAD_REQUEST);
    let many = json!({ "gateway": "claude", "passes": vec![json!({ "command": "ls" }); 501] });
    assert_eq!(api.agent("POST", "/v1/passes", many).await.0, StatusCode::BAD_REQUEST);
}
