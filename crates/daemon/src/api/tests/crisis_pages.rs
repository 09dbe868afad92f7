//! Who is paged about a person in a crisis and when, how long the conversation is kept, and what
//! the user is told when no person answers.

use countersign_types::time::Timestamp;

use super::*;
use crate::crisis_pages::{self, CrisisPages};

const CRISIS: &str = "I want to kill myself tonight, I have the pills here";
const TAKE: &str = "/v1/crises/take-over";

async fn screened(api: &TestApi, session: &str, text: &str) -> Value {
    let body = json!({ "text": text, "session": session });
    let (status, answer) = api.agent("POST", "/v1/screen", body).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

fn message(text: &str) -> Value {
    json!({ "tool": "send_message", "arguments": { "to": "sam", "text": text }, "session": "s" })
}

fn forward(api: &TestApi, seconds: i64) {
    let clock = api.api.gate.clock();
    clock.not_before(Timestamp(clock.now().at.0 + seconds * 1_000));
}

async fn due(pages: &mut CrisisPages, api: &TestApi) -> Vec<&'static str> {
    pages.due(&api.api.gate).await.iter().map(|page| page.level.label()).collect()
}

#[tokio::test]
async fn pages_come_at_0_1_3_and_5_minutes() {
    let api = TestApi::new().await;
    let mut pages = CrisisPages::default();
    screened(&api, "s", CRISIS).await;
    let mut seen = Vec::new();
    for half_minute in 0..20 {
        seen.extend(due(&mut pages, &api).await.iter().map(|level| (half_minute * 30, *level)));
        forward(&api, 30);
    }
    let expected = [(0, "first"), (60, "next"), (180, "administrators"), (300, "emergency")];
    assert_eq!(seen, expected, "seconds after the sign");
}

#[tokio::test]
async fn a_call_that_comes_and_goes_swallows_no_page() {
    let api = TestApi::new().await;
    let mut pages = CrisisPages::default();
    screened(&api, "s", CRISIS).await;
    assert_eq!(due(&mut pages, &api).await, ["first"]);
    // A call from the beginning pages by itself, at the same times.
    let (_, held) = api.agent("POST", "/v1/requests", message("are you there")).await;
    forward(&api, 61);
    assert!(due(&mut pages, &api).await.is_empty(), "{held}");
    let path = format!("/v1/requests/{}/cancel", held["id"].as_str().unwrap());
    let (status, cancelled) = api.agent("POST", &path, json!({})).await;
    assert_eq!(status, StatusCode::OK, "{cancelled}");
    assert_eq!(due(&mut pages, &api).await, ["next"], "the agent withdrew it");
    forward(&api, 120);
    assert_eq!(due(&mut pages, &api).await, ["administrators"]);
    // A late call begins its own pages at the first level: it must not end those of the crisis.
    forward(&api, 118);
    let (_, held) = api.agent("POST", "/v1/requests", message("hello")).await;
    assert_eq!(held["state"], "pending");
    forward(&api, 2);
    assert_eq!(due(&mut pages, &api).await, ["emergency"]);
    assert!(due(&mut pages, &api).await.is_empty(), "once");
}

#[tokio::test]
async fn danger_that_becomes_imminent_pages_although_a_call_waits() {
    let api = TestApi::new().await;
    let mut pages = CrisisPages::default();
    let shown = screened(&api, "s", "I want to kill myself").await;
    assert_eq!((&shown["context"], &shown["imminent"]), (&json!("crisis"), &json!(false)));
    let (_, held) = api.agent("POST", "/v1/requests", message("are you there")).await;
    forward(&api, 8 * 60);
    due(&mut pages, &api).await;
    let shown = screened(&api, "s", CRISIS).await;
    assert_eq!(shown["imminent"], true, "{shown}");
    assert_eq!(due(&mut pages, &api).await, ["first"], "{held}");
}

#[tokio::test]
async fn after_a_takeover_only_news_pages_again() {
    let api = TestApi::new().await;
    let mut pages = CrisisPages::default();
    screened(&api, "s", "I want to kill myself").await;
    assert_eq!(due(&mut pages, &api).await, ["first"]);
    let taken = json!({ "agent": CODER, "session": "s", "message": "I am Ana." });
    forward(&api, 20);
    assert_eq!(api.person("POST", TAKE, taken.clone()).await.0, StatusCode::OK);
    forward(&api, 61);
    screened(&api, "s", "I want to kill myself").await;
    assert!(due(&mut pages, &api).await.is_empty(), "a person is there");
    screened(&api, "s", CRISIS).await;
    let news = pages.due(&api.api.gate).await;
    assert_eq!(news.len(), 1, "danger has become imminent");
    let text = crisis_pages::text(&news[0]);
    assert!(text.contains("ana has taken over"), "{text}");
    assert!(!text.contains("pills"), "{text}");
    // Whoever writes to the user has seen it.
    forward(&api, 20);
    assert_eq!(api.person("POST", TAKE, taken.clone()).await.0, StatusCode::OK);
    forward(&api, 61);
    assert!(due(&mut pages, &api).await.is_empty());
    // Another episode: nobody knows whether that person is still there.
    forward(&api, 16 * 60);
    screened(&api, "s", CRISIS).await;
    assert_eq!(due(&mut pages, &api).await, ["first"]);
}

