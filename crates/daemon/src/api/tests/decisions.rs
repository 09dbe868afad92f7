//! What an answer must name: the call that was shown, and the edited call that was checked.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{ANA_TOKEN, TestApi, read, send};

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

#[tokio::test]
async fn an_answer_must_name_the_digest_of_its_call() {
    let api = TestApi::new().await;
    let one = asked(&api, "rm -rf /srv/one").await;
    let other = asked(&api, "rm -rf /srv/other").await;
    for choice in ["approve", "deny"] {
        let body = json!({ "choice": choice, "digest": other["digest"] });
        let (status, problem) = decide(&api, &one, body).await;
        assert_eq!(status, StatusCode::CONFLICT, "{choice}: {problem}");
    }
    let (status, problem) = decide(&api, &one, json!({ "choice": "approve" })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("`digest` is required"), "{problem}");
    // The same applies when several are answered together.
    for (choice, digest) in [
        ("approve", Value::Null),
        ("approve", other["digest"].clone()),
        ("deny", other["digest"].clone()),
    ] {
        let list = json!([{ "id": one["id"], "digest": digest }]);
        let body = json!({ "choice": choice, "requests": list });
        let (_, answer) = api.person("POST", "/v1/decisions", body).await;
        assert_eq!(answer["results"][0]["state"], Value::Null, "{answer}");
    }
    let (status, denied) = decide(&api, &one, json!({ "choice": "deny" })).await;
    assert_eq!((status, &denied["state"]), (StatusCode::OK, &json!("denied")), "{denied}");
}

