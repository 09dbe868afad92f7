//! A person takes over a conversation in a crisis, edits what goes out, and is paged for signs.

use countersign_store::CrisisSession;
use countersign_types::time::Timestamp;

use super::*;
use crate::crisis_pages::{self, CrisisPages};

const CRISIS: &str = "I want to kill myself tonight, I have the pills here";

fn message(text: &str) -> Value {
    json!({ "tool": "send_message", "arguments": { "to": "sam", "text": text }, "session": "s" })
}

async fn screened(api: &TestApi, role: &str, text: &str) -> Value {
    let body = json!({ "text": text, "session": "s", "role": role });
    let (status, answer) = api.agent("POST", "/v1/screen", body).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

fn take(text: Option<&str>) -> Value {
    json!({ "agent": CODER, "session": "s", "message": text })
}

const TAKE: &str = "/v1/crises/take-over";

#[tokio::test]
async fn after_a_takeover_nothing_of_the_agent_goes_out() {
    for mode in ["observe", "crisis_only", "enforce"] {
        let api = TestApi::with(&format!("mode = \"{mode}\"\n")).await;
        api.grant("send_message").await;
        let (status, _) = api.person("POST", TAKE, take(None)).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "no crisis");
        let shown = screened(&api, "user", CRISIS).await;
        assert_eq!(shown["takeover"], Value::Null);
        let (_, held) = api.agent("POST", "/v1/requests", message("stay with me")).await;
        let (_, other) = api.agent("POST", "/v1/requests", message("call your sister")).await;
        assert_eq!(held["state"], "pending", "{mode}");
        let (_, approved) = api.approve(&other).await;
        assert_eq!(approved["state"], "approved");
        // Neither an agent nor a session without a proof takes over.
        let stolen = send(&api.people, 6001, "POST", TAKE, Some(ANA_TOKEN), &[], take(None)).await;
        assert_eq!(stolen.status(), StatusCode::FORBIDDEN);
        let agent = api.agents("POST", TAKE, Some(CODER_TOKEN), &[], take(None)).await;
        assert_eq!(agent.status(), StatusCode::NOT_FOUND);
        let (status, taken) = api.person("POST", TAKE, take(Some("I am Ana."))).await;
        assert_eq!((status, &taken["message"]), (StatusCode::OK, &json!(1)), "{taken}");
        // The pending text is denied, and no approval revives it.
        let path = format!("/v1/requests/{}", held["id"].as_str().unwrap());
        let (_, ended) = api.agent("GET", &path, Value::Null).await;
        assert_eq!(ended["state"], "denied", "{ended}");
        assert_ne!(api.approve(&held).await.0, StatusCode::OK);
        // A new one is refused at once, and so is the permit of an earlier approval.
        let (status, refused) = api.agent("POST", "/v1/requests", message("hello")).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{mode}: {refused}");
        assert_eq!(refused["type"], "urn:countersign:problem:taken-over");
        let mut redeem = message("call your sister");
        let path = format!("/v1/requests/{}", other["id"].as_str().unwrap());
        let (_, document) = api.agent("GET", &path, Value::Null).await;
        redeem["permit"] = document["permit"].clone();
        let (status, _) = api.agent("POST", "/v1/permits/redeem", redeem).await;
        assert_ne!(status, StatusCode::OK, "{mode}: an approval from before");
        // The user sees who writes now, and what.
        let out = screened(&api, "agent", "I am here for you").await;
        assert_eq!((&out["decision"], out["replacement"].is_string()), (&json!("replace"), true));
        assert!(out["replacement"].as_str().unwrap().contains("person has taken over"));
        let back = screened(&api, "user", "who is this?").await;
        assert_eq!(back["takeover"]["messages"][0]["text"], "I am Ana.");
        let (_, state) = api.agent("GET", "/v1/takeover?session=s", Value::Null).await;
        assert_eq!(state["takeover"]["messages"].as_array().unwrap().len(), 1);
        let (_, another) = api.agent("GET", "/v1/takeover?session=t", Value::Null).await;
        let nothing = json!({ "context": "none", "takeover": null, "notice": null });
        assert_eq!(another, nothing);
        let reading = json!({ "command": "ls -la", "session": "s" });
        assert_eq!(api.agent("POST", "/v1/requests", reading).await.1["state"], "approved");
        let (_, list) = api.person("GET", "/v1/crises", Value::Null).await;
        let crisis = &list["crises"][0];
        assert_eq!(crisis["taken_over_by"], "ana");
        let turns: Vec<_> = crisis["turns"].as_array().unwrap().iter().collect();
        assert_eq!(turns.last().unwrap()["text"], "who is this?");
        // It survives a restart, without a word of the conversation.
        let kept = api.api.gate.store().takeovers().await.unwrap();
        assert_eq!(kept[0].person, "ana");
        let body = json!({ "agent": CODER, "session": "s", "reason": "she is with her sister" });
        assert_eq!(api.person("POST", "/v1/crises/lift", body).await.0, StatusCode::OK);
        let now = api.api.gate.clock().now().at;
        assert!(api.api.gate.crisis_turns().turns(CODER, "s", now).is_empty());
        let (_, after) = api.agent("POST", "/v1/requests", message("hello")).await;
        assert_eq!(after["state"], "approved", "{mode}: the grant or the mode counts again");
        api.api.gate.store().close().await.unwrap();
        for file in std::fs::read_dir(api.folder.path().join("state")).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            for secret in ["pills", "I am Ana", "who is this", "I am here for you"] {
                assert!(!text.contains(secret), "{mode}: `{secret}` was kept");
            }
        }
    }
}

