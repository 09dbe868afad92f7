//! In a crisis nothing goes out without a person, whatever else would let it.

use super::*;

const CRISIS: &str = "I want to kill myself tonight, I have the pills here";

fn message(session: Option<&str>) -> Value {
    json!({
        "tool": "send_message", "arguments": { "to": "bo", "text": "all is well" },
        "session": session, "risk_level": "low",
    })
}

async fn screened(trial: &Trial, session: Option<&str>) -> Value {
    let body = json!({ "text": CRISIS, "session": session });
    let (status, answer) = trial.agent("POST", "/v1/screen", body).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

/// The crises that were written down. The card waits only a moment for that, so it may come later.
async fn on_the_disk(trial: &Trial) -> Vec<countersign_store::CrisisSession> {
    for _ in 0..1000 {
        let kept = trial.api.gate.store().crises().await.unwrap();
        if !kept.is_empty() {
            return kept;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("never on the disk");
}

#[tokio::test]
async fn the_card_comes_at_once_and_the_text_is_nowhere() {
    let trial = Trial::with("[crisis]\ncountry = \"DE\"\n").await;
    let body = json!({ "text": "please kill the process", "session": "s" });
    let (_, calm) = trial.agent("POST", "/v1/screen", body).await;
    assert_eq!((&calm["crisis"], &calm["context"]), (&json!(false), &json!("none")), "{calm}");
    let answer = screened(&trial, Some("s")).await;
    assert_eq!((&answer["crisis"], &answer["context"]), (&json!(true), &json!("crisis")));
    assert_eq!(answer["card"]["country"], "DE");
    let body = json!({ "text": CRISIS, "session": "s", "country": "us" });
    let (_, there) = trial.agent("POST", "/v1/screen", body).await;
    assert_eq!(there["card"]["country"], "US");
    let body = json!({ "text": CRISIS, "session": "s", "country": "Atlantis", "lang": "xx" });
    let (status, anywhere) = trial.agent("POST", "/v1/screen", body).await;
    assert_eq!(status, StatusCode::OK, "an unknown country hides no help");
    assert_eq!(anywhere["card"]["country"], "DE");
    let (_, list) = trial.person("GET", "/v1/crises", Value::Null).await;
    assert_eq!(list["crises"][0]["session"], "s");
    assert_eq!(list["crises"].as_array().unwrap().len(), 1);
    trial.api.gate.store().close().await.unwrap();
    for file in std::fs::read_dir(trial.folder.path().join("state")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("pills") && !text.contains("kill"), "the text was kept");
    }
}

#[tokio::test]
async fn what_goes_out_waits_in_every_mode_with_a_grant_and_whatever_is_claimed() {
    for mode in ["observe", "crisis_only", "enforce"] {
        let trial = Trial::with(&format!("mode = \"{mode}\"\n")).await;
        trial.grant("send_message").await;
        let (_, before) = trial.agent("POST", "/v1/requests", message(Some("s"))).await;
        assert_eq!(before["state"], "approved", "{mode}: a grant or the mode lets it pass");
        screened(&trial, Some("s")).await;
        let (_, held) = trial.agent("POST", "/v1/requests", message(Some("s"))).await;
        assert_eq!((&held["state"], &held["crisis"]), (&json!("pending"), &json!(true)), "{mode}");
        let body = json!({ "calls": [message(None)], "session": "s" });
        let (_, batch) = trial.agent("POST", "/v1/batches", body).await;
        assert_eq!(batch["requests"][0]["state"], "pending", "{mode}: {batch}");
        let read = json!({ "command": "ls -la", "session": "s" });
        let (_, read) = trial.agent("POST", "/v1/requests", read).await;
        assert_eq!(read["state"], "approved", "{mode}: reading is never held");
        let (_, elsewhere) = trial.agent("POST", "/v1/requests", message(Some("t"))).await;
        assert_eq!(elsewhere["state"], "approved", "{mode}: another session");
        let (_, nowhere) = trial.agent("POST", "/v1/requests", message(None)).await;
        assert_eq!(nowhere["state"], "pending", "{mode}: no session could be that one");
    }
}

#[tokio::test]
async fn a_crisis_without_a_session_is_in_all_of_them() {
    let trial = Trial::with("mode = \"observe\"\n").await;
    screened(&trial, None).await;
    for session in [None, Some("s"), Some("")] {
        let (_, held) = trial.agent("POST", "/v1/requests", message(session)).await;
        assert_eq!(held["state"], "pending", "{session:?}");
    }
}

#[tokio::test]
async fn a_person_sees_what_they_approve_and_nothing_of_it_stays() {
    let trial = Trial::new().await;
    screened(&trial, Some("s")).await;
    let mut asks = message(Some("s"));
    asks["description"] = json!("her brother asked me to");
    let (_, held) = trial.agent("POST", "/v1/requests", asks).await;
    let path = format!("/v1/requests/{}", held["id"].as_str().unwrap());
    let (_, seen) = trial.person("GET", &path, Value::Null).await;
    let card = seen["card"].to_string();
    assert!(card.contains("all is well"), "while it waits, the card is whole: {card}");
    assert!(!seen.to_string().contains("her brother"), "the agent's own words are not kept");
    let body = json!({ "choice": "approve", "digest": held["digest"] });
    let (status, _) = trial.person("POST", &format!("{path}/decision"), body).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "a crisis needs words");
    let (status, decided) = trial.approve(&held).await;
    assert_eq!((status, &decided["state"]), (StatusCode::OK, &json!("approved")), "{decided}");
    let body = json!({ "status": "ok", "summary": "told him: all is well" });
    let (status, _) = trial.agent("POST", &format!("{path}/outcome"), body).await;
    assert_eq!(status, StatusCode::OK);
    for document in [&decided, &trial.person("GET", &path, Value::Null).await.1] {
        let text = document.to_string();
        assert!(!text.contains("all is well") && !text.contains("\"bo\""), "{text}");
    }
}

#[tokio::test]
async fn only_a_person_lifts_it_and_it_outlives_a_restart() {
    let trial = Trial::new().await;
    screened(&trial, Some("s")).await;
    let lift = json!({ "agent": CODER, "session": "s", "reason": "I spoke to her" });
    let response = trial.agents("POST", "/v1/crises/lift", Some(CODER_TOKEN), &[], lift.clone());
    assert_eq!(response.await.status(), StatusCode::NOT_FOUND, "there is no such door");
    let people = send(&trial.people, 6001, "POST", "/v1/crises/lift", Some(CODER_TOKEN), &[], lift);
    assert_eq!(people.await.status(), StatusCode::FORBIDDEN);
    let kept = on_the_disk(&trial).await;
    let read_again = crate::gate::Crises::new(kept);
    assert!(read_again.holds(CODER, Some("s")) && !read_again.holds(CODER, Some("t")));
    for body in [
        json!({ "agent": CODER, "session": "s" }),
        json!({ "agent": CODER, "session": "s", "reason": " " }),
        json!({ "agent": CODER, "session": "s", "reason": "x", "why": 1 }),
    ] {
        let (status, _) = trial.person("POST", "/v1/crises/lift", body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
    }
    let body = json!({ "agent": CODER, "session": "other", "reason": "x" });
    assert_eq!(trial.person("POST", "/v1/crises/lift", body).await.0, StatusCode::NOT_FOUND);
    let body = json!({ "agent": CODER, "session": "s", "reason": "I spoke to her" });
    let (status, _) = trial.person("POST", "/v1/crises/lift", body).await;
    assert_eq!(status, StatusCode::OK);
    assert!(trial.api.gate.store().crises().await.unwrap().is_empty());
    assert!(!trial.api.gate.crises().holds(CODER, None));
}

#[tokio::test]
async fn help_does_not_wait_for_a_store_that_cannot_write() {
    let trial = Trial::new().await;
    trial.api.gate.store().close().await.unwrap();
    let answer = screened(&trial, Some("s")).await;
    assert_eq!(answer["context"], "crisis");
    assert!(trial.api.gate.crises().holds(CODER, Some("s")), "it holds in memory");
}
