//! What happened while the model judge thought counts: its verdict is older.

use std::time::Duration;

use serde_json::json;
use tokio::sync::Semaphore;

use super::judge::{careful, message, trusted};
use super::*;
use crate::gate::Quarantine;
use crate::judge::scripted_model_tests::{ScriptedModel, ScriptedReply};
use crate::test_daemon::ApiSide;

/// The sample of people is 1 %: this many calls in a row are all of the sample in one run of 10^8.
const TRIES: usize = 4;
/// Far longer than any test.
const PATIENT: &str = "deadline_seconds = 30\n";

/// Asks about a message, does `meanwhile` while the model thinks, then lets it allow the call.
async fn while_it_thinks(
    (daemon, model): (&TestDaemon, &ScriptedModel),
    (number, session): (usize, &str),
    meanwhile: impl AsyncFnOnce(),
) -> Result<GateAnswer, Rejection> {
    let turn = Arc::new(Semaphore::new(0));
    let waiting = Arc::clone(&turn);
    model.follow(move |_| ScriptedReply::Later(Arc::clone(&waiting), "allow", "none"));
    let asked = model.questions();
    let (gate, text) = (Arc::clone(&daemon.gate), message(number, session));
    let submitted = tokio::spawn(async move { submit(&gate, text).await });
    until("the question", async || model.questions() > asked).await;
    meanwhile().await;
    turn.add_permits(1_000);
    let answer = tokio::time::timeout(Duration::from_mins(1), submitted).await;
    model.follow(careful);
    answer.unwrap().unwrap()
}

async fn patient() -> (ScriptedModel, TestDaemon, super::judge::Background) {
    let model = ScriptedModel::start(careful).await;
    let (daemon, running) = Box::pin(trusted(&model, PATIENT)).await;
    (model, daemon, running)
}

fn request(answer: Result<GateAnswer, Rejection>) -> StoredRequest {
    match answer.unwrap() {
        GateAnswer::Kept(stored) => *stored,
        GateAnswer::Passed(passed) => panic!("passed: {:?}", passed.why),
    }
}

#[tokio::test]
async fn signs_while_the_judge_thinks_keep_its_verdict_from_releasing() {
    let (model, daemon, _running) = Box::pin(patient()).await;
    // It does release when nothing happens meanwhile.
    let mut released = 0;
    for number in 0..TRIES {
        let answer = while_it_thinks((&daemon, &model), (number, "calm"), async || {}).await;
        released += usize::from(request(answer).request.state == State::Approved);
    }
    assert!(released > 0, "a trusted judge releases");
    let agent = daemon.agent("claude", 3_600_000).await;
    for number in 0..TRIES {
        let session = format!("s{number}");
        let answer = while_it_thinks((&daemon, &model), (700 + number, &session), async || {
            let text = "I want to kill myself tonight, I have the pills here";
            let body = json!({ "text": text, "session": session });
            let shown = daemon.by(&agent, ApiSide::Agents, "POST /v1/screen", Some(body)).await;
            assert_eq!(shown.body["context"], "crisis", "{}", shown.body);
        })
        .await;
        let stored = request(answer);
        let request = &stored.request;
        assert_eq!((request.state, request.crisis), (State::Pending, true), "{number}");
        // It has the terms of a crisis: nothing of its text is kept afterwards.
        decide_in_crisis(&daemon, &stored).await;
        let after = daemon.gate.store().request(request.id).await.unwrap().unwrap();
        assert!(!after.card.contains("hi 70"), "{}", after.card);
    }
    assert_eq!(daemon.count("judge_release").await, released);
    // The model's exchange has the text as well.
    let folder = daemon.state().join("judge");
    for file in std::fs::read_dir(folder).into_iter().flatten() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap_or_default();
        assert!(!text.contains("hi 70"), "{text}");
    }
}

async fn decide_in_crisis(daemon: &TestDaemon, stored: &StoredRequest) {
    let event = answer(stored, "owner", Choice::Deny, "I call them");
    daemon.gate.decide(stored.request.id, event, daemon.note()).await.unwrap();
}

#[tokio::test]
async fn a_takeover_while_the_judge_thinks_refuses_the_call() {
    let (model, daemon, _running) = Box::pin(patient()).await;
    let answer = while_it_thinks((&daemon, &model), (1, "s9"), async || {
        let crisis = CrisisSession {
            agent: "claude".to_owned(),
            session: "s9".to_owned(),
            level: 3,
            imminent: false,
            since: daemon.now(),
        };
        daemon.gate.crises().begin(crisis);
        assert!(daemon.gate.take_over("claude", "s9", "owner", daemon.note()).await.unwrap());
    })
    .await;
    assert!(matches!(answer, Err(Rejection::TakenOver)), "{answer:?}");
    assert_eq!(daemon.count("judge_release").await, 0);
}

#[tokio::test]
async fn other_rules_or_a_quarantine_while_the_judge_thinks_leave_the_call_to_people() {
    let (model, daemon, _running) = Box::pin(patient()).await;
    for number in 0..TRIES {
        let answer = while_it_thinks((&daemon, &model), (number, "s1"), async || {
            let mut rules = (*daemon.gate.rules()).clone();
            rules.permit_for = countersign_types::time::Millis(rules.permit_for.0 + 1);
            rules.set_mode(rules.mode);
            daemon.gate.change_rules(rules).await.unwrap();
        })
        .await;
        assert_eq!(request(answer).request.state, State::Pending, "other rules");
    }
    for number in 0..TRIES {
        let answer = while_it_thinks((&daemon, &model), (50 + number, "s1"), async || {
            let until = daemon.now().plus(countersign_types::time::Millis(60_000));
            let quarantine = Quarantine { agent: "claude".to_owned(), until };
            daemon.gate.flood.restore_quarantine(quarantine);
        })
        .await;
        assert_eq!(request(answer).request.state, State::Pending, "a quarantine");
        daemon.gate.flood.lift_quarantine("claude", daemon.now());
    }
    assert_eq!(daemon.count("judge_release").await, 0);
}
