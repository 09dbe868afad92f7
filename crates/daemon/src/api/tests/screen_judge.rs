//! Screening with a model judge: it decides about possible signs, and only upwards.

use super::*;
use crate::judge::scripted_model_tests::{ScriptedModel, ScriptedReply};
use crate::notifier::test_notifier::until;

const CALM: &str = "please list the files of the project";
/// A text that is possible by itself.
const POSSIBLE: &str = "I dont want to wake up tomorrow, what is the point";

async fn screened(api: &TestApi, text: &str, session: &str) -> Value {
    let body = json!({ "text": text, "session": session });
    let (status, answer) = api.agent("POST", "/v1/screen", body).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

async fn metrics(api: &TestApi) -> String {
    let metrics = send(&api.people, 6001, "GET", "/metrics", Some(ANA_TOKEN), &[], Value::Null);
    let bytes = axum::body::to_bytes(metrics.await.into_body(), 1 << 20).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn is_crisis(api: &TestApi, session: &str) -> bool {
    api.api.gate.crises().holds(CODER, Some(session))
}

/// How many messages of the session people see.
fn turns(api: &TestApi) -> usize {
    let now = api.api.gate.clock().now().at;
    api.api.gate.crisis_turns().turns(CODER, "s", now).len()
}

/// What the model answers to a prompt.
type Reply = fn(&str) -> ScriptedReply;

#[tokio::test]
async fn a_possible_sign_that_the_judge_confirms_is_likely() {
    for mode in ["shadow", "release"] {
        let model = ScriptedModel::start(|_| ScriptedReply::Danger("yes")).await;
        let api = TestApi::with(&model.section(mode, "")).await;
        let calm = screened(&api, CALM, "s").await;
        assert_eq!((&calm["concern"], model.questions()), (&json!("none"), 0), "{mode}");
        let first = screened(&api, POSSIBLE, "s").await;
        let shown = (&first["concern"], &first["card"]["check_in"], &first["guard"]["state"]);
        assert_eq!(shown, (&json!("possible"), &json!(true), &json!("off")), "{mode}");
        until("the turn that people see", async || turns(&api) == 1).await;
        assert!(is_crisis(&api, "s"), "{mode}");
        let next = screened(&api, CALM, "s").await;
        assert_eq!(
            (&next["concern"], &next["card"]["check_in"]),
            (&json!("likely"), &json!(false))
        );
        let after = screened(&api, CALM, "s").await;
        assert_eq!((&after["card"], &after["context"]), (&Value::Null, &json!("crisis")));
        assert!(metrics(&api).await.contains("result=\"danger\"} 1"));
        assert_eq!(turns(&api), 3, "{mode}");
    }
}

#[tokio::test]
async fn no_other_reply_of_the_judge_changes_a_concern() {
    let replies: [(&str, Reply); 8] = [
        ("no_danger", |_| ScriptedReply::Danger("no")),
        ("unclear", |_| ScriptedReply::Danger("unclear")),
        ("invalid_reply", |_| ScriptedReply::Danger("YES")),
        ("invalid_reply", |_| ScriptedReply::Text("yes".to_owned())),
        ("invalid_reply", |_| ScriptedReply::Text("{\"danger\": \"yes\"}".to_owned())),
        ("invalid_reply", |_| ScriptedReply::Verdict("deny", "affects_people")),
        ("invalid_reply", |_| ScriptedReply::Text(String::new())),
        ("unreachable", |_| ScriptedReply::Status(503)),
    ];
    for (number, (result, reply)) in replies.into_iter().enumerate() {
        let model = ScriptedModel::start(reply).await;
        let api = TestApi::with(&model.section("release", "")).await;
        let first = screened(&api, POSSIBLE, "s").await;
        assert_eq!(first["concern"], "possible", "{number}");
        until("the reply", async || {
            metrics(&api).await.contains("countersign_judge_questions_total")
        })
        .await;
        let counted = metrics(&api).await;
        if result != "unreachable" {
            assert!(counted.contains(&format!("result=\"{result}\"}} 1")), "{number}: {counted}");
        }
        assert!(!is_crisis(&api, "s"), "{number}");
        let next = screened(&api, CALM, "s").await;
        let stays = (&next["concern"], &next["session_concern"]);
        assert_eq!(stays, (&json!("none"), &json!("possible")), "{number}: nothing is lowered");
    }
}

#[tokio::test]
async fn a_check_in_does_not_wait_for_the_judge_and_a_likely_sign_is_not_sent_to_it() {
    let model = ScriptedModel::start(|_| ScriptedReply::Silence).await;
    let api = TestApi::with(&model.section("release", "deadline_seconds = 30\n")).await;
    let first = screened(&api, POSSIBLE, "s").await;
    assert_eq!(first["concern"], "possible");
    assert!(first["card"]["text"].is_string());
    until("the question", async || model.questions() == 1).await;
    let likely = screened(&api, "I want to kill myself tonight, I have the pills here", "t").await;
    assert_eq!((&likely["concern"], &likely["context"]), (&json!("likely"), &json!("crisis")));
    assert_eq!(model.questions(), 1);
}
