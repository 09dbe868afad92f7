//! The project and the host of a call: who may name them, and that an edit keeps them.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{CODER_TOKEN, TestApi, read, send};
use crate::gate::Caller;

/// A path that is outside the home folder and, without a project, outside every project.
const INSIDE: &str = "touch /workspaces/shop/src/a.rs";

async fn tier_of_edit(api: &TestApi, project: Option<&str>) -> Value {
    let call = json!({ "tool": "terminal", "arguments": { "command": "rm -rf /srv/data" },
        "project": project });
    let (status, asked) = api.agent("POST", "/v1/requests", call).await;
    assert_eq!(status, StatusCode::CREATED, "{asked}");
    let path = format!("/v1/requests/{}/edit", asked["id"].as_str().unwrap());
    let body = json!({ "digest": asked["digest"], "edited_arguments": { "command": INSIDE } });
    let (status, card) = api.person("POST", &path, body).await;
    assert_eq!(status, StatusCode::OK, "{card}");
    card["tier"].clone()
}

#[tokio::test]
async fn an_edited_call_is_assessed_in_the_project_of_its_request() {
    let api = TestApi::new().await;
    assert_eq!(tier_of_edit(&api, None).await, "MEDIUM");
    let other = TestApi::new().await;
    assert_eq!(tier_of_edit(&other, Some("/workspaces/shop")).await, "LOW");
}

#[tokio::test]
async fn every_way_of_asking_accepts_the_project() {
    let api = TestApi::new().await;
    let arguments = json!({ "command": INSIDE });
    let shell =
        |project: &str| json!({ "tool": "terminal", "arguments": arguments, "project": project });
    for (project, tier) in [("/workspaces/shop", "LOW"), ("/", "MEDIUM"), ("/home/ana", "MEDIUM")] {
        let (_, seen) = api.agent("POST", "/v1/assess", shell(project)).await;
        assert_eq!(seen["tier"], tier, "{project}: {seen}");
    }
    let passes = json!({ "gateway": "claude", "passes": [shell("/workspaces/shop")] });
    let (status, kept) = api.agent("POST", "/v1/passes", passes).await;
    assert_eq!((status, &kept["would_ask"]), (StatusCode::OK, &json!(0)), "{kept}");
    let seed = json!({ "action": "terminal", "description": "x", "payload": { "command": INSIDE },
        "cwd": "/workspaces/shop/web", "project": "/workspaces/shop", "host": "codex" });
    let (_, answer) = api.agent("POST", "/confirm", seed).await;
    assert_eq!(answer["status"], "auto_approved", "{answer}");
    let wrong = json!({ "tool": "terminal", "arguments": {}, "project": 7 });
    let (status, _) = api.agent("POST", "/v1/assess", wrong).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_token_cannot_name_another_host() {
    let api = TestApi::new().await;
    let message = json!({ "tool": "SendMessage", "host": "claude-code",
        "arguments": { "to": "reviewer", "message": "please look" } });
    let sent = send(&api.agents, 6000, "POST", "/v1/assess", Some(CODER_TOKEN), &[], message).await;
    let (status, seen) = read(sent).await;
    assert_eq!((status, &seen["route"]), (StatusCode::OK, &json!("ask")), "{seen}");
}

#[test]
fn a_host_is_accepted_from_the_socket_and_from_its_own_agent() {
    let caller =
        |agent: &str, is_socket_peer: bool| Caller { is_socket_peer, ..Caller::named(agent) };
    let host = Some("claude-code");
    assert_eq!(caller("uid:1000", true).accepted_host(host), host);
    assert_eq!(caller("Claude Code", false).accepted_host(host), host);
    for name in ["coder", "claude", "", "anonymous", "uid:1000"] {
        assert_eq!(caller(name, false).accepted_host(host), None, "{name}");
    }
    assert_eq!(caller("---", false).accepted_host(Some("---")), None);
    assert_eq!(caller("x", true).accepted_host(None), None);
}

#[tokio::test]
async fn people_list_requests_with_card_and_place_and_agents_do_not() {
    let api = TestApi::new().await;
    let call = json!({ "tool": "terminal", "arguments": { "command": "rm -rf /srv/data" },
        "project": "/workspaces/shop" });
    api.agent("POST", "/v1/requests", call).await;
    let (_, listed) = api.person("GET", "/v1/requests", Value::Null).await;
    let first = &listed["requests"][0];
    assert!(first["card"].is_null() && first["place"].is_null(), "{listed}");
    let (_, listed) = api.person("GET", "/v1/requests?cards=true", Value::Null).await;
    let first = &listed["requests"][0];
    assert_eq!(first["place"]["project"], "/workspaces/shop", "{listed}");
    assert_eq!(first["card"]["digest"], first["digest"], "{listed}");
    for wanted in ["true", "false"] {
        let path = format!("/v1/requests?cards={wanted}");
        let (status, _) = api.agent("GET", &path, Value::Null).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{wanted}");
    }
}