#[tokio::test]
async fn an_edit_is_approved_only_as_checked_and_stored_with_the_original() {
    let api = TestApi::new().await;
    let one = asked(&api, "chmod -R 777 /var/www").await;
    let id = one["id"].as_str().unwrap();
    let edited = json!({ "command": "rm -rf /var/www" });
    let check = async |digest: &Value| {
        let body = json!({ "digest": digest, "edited_arguments": edited });
        api.person("POST", &format!("/v1/requests/{id}/edit"), body).await
    };
    let other = asked(&api, "rm -rf /srv/other").await;
    assert_eq!(check(&other["digest"]).await.0, StatusCode::CONFLICT);
    let (status, card) = check(&one["digest"]).await;
    assert_eq!(status, StatusCode::OK, "{card}");
    assert!(card["arguments"].as_str().unwrap().contains("rm -rf /var/www"), "{card}");
    assert!(!card["reasons"].as_array().unwrap().is_empty(), "{card}");
    // The inbox shows the same assessment.
    let body = json!({ "digest": one["digest"], "edited_arguments": edited });
    let (status, shown) = api.person("POST", &format!("/inbox/edit/{id}"), body).await;
    assert_eq!((status, &shown["digest"]), (StatusCode::OK, &card["digest"]), "{shown}");
    let yes = json!({ "choice": "approve", "digest": one["digest"], "reason": "agreed",
        "edited_arguments": edited });
    let (status, problem) = decide(&api, &one, yes.clone()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{problem}");
    let mut unlike = yes.clone();
    unlike["edited_digest"] = one["digest"].clone();
    assert_eq!(decide(&api, &one, unlike).await.0, StatusCode::CONFLICT);
    let mut right = yes;
    right["edited_digest"] = card["digest"].clone();
    right["word"] = card["phrase"].clone();
    let (status, after) = decide(&api, &one, right).await;
    assert_eq!((status, &after["state"]), (StatusCode::OK, &json!("approved")), "{after}");
    assert_eq!(after["edited_card"], card);
    assert_eq!(after["edited"]["tier"], card["tier"]);
    for path in [format!("/requests/{id}"), format!("/inbox/card/{id}"), "/history".to_owned()] {
        let page = send(&api.people, 6001, "GET", &path, Some(ANA_TOKEN), &[], Value::Null).await;
        let bytes = axum::body::to_bytes(page.into_body(), usize::MAX).await.unwrap();
        let page = String::from_utf8(bytes.to_vec()).unwrap();
        let brief = card["brief"].as_str().unwrap();
        assert!(page.contains(brief) && page.contains("dited"), "{path}: {page}");
    }
    // Found by the edited command as well as by the original one.
    for text in ["rm%20-rf%20/var/www", "chmod%20-R%20777"] {
        let path = format!("/v1/requests?q={text}");
        let (_, found) = api.person("GET", &path, Value::Null).await;
        assert_eq!(found["requests"][0]["id"], one["id"], "{found}");
        assert_eq!(found["truncated"], false);
    }
}

#[tokio::test]
async fn an_edited_approval_gives_no_grant() {
    let api = TestApi::new().await;
    let one = asked(&api, "chmod -R 777 /var/www").await;
    let id = one["id"].as_str().unwrap();
    let edited = json!({ "command": "chmod -R 755 /var/www" });
    let body = json!({ "digest": one["digest"], "edited_arguments": edited });
    let (_, card) = api.person("POST", &format!("/v1/requests/{id}/edit"), body).await;
    let yes = json!({ "choice": "approve", "digest": one["digest"], "reason": "agreed",
        "edited_arguments": edited, "edited_digest": card["digest"],
        "grant": { "shape": "exact", "scope": "session" } });
    let (status, problem) = decide(&api, &one, yes).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{problem}");
    let (_, grants) = api.person("GET", "/v1/grants", Value::Null).await;
    let list = grants["grants"].as_array().unwrap();
    assert!(list.iter().all(|one| one["shape"] != "exact"), "{grants}");
}

#[tokio::test]
async fn an_agent_cannot_check_an_edit() {
    let api = TestApi::new().await;
    let one = asked(&api, "chmod -R 777 /var/www").await;
    let id = one["id"].as_str().unwrap();
    let body = json!({ "digest": one["digest"], "edited_arguments": { "command": "ls" } });
    for path in [format!("/v1/requests/{id}/edit"), format!("/inbox/edit/{id}")] {
        for token in [None, Some(super::CODER_TOKEN)] {
            let sent = send(&api.people, 6001, "POST", &path, token, &[], body.clone()).await;
            let (status, _) = read(sent).await;
            let refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
            assert!(refused.contains(&status), "{path}: {status}");
        }
    }
}

/// A command of a session.
async fn in_session(api: &TestApi, command: &str) -> Value {
    let arguments = json!({ "command": command });
    let call = json!({ "tool": "bash", "arguments": arguments, "session": "s1", "cwd": "/srv" });
    api.agent("POST", "/v1/requests", call).await.1
}

fn for_session(asked: &Value) -> Value {
    json!({
        "choice": "approve", "scope": "session", "digest": asked["digest"], "reason": "fine",
        "word": asked["phrase"],
    })
}

#[tokio::test]
async fn an_approval_for_the_session_is_listed_used_and_revoked() {
    let api = TestApi::new().await;
    let one = in_session(&api, "rm -rf src").await;
    let (status, decided) = decide(&api, &one, for_session(&one)).await;
    assert_eq!((status, &decided["state"]), (StatusCode::OK, &json!("approved")), "{decided}");
    assert_eq!(decided["decision"]["scope"], "session");
    assert_eq!(decided["votes"][0]["scope"], "session");
    let again = in_session(&api, "rm -rf src").await;
    assert_eq!(again["state"], "approved", "{again}");
    assert_eq!(again["decision"]["by"], json!({ "kind": "grant", "grant": one["id"] }));
    assert_eq!(again["decision"]["reason"], "for this session, by ana");
    let (_, grants) = api.person("GET", "/v1/grants", Value::Null).await;
    let listed = grants["grants"].as_array().unwrap();
    let answer = listed.iter().find(|grant| grant["id"] == one["id"]).unwrap();
    assert_eq!((&answer["shape"], &answer["session"]), (&json!("same_question"), &json!("s1")));
    let path = format!("/v1/grants/{}", one["id"].as_str().unwrap());
    assert_eq!(api.person("DELETE", &path, Value::Null).await.0, StatusCode::OK);
    assert_eq!(in_session(&api, "rm -rf src").await["state"], "pending");
}

#[tokio::test]
async fn an_approval_for_the_session_is_rejected_where_it_would_not_count() {
    let api = TestApi::new().await;
    let one = in_session(&api, "rm -rf src").await;
    let with = |name: &str, value: Value| {
        let mut body = for_session(&one);
        body[name] = value;
        body
    };
    let grant = json!({ "shape": "exact", "scope": "session" });
    for (body, expected) in [
        (with("scope", json!("always")), StatusCode::BAD_REQUEST),
        (with("choice", json!("deny")), StatusCode::BAD_REQUEST),
        (with("grant", grant), StatusCode::BAD_REQUEST),
        (with("edited_arguments", json!({ "command": "rm -rf docs" })), StatusCode::CONFLICT),
    ] {
        let (status, problem) = decide(&api, &one, body).await;
        assert_eq!(status, expected, "{problem}");
    }
    let mail = json!({
        "tool": "send_email", "arguments": { "to": "bo@example.org", "body": "hi" },
        "session": "s1",
    });
    let mail = api.agent("POST", "/v1/requests", mail).await.1;
    let alone = asked(&api, "rm -rf /srv/one").await;
    let grave = in_session(&api, "rm -rf /").await;
    for (call, why) in [(mail, "messages"), (alone, "session"), (grave, "CRITICAL")] {
        let (status, problem) = decide(&api, &call, for_session(&call)).await;
        assert_eq!(status, StatusCode::CONFLICT, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(why), "{problem}");
    }
    let path = format!("/v1/requests/{}", one["id"].as_str().unwrap());
    let (_, shown) = api.person("GET", &path, Value::Null).await;
    assert_eq!((&shown["session_scope"], &shown["state"]), (&json!(true), &json!("pending")));
}
