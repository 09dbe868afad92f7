//! A HIGH call is approved only by a person who typed one of its two words, on every route.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{ANA_TOKEN, TestApi, read, send};

const HIGH: &str = "git push --force origin main";
const CRITICAL: &str = "rm -rf /";

async fn asked(api: &TestApi, command: &str) -> Value {
    let call = json!({ "tool": "terminal", "arguments": { "command": command } });
    let (status, asked) = api.agent("POST", "/v1/requests", call).await;
    assert_eq!((status, &asked["state"]), (StatusCode::CREATED, &json!("pending")), "{asked}");
    asked
}

async fn decide(api: &TestApi, asked: &Value, body: Value) -> (StatusCode, Value) {
    let path = format!("/v1/requests/{}/decision", asked["id"].as_str().unwrap());
    api.person("POST", &path, body).await
}

async fn state(api: &TestApi, asked: &Value) -> Value {
    let path = format!("/v1/requests/{}", asked["id"].as_str().unwrap());
    api.person("GET", &path, Value::Null).await.1["state"].clone()
}

#[tokio::test]
async fn a_session_cannot_approve_high_without_the_word() {
    let api = TestApi::new().await;
    let one = asked(&api, HIGH).await;
    assert_eq!(one["tier"], "HIGH", "{one}");
    for word in [Value::Null, json!(""), json!(" "), json!("-"), json!("yes"), one["id"].clone()] {
        let body = json!({ "choice": "approve", "digest": one["digest"], "word": word });
        let (status, problem) = decide(&api, &one, body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{word}: {problem}");
        assert_eq!(problem["type"], "urn:countersign:problem:word-required", "{problem}");
        assert_eq!(state(&api, &one).await, "pending");
    }
    let first = one["phrase"].as_str().unwrap().split('-').next().unwrap().to_uppercase();
    let body = json!({ "choice": "approve", "digest": one["digest"], "word": first });
    let (status, after) = decide(&api, &one, body).await;
    assert_eq!((status, &after["state"]), (StatusCode::OK, &json!("approved")), "{after}");
}

#[tokio::test]
async fn a_batch_does_not_approve_high_without_each_word() {
    let api = TestApi::new().await;
    let (one, two) = (asked(&api, HIGH).await, asked(&api, "git push -f origin dev").await);
    let batch = async |items: Value| {
        let body = json!({ "choice": "approve", "requests": items });
        api.person("POST", "/v1/decisions", body).await.1["results"].clone()
    };
    let results = batch(json!([
        { "id": one["id"], "digest": one["digest"] },
        // The words of another call do not count.
        { "id": two["id"], "digest": two["digest"], "word": one["phrase"] },
    ]))
    .await;
    for result in results.as_array().unwrap() {
        assert_eq!(result["state"], Value::Null, "{results}");
    }
    let named = json!([{ "id": one["id"], "digest": one["digest"], "word": one["phrase"] }]);
    assert_eq!(batch(named).await[0]["state"], "approved");
    assert_eq!(state(&api, &two).await, "pending");
}

#[tokio::test]
async fn respond_does_not_approve_high_or_critical_blindly() {
    let api = TestApi::new().await;
    let respond = async |body: Value| {
        let mut replies = Vec::new();
        for router in [(&api.agents, 6000), (&api.people, 6001)] {
            let token = Some(ANA_TOKEN);
            let sent = send(router.0, router.1, "POST", "/respond", token, &[], body.clone()).await;
            replies.push(read(sent).await);
        }
        replies
    };
    let (high, critical) = (asked(&api, HIGH).await, asked(&api, CRITICAL).await);
    assert_eq!((&high["tier"], &critical["tier"]), (&json!("HIGH"), &json!("CRITICAL")));
    for one in [&high, &critical] {
        let id = &one["id"];
        for body in [
            json!({ "request_id": id, "approved": true, "reason": "as planned" }),
            json!({ "request_id": id, "approved": true, "reason": "x", "word": one["phrase"] }),
            json!({ "request_id": id, "approved": true, "reason": "x", "word": one["phrase"],
                "digest": format!("sha256:{}", "0".repeat(64)) }),
        ] {
            for (status, reply) in respond(body.clone()).await {
                assert!(!status.is_success(), "{body}: {reply}");
            }
            assert_eq!(state(&api, one).await, "pending", "{body}");
        }
    }
    let yes = json!({ "request_id": high["id"], "approved": true, "digest": high["digest"] });
    for (status, reply) in respond(yes.clone()).await {
        assert!(!status.is_success(), "{reply}");
    }
    let mut worded = yes;
    worded["word"] = high["phrase"].clone();
    assert_eq!(respond(worded).await[0].1["status"], "approved");
    // Denying takes neither.
    let no = json!({ "request_id": critical["id"], "approved": false });
    assert_eq!(respond(no).await[0].1["status"], "denied");
    // Calls below HIGH are answered as they always were.
    let medium = asked(&api, "systemctl restart nginx").await;
    assert_eq!(medium["tier"], "MEDIUM", "{medium}");
    let yes = json!({ "request_id": medium["id"], "approved": true });
    assert_eq!(respond(yes).await[0].1["status"], "approved");
}

/// `listen.respond_without_word` is for HIGH: no setting lets a client approve CRITICAL unseen.
#[tokio::test]
async fn respond_without_a_word_approves_high_and_never_critical() {
    let api = TestApi::with("[listen]\nrespond_without_word = true\n").await;
    let respond = async |body: Value| {
        let token = Some(ANA_TOKEN);
        read(send(&api.agents, 6000, "POST", "/respond", token, &[], body).await).await
    };
    let (high, critical) = (asked(&api, HIGH).await, asked(&api, CRITICAL).await);
    let yes = |one: &Value| json!({ "request_id": one["id"], "approved": true, "reason": "x" });
    let (status, reply) = respond(yes(&critical)).await;
    assert_eq!(status, StatusCode::CONFLICT, "{reply}");
    assert_eq!(state(&api, &critical).await, "pending");
    assert_eq!(respond(yes(&high)).await.1["status"], "approved");
    // With the digest of the call it is an answer like any other.
    let mut seen = yes(&critical);
    seen["digest"] = critical["digest"].clone();
    assert_eq!(respond(seen).await.1["status"], "approved");
}

#[tokio::test]
async fn an_edited_call_takes_its_own_word() {
    let api = TestApi::new().await;
    let one = asked(&api, HIGH).await;
    let edited = json!({ "command": "git push --force origin dev" });
    let body = json!({ "digest": one["digest"], "edited_arguments": edited });
    let path = format!("/v1/requests/{}/edit", one["id"].as_str().unwrap());
    let (_, card) = api.person("POST", &path, body).await;
    let mut yes = json!({ "choice": "approve", "digest": one["digest"], "word": one["phrase"],
        "edited_arguments": edited, "edited_digest": card["digest"] });
    assert_eq!(decide(&api, &one, yes.clone()).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    yes["word"] = card["phrase"].clone();
    assert_eq!(decide(&api, &one, yes).await.1["state"], "approved");
}
