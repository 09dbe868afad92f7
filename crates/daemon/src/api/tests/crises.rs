//! In a crisis no outbound call passes without a person, whatever else would allow it.

use super::*;
use crate::notifier::test_notifier::until;

const CRISIS: &str = "I want to kill myself tonight, I have the pills here";

fn message(session: Option<&str>) -> Value {
    json!({
        "tool": "send_message", "arguments": { "to": "bo", "text": "all is well" },
        "session": session, "risk_level": "low",
    })
}

async fn screened(api: &TestApi, session: Option<&str>) -> Value {
    let body = json!({ "text": CRISIS, "session": session });
    let (status, answer) = api.agent("POST", "/v1/screen", body).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

/// The stored crises. The response waits only briefly for the write, so it may come later.
async fn on_the_disk(api: &TestApi) -> Vec<countersign_store::CrisisSession> {
    let kept = async || api.api.gate.store().crises().await.unwrap();
    until("a stored crisis", async || !kept().await.is_empty()).await;
    kept().await
}

#[tokio::test]
async fn the_crisis_card_is_returned_and_the_text_is_not_stored() {
    let api = TestApi::with("[crisis]\ncountry = \"DE\"\n").await;
    let body = json!({ "text": "please kill the process", "session": "s" });
    let (_, calm) = api.agent("POST", "/v1/screen", body).await;
    assert_eq!((&calm["crisis"], &calm["context"]), (&json!(false), &json!("none")), "{calm}");
    let answer = screened(&api, Some("s")).await;
    assert_eq!((&answer["crisis"], &answer["context"]), (&json!(true), &json!("crisis")));
    assert_eq!(answer["card"]["country"], "DE");
    let body = json!({ "text": CRISIS, "session": "s", "country": "us" });
    let (_, there) = api.agent("POST", "/v1/screen", body).await;
    assert_eq!(there["card"]["country"], "US");
    let body = json!({ "text": CRISIS, "session": "s", "country": "Atlantis", "lang": "xx" });
    let (status, anywhere) = api.agent("POST", "/v1/screen", body).await;
    assert_eq!(status, StatusCode::OK, "an unknown country hides no help");
    assert_eq!(anywhere["card"]["country"], "DE");
    let (_, list) = api.person("GET", "/v1/crises", Value::Null).await;
    assert_eq!(list["crises"][0]["session"], "s");
    assert_eq!(list["crises"].as_array().unwrap().len(), 1);
    api.api.gate.store().close().await.unwrap();
    for file in std::fs::read_dir(api.folder.path().join("state")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("pills") && !text.contains("kill"), "the text was kept");
    }
}

#[tokio::test]
async fn outbound_calls_in_a_crisis_are_pending_in_every_mode() {
    for mode in ["observe", "crisis_only", "enforce"] {
        let api = TestApi::with(&format!("mode = \"{mode}\"\n")).await;
        api.grant("send_message").await;
        let (_, before) = api.agent("POST", "/v1/requests", message(Some("s"))).await;
        assert_eq!(before["state"], "approved", "{mode}: a grant or the mode lets it pass");
        screened(&api, Some("s")).await;
        let (_, held) = api.agent("POST", "/v1/requests", message(Some("s"))).await;
        assert_eq!((&held["state"], &held["crisis"]), (&json!("pending"), &json!(true)), "{mode}");
        let body = json!({ "calls": [message(None)], "session": "s" });
        let (_, batch) = api.agent("POST", "/v1/batches", body).await;
        assert_eq!(batch["requests"][0]["state"], "pending", "{mode}: {batch}");
        let read = json!({ "command": "ls -la", "session": "s" });
        let (_, read) = api.agent("POST", "/v1/requests", read).await;
        assert_eq!(read["state"], "approved", "{mode}: reading is never held");
        let (_, elsewhere) = api.agent("POST", "/v1/requests", message(Some("t"))).await;
        assert_eq!(elsewhere["state"], "approved", "{mode}: another session");
        let (_, not_found) = api.agent("POST", "/v1/requests", message(None)).await;
        assert_eq!(not_found["state"], "pending", "{mode}: no session could be that one");
    }
}