#[tokio::test]
async fn a_person_edits_the_text_in_a_crisis_and_it_is_not_kept() {
    let api = TestApi::new().await;
    screened(&api, "user", CRISIS).await;
    let (_, held) = api.agent("POST", "/v1/requests", message("cheer up")).await;
    let path = format!("/v1/requests/{}", held["id"].as_str().unwrap());
    let edited = json!({ "to": "sam", "text": "I am reading this. Are you safe right now?" });
    let body = json!({ "digest": held["digest"], "edited_arguments": edited });
    let (status, card) = api.person("POST", &format!("{path}/edit"), body).await;
    assert_eq!(status, StatusCode::OK, "{card}");
    assert!(card.to_string().contains("Are you safe"), "the person sees the edited text");
    let mut answer = json!({
        "choice": "approve", "digest": held["digest"], "edited_arguments": edited,
        "edited_digest": card["digest"], "word": held["phrase"],
    });
    let (status, _) = api.person("POST", &format!("{path}/decision"), answer.clone()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "a crisis needs a reason");
    answer["reason"] = json!("kinder");
    let (status, decided) = api.person("POST", &format!("{path}/decision"), answer).await;
    assert_eq!((status, &decided["state"]), (StatusCode::OK, &json!("approved")), "{decided}");
    assert!(!decided["edited_card"].to_string().contains("Are you safe"), "{decided}");
    let (_, document) = api.agent("GET", &path, Value::Null).await;
    assert_eq!(document["edited_arguments"], edited, "{document}");
    let redeem = json!({
        "tool": "send_message", "arguments": edited, "session": "s", "permit": document["permit"],
    });
    let (status, used) = api.agent("POST", "/v1/permits/redeem", redeem).await;
    assert_eq!(status, StatusCode::OK, "{used}");
    let (_, after) = api.agent("GET", &path, Value::Null).await;
    assert!(!after.to_string().contains("Are you safe"), "{after}");
    // Never the agent's own text: that was not approved.
    assert_eq!(after["edited_arguments"], json!({}), "{after}");
}

#[tokio::test]
async fn people_are_paged_without_a_waiting_call_until_one_reacts() {
    let api = TestApi::new().await;
    let gate = &api.api.gate;
    let forward = |seconds: i64| {
        let now = gate.clock().now().at;
        gate.clock().not_before(Timestamp(now.0 + seconds * 1_000));
    };
    let mut pages = CrisisPages::default();
    assert!(pages.due(gate).await.is_empty());
    let possible = screened(&api, "user", "everything feels pointless lately").await;
    assert_ne!(possible["concern"], "likely", "{possible}");
    assert!(pages.due(gate).await.is_empty(), "nothing is paged below likely");
    screened(&api, "user", CRISIS).await;
    let mut levels = Vec::new();
    for _ in 0..8 {
        for page in pages.due(gate).await {
            let text = crisis_pages::text(&page);
            assert!(!text.contains("pills") && text.contains("session s"), "{text}");
            levels.push(page.level.label());
        }
        forward(60);
    }
    assert_eq!(levels, ["first", "next", "administrators", "emergency"]);
    assert!(pages.due(gate).await.is_empty(), "each level once");
    // Another episode is paged again, but not while a call waits: that pages by itself.
    forward(16 * 60);
    screened(&api, "user", CRISIS).await;
    assert_eq!(pages.due(gate).await.len(), 1);
    let (_, held) = api.agent("POST", "/v1/requests", message("stay with me")).await;
    forward(61);
    assert!(pages.due(gate).await.is_empty(), "{held}");
    forward(16 * 60);
    screened(&api, "user", CRISIS).await;
    let (_, held) = api.agent("POST", "/v1/requests", message("are you there")).await;
    let body = json!({ "choice": "deny", "digest": held["digest"], "reason": "I call them" });
    let path = format!("/v1/requests/{}/decision", held["id"].as_str().unwrap());
    assert_eq!(api.person("POST", &path, body).await.0, StatusCode::OK);
    assert!(pages.due(gate).await.is_empty(), "a person has reacted");
}

#[tokio::test]
async fn many_sessions_are_one_page() {
    let api = TestApi::new().await;
    let gate = &api.api.gate;
    let mut pages = CrisisPages::default();
    for number in 0..20 {
        gate.crises().begin(CrisisSession {
            agent: CODER.to_owned(),
            session: format!("s{number}"),
            level: 3,
            imminent: false,
            since: gate.clock().now().at,
        });
    }
    let due = pages.due(gate).await;
    assert_eq!((due.len(), due[0].episodes.len()), (1, 20));
    assert!(crisis_pages::text(&due[0]).contains("And 15 more."));
}
