//! What people see of the judge's opinion, and where its verdicts come from.

use countersign_types::tier::Tier;
use serde_json::{Value, json};

use super::judge::{Background, background, careful, message, trusted};
use super::*;
use crate::judge::scripted_model_tests::{ScriptedModel, ScriptedReply};
use crate::test_daemon::ApiSide;

/// No MEDIUM call is below its platform's threshold, and no agent asks too much.
const ABOVE: &str = "[assessment]\napi_threshold = 0.5\ntelegram_threshold = 0.5\n\
                     discord_threshold = 0.5\ncli_threshold = 0.5\n";
const FLOOD: &str = "[flood]\nopen_per_agent = 1000\nasks_per_minute = 1000\n\
                     asks_per_hour = 1000\n";

/// What a scripted judge replies.
type JudgeScript = fn(&str) -> ScriptedReply;

/// A call of a tier; each number is another call.
fn call(tier: Tier, number: usize) -> &'static str {
    let text = match tier {
        Tier::High => format!(r#"{{"command":"rm -rf /tmp/build{number}","session":"s1"}}"#),
        Tier::Critical => {
            let disk = ["sda", "sdb", "sdc", "sdd"][number];
            format!(r#"{{"command":"dd if=/dev/zero of=/dev/{disk}","session":"s1"}}"#)
        }
        _ => return message(number, "s1"),
    };
    Box::leak(text.into_boxed_str())
}

async fn with_judge(model: &ScriptedModel, mode: &str, more: &str) -> (TestDaemon, Background) {
    let daemon = TestDaemon::with("", &format!("{FLOOD}{more}{}", model.section(mode, ""))).await;
    let running = background(&daemon);
    (daemon, running)
}

/// A request on which the judge has given its opinion.
async fn with_opinion(daemon: &TestDaemon, text: &'static str) -> StoredRequest {
    let before = daemon.count("judge_opinion").await;
    let stored = kept(&daemon.gate, text).await;
    assert_eq!(stored.request.state, State::Pending, "{text}");
    until("the opinion", async || daemon.count("judge_opinion").await > before).await;
    stored
}

/// The request as people read it.
async fn shown(daemon: &TestDaemon, owner: &str, stored: &StoredRequest) -> Value {
    let line = format!("GET /v1/requests/{}", stored.request.id);
    let reply = daemon.by(owner, ApiSide::People, &line, None).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body
}

/// {tier} × {verdict}: the table of what people see of a call that the judge does not decide.
#[tokio::test(flavor = "multi_thread")]
async fn people_see_the_opinion_on_a_call_that_the_judge_does_not_decide() {
    let model = ScriptedModel::start(careful).await;
    let (daemon, _running) = with_judge(&model, "shadow", ABOVE).await;
    let owner = daemon.owner().await;
    let against = Some("scripted advises against this call: data could be sent to others");
    let scripts: [(JudgeScript, [Option<&str>; 3]); 4] = [
        (
            |_| ScriptedReply::Verdict("allow", "none"),
            [None, Some("scripted would allow this call; you decide"), None],
        ),
        (|_| ScriptedReply::Verdict("deny", "sends_data"), [against, against, against]),
        (|_| ScriptedReply::Verdict("escalate", "unclear"), [None, None, None]),
        (|_| ScriptedReply::Status(503), [None, None, None]),
    ];
    for (number, (script, wanted)) in scripts.into_iter().enumerate() {
        model.follow(script);
        for (tier, wanted) in [Tier::Medium, Tier::High, Tier::Critical].into_iter().zip(wanted) {
            let stored = with_opinion(&daemon, call(tier, number)).await;
            assert_eq!(stored.request.tier, tier, "{}", stored.brief);
            let document = shown(&daemon, &owner, &stored).await;
            let text = document["judge"]["text"].as_str();
            assert_eq!(text, wanted, "{tier:?}, script {number}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_never_sees_an_opinion_and_a_restart_keeps_it_for_people() {
    let model = ScriptedModel::start(|_| ScriptedReply::Verdict("deny", "loses_work")).await;
    let (daemon, running) = with_judge(&model, "shadow", "").await;
    let agent = daemon.agent("coder", 3_600_000).await;
    let body = json!({ "command": "rm -rf /tmp/build" });
    let asked = daemon.by(&agent, ApiSide::Agents, "POST /v1/requests", Some(body)).await;
    until("the opinion", async || daemon.count("judge_opinion").await == 1).await;
    let id = asked.body["id"].as_str().unwrap().to_owned();
    let line = format!("GET /v1/requests/{id}");
    let own = daemon.by(&agent, ApiSide::Agents, &line, None).await;
    assert!(!own.body.to_string().contains("advises"), "{}", own.body);
    let owner = daemon.owner().await;
    let seen = daemon.by(&owner, ApiSide::People, &line, None).await;
    assert_eq!(seen.body["judge"]["verdict"], "deny", "{}", seen.body);
    drop(running);
    let daemon = daemon.restart(&model.section("shadow", ""), |_| {}).await;
    let _running = background(&daemon);
    let judge = daemon.gate.judge().current().unwrap();
    until("the restored opinions", async || judge.is_restored()).await;
    let stored = daemon.gate.store().request(Id::parse(&id).unwrap()).await.unwrap().unwrap();
    until("the opinion on the card", async || daemon.gate.judge().shown(&stored).is_some()).await;
}

/// A person who decides must not be influenced by an opinion that is compared with the decision.
#[tokio::test(flavor = "multi_thread")]
async fn a_compared_opinion_is_not_shown_before_the_decision() {
    let model = ScriptedModel::start(|_| ScriptedReply::Verdict("deny", "sends_data")).await;
    for mode in ["shadow", "release"] {
        let (daemon, _running) = with_judge(&model, mode, "").await;
        let owner = daemon.owner().await;
        let stored = with_opinion(&daemon, message(1, "s1")).await;
        assert_eq!(shown(&daemon, &owner, &stored).await["judge"], Value::Null, "{mode}");
        let line = format!("GET /v1/requests/{}/judge", stored.request.id);
        let explained = daemon.by(&owner, ApiSide::People, &line, None).await;
        assert_eq!(explained.status, 409, "{mode}: {}", explained.body);
        decide(&daemon, &stored, Choice::Deny).await.unwrap();
        let explained = daemon.by(&owner, ApiSide::People, &line, None).await;
        assert_eq!(explained.body["recorded"]["verdict"], "deny", "{mode}: {}", explained.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cached_release_names_the_request_that_the_verdict_came_from() {
    let model = ScriptedModel::start(careful).await;
    let (daemon, _running) = Box::pin(trusted(&model, "")).await;
    let owner = daemon.owner().await;
    let explain = async |stored: &StoredRequest| {
        let line = format!("GET /v1/requests/{}/judge", stored.request.id);
        daemon.by(&owner, ApiSide::People, &line, None).await.body
    };
    // One call in a hundred is a sample for people.
    for number in 0..20 {
        let first = kept(&daemon.gate, message(number, "s1")).await;
        let asked = model.questions();
        let second = kept(&daemon.gate, message(number, "s1")).await;
        let released = |stored: &StoredRequest| stored.request.state == State::Approved;
        if !released(&first) || !released(&second) {
            continue;
        }
        assert_eq!(model.questions(), asked, "the verdict is cached");
        let (first_told, told) = (explain(&first).await, explain(&second).await);
        assert_eq!(first_told["recorded"]["cached"], false, "{first_told}");
        assert_eq!(told["recorded"]["cached"], true, "{told}");
        assert_eq!(told["recorded"]["cached_from"], json!(first.request.id), "{told}");
        assert_eq!(told["exchange"], first_told["exchange"], "the prompt of the first request");
        assert_eq!(told["matches_ledger"], true, "{told}");
        return;
    }
    panic!("nothing was released twice");
}