#[tokio::test]
async fn a_crisis_without_a_session_applies_to_all_sessions() {
    let api = TestApi::with("mode = \"observe\"\n").await;
    screened(&api, None).await;
    for session in [None, Some("s"), Some("")] {
        let (_, held) = api.agent("POST", "/v1/requests", message(session)).await;
        assert_eq!(held["state"], "pending", "{session:?}");
    }
}

#[tokio::test]
async fn a_call_in_a_crisis_is_shown_while_pending_and_not_stored_afterwards() {
    let api = TestApi::new().await;
    screened(&api, Some("s")).await;
    let mut asks = message(Some("s"));
    asks["description"] = json!("her brother asked me to");
    let (_, held) = api.agent("POST", "/v1/requests", asks).await;
    let path = format!("/v1/requests/{}", held["id"].as_str().unwrap());
    let (_, seen) = api.person("GET", &path, Value::Null).await;
    let card = seen["card"].to_string();
    assert!(card.contains("all is well"), "while it waits, the card is whole: {card}");
    assert!(!seen.to_string().contains("her brother"), "the agent's own words are not kept");
    let body = json!({ "choice": "approve", "digest": held["digest"] });
    let (status, _) = api.person("POST", &format!("{path}/decision"), body).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "a crisis needs words");
    let (status, decided) = api.approve(&held).await;
    assert_eq!((status, &decided["state"]), (StatusCode::OK, &json!("approved")), "{decided}");
    let body = json!({ "status": "ok", "summary": "told him: all is well" });
    let (status, _) = api.agent("POST", &format!("{path}/outcome"), body).await;
    assert_eq!(status, StatusCode::OK);
    for document in [&decided, &api.person("GET", &path, Value::Null).await.1] {
        let text = document.to_string();
        assert!(!text.contains("all is well") && !text.contains("\"bo\""), "{text}");
    }
}

#[tokio::test]
async fn only_a_person_resolves_a_crisis_and_it_survives_a_restart() {
    let api = TestApi::new().await;
    screened(&api, Some("s")).await;
    let lift = json!({ "agent": CODER, "session": "s", "reason": "I spoke to her" });
    let response = api.agents("POST", "/v1/crises/lift", Some(CODER_TOKEN), &[], lift.clone());
    assert_eq!(response.await.status(), StatusCode::NOT_FOUND, "the agent API has no such route");
    let people = send(&api.people, 6001, "POST", "/v1/crises/lift", Some(CODER_TOKEN), &[], lift);
    assert_eq!(people.await.status(), StatusCode::FORBIDDEN);
    let kept = on_the_disk(&api).await;
    let read_again = crate::gate::CrisisSessions::new(kept);
    assert!(read_again.holds(CODER, Some("s")) && !read_again.holds(CODER, Some("t")));
    for body in [
        json!({ "agent": CODER, "session": "s" }),
        json!({ "agent": CODER, "session": "s", "reason": " " }),
        json!({ "agent": CODER, "session": "s", "reason": "x", "why": 1 }),
    ] {
        let (status, _) = api.person("POST", "/v1/crises/lift", body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
    }
    let body = json!({ "agent": CODER, "session": "other", "reason": "x" });
    assert_eq!(api.person("POST", "/v1/crises/lift", body).await.0, StatusCode::NOT_FOUND);
    let body = json!({ "agent": CODER, "session": "s", "reason": "I spoke to her" });
    let (status, _) = api.person("POST", "/v1/crises/lift", body).await;
    assert_eq!(status, StatusCode::OK);
    assert!(api.api.gate.store().crises().await.unwrap().is_empty());
    assert!(!api.api.gate.crises().holds(CODER, None));
}

#[tokio::test]
async fn the_crisis_card_does_not_wait_for_a_broken_store() {
    let api = TestApi::new().await;
    api.api.gate.store().close().await.unwrap();
    let answer = screened(&api, Some("s")).await;
    assert_eq!(answer["context"], "crisis");
    assert!(api.api.gate.crises().holds(CODER, Some("s")), "it holds in memory");
}