#[tokio::test]
async fn the_conversation_is_forgotten_two_hours_after_its_last_turn() {
    let api = TestApi::new().await;
    screened(&api, "s", CRISIS).await;
    let taken = json!({ "agent": CODER, "session": "s", "message": "I am Ana." });
    assert_eq!(api.person("POST", TAKE, taken).await.0, StatusCode::OK);
    // What people see of the conversation, and what the agent reads.
    let shown = async || {
        let seen = crate::gate::CrisisContext::of_call(&api.api.gate, CODER, "s").unwrap();
        let (_, page) = api.agent("GET", "/v1/takeover?session=s", Value::Null).await;
        format!("{seen:?}{page}")
    };
    forward(&api, 2 * 60 * 60 - 60);
    assert!(shown().await.contains("pills") && shown().await.contains("I am Ana."));
    forward(&api, 120);
    // Nothing was written since: reading alone must not show it.
    let after = shown().await;
    assert!(!after.contains("pills") && !after.contains("I am Ana."), "{after}");
}

#[tokio::test]
async fn the_user_is_told_that_no_person_answered_without_a_waiting_call() {
    let api = TestApi::new().await;
    let german = "Ich will mich heute Nacht umbringen, die Tabletten liegen hier";
    let shown = screened(&api, "s", german).await;
    assert_eq!((&shown["imminent"], &shown["notice"]), (&json!(true), &Value::Null), "{shown}");
    forward(&api, 4 * 60);
    let (_, early) = api.agent("GET", "/v1/takeover?session=s", Value::Null).await;
    assert_eq!(early["notice"], Value::Null, "{early}");
    forward(&api, 61);
    let (_, late) = api.agent("GET", "/v1/takeover?session=s", Value::Null).await;
    let back = screened(&api, "s", "ok").await;
    for notice in [&late["notice"], &back["notice"]] {
        let text = notice["text"].as_str().unwrap();
        assert!(text.contains("Noch hat kein Mensch"), "{text}");
        assert_eq!(notice["card"]["lang"], "de");
        assert_eq!(notice["card"]["imminent"], true);
    }
    // A waiting call says it in the same words.
    let (_, held) = api.agent("POST", "/v1/requests", message("bist du da")).await;
    let path = format!("/v1/requests/{}", held["id"].as_str().unwrap());
    forward(&api, 6 * 60);
    let id = countersign_types::id::Id::parse(held["id"].as_str().unwrap()).unwrap();
    api.api.gate.pass_time(id).await.unwrap();
    let (_, waiting) = api.agent("GET", &path, Value::Null).await;
    assert_eq!(waiting["notice"]["card"]["lang"], "de", "{waiting}");
    assert_eq!(waiting["notice"]["card"]["imminent"], true);
    let (_, other) = api.agent("GET", "/v1/takeover?session=t", Value::Null).await;
    assert_eq!(other["notice"], Value::Null);
    // A person who takes over has answered.
    let taken = json!({ "agent": CODER, "session": "s" });
    assert_eq!(api.person("POST", TAKE, taken).await.0, StatusCode::OK);
    let (_, after) = api.agent("GET", "/v1/takeover?session=s", Value::Null).await;
    assert_eq!(after["notice"], Value::Null, "{after}");
}

#[tokio::test]
async fn messages_of_a_takeover_without_a_session_reach_every_session() {
    let api = TestApi::new().await;
    screened(&api, "", CRISIS).await;
    let taken = json!({ "agent": CODER, "session": "", "message": "I am Ana." });
    assert_eq!(api.person("POST", TAKE, taken).await.0, StatusCode::OK);
    for session in ["", "s"] {
        let shown = screened(&api, session, "who is this?").await;
        let messages = &shown["takeover"]["messages"];
        assert_eq!(messages[0]["text"], "I am Ana.", "{session}: {shown}");
        let path = format!("/v1/takeover?session={session}");
        let (_, page) = api.agent("GET", &path, Value::Null).await;
        assert_eq!(page["takeover"]["messages"][0]["text"], "I am Ana.", "{session}: {page}");
    }
}
