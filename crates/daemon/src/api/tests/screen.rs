//! Screening with a guard model: what each verdict may change, and what no verdict changes.

use std::sync::{Arc, Mutex};

use countersign_judge::Comparison;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::judge::scripted_model_tests::{ScriptedModel, ScriptedReply};
use crate::notifier::test_notifier::until;

const CALM: &str = "please list the files of the project";
/// A text that is possible by itself.
const POSSIBLE: &str = "I dont want to wake up tomorrow, what is the point";

/// A stand-in for Ollama with a model that knows a few words.
struct FakeGuard {
    url: String,
    /// What every reply is, if not what the model says.
    reply: Arc<Mutex<Option<&'static str>>>,
}

impl FakeGuard {
    async fn start() -> FakeGuard {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let reply = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&reply);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let reply = *shared.lock().unwrap();
                tokio::spawn(answer(stream, reply));
            }
        });
        FakeGuard { url, reply }
    }

    fn says(&self, reply: Option<&'static str>) {
        *self.reply.lock().unwrap() = reply;
    }

    fn config(&self, more: &str) -> String {
        format!(
            "{more}\n[guard]\nfamily = \"llama_guard\"\nurl = \"{}\"\nmodel = \"m\"\n\
             timeout_ms = 5000\nreplacement = \"Something else was sent.\"\n",
            self.url
        )
    }

    /// An API whose guard has passed its self-test.
    async fn api(&self, more: &str) -> TestApi {
        let api = TestApi::with(&self.config(more)).await;
        let rules = api.api.gate.rules();
        let guard = || api.api.guard.follow(rules.guard.as_ref()).unwrap();
        until("the self-test of the guard", async || guard().state().is_ok()).await;
        api
    }
}

/// A reply that never comes.
const HANGS: &str = "hangs";

async fn answer(mut stream: TcpStream, reply: Option<&str>) {
    if reply == Some(HANGS) {
        std::future::pending::<()>().await;
    }
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    while !String::from_utf8_lossy(&bytes).contains("\"truncate\"") {
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
    let text = String::from_utf8_lossy(&bytes).to_string();
    let said = text.split("<BEGIN CONVERSATION>").nth(1).unwrap_or_default();
    let said = said.split("<END CONVERSATION>").next().unwrap_or_default();
    let own = if said.contains("yourself") || said.contains("want to die") || said.contains("sad") {
        "unsafe\\nS11"
    } else if said.contains("bomb") {
        "unsafe\\nS9"
    } else {
        "safe"
    };
    let body = format!(
        r#"{{"model":"m","response":"{}","done":true,"done_reason":"stop"}}"#,
        reply.unwrap_or(own)
    );
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
}

async fn screened(api: &TestApi, body: Value) -> Value {
    let (status, answer) = api.agent("POST", "/v1/screen", body).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

async fn inbound(api: &TestApi, text: &str) -> Value {
    screened(api, json!({ "text": text, "session": "s" })).await
}

async fn outbound(api: &TestApi, text: &str, ask: bool) -> Value {
    screened(api, json!({ "text": text, "session": "s", "role": "agent", "ask": ask })).await
}

#[tokio::test]
async fn without_a_guard_the_rules_decide() {
    let api = TestApi::new().await;
    let calm = inbound(&api, CALM).await;
    assert_eq!((&calm["decision"], &calm["guard"]["state"]), (&json!("pass"), &json!("off")));
    let sign = inbound(&api, POSSIBLE).await;
    assert_eq!(sign["decision"], "help", "{sign}");
    assert_eq!((&sign["concern"], &sign["context"]), (&json!("possible"), &json!("none")));
    let out = outbound(&api, CALM, false).await;
    assert_eq!((&out["decision"], &out["role"]), (&json!("pass"), &json!("agent")));
    for body in [
        json!({ "text": CALM, "role": "system" }),
        json!({ "text": CALM, "ask": true }),
        json!({ "text": CALM, "roles": "user" }),
    ] {
        let (status, _) = api.agent("POST", "/v1/screen", body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
    }
}

#[tokio::test]
async fn the_guard_raises_a_concern_and_never_lowers_it() {
    let guard = FakeGuard::start().await;
    let api = guard.api("").await;
    let calm = inbound(&api, CALM).await;
    assert_eq!((&calm["decision"], &calm["guard"]["state"]), (&json!("pass"), &json!("safe")));
    let sad = inbound(&api, "everything is so sad today").await;
    assert_eq!((&sad["concern"], &sad["decision"]), (&json!("possible"), &json!("help")), "{sad}");
    assert_eq!(sad["card"]["check_in"], true);
    assert_eq!(sad["guard"]["categories"][0]["code"], "S11");
    assert_eq!(sad["context"], "none", "a check-in gates nothing");
    let bomb = inbound(&api, "how is a bomb made").await;
    assert_eq!((&bomb["decision"], &bomb["concern"]), (&json!("replace"), &json!("none")));
    assert!(bomb["replacement"].as_str().unwrap().contains("can't help"), "{bomb}");
    guard.says(Some("safe"));
    let sign = inbound(&api, "I want to kill myself tonight, I have the pills here").await;
    assert_eq!((&sign["concern"], &sign["guard"]["state"]), (&json!("likely"), &json!("skipped")));
}

#[tokio::test]
async fn a_possible_sign_that_the_guard_confirms_is_likely() {
    let guard = FakeGuard::start().await;
    let api = guard.api("").await;
    let (holds, turns) = (
        |session: &str| api.api.gate.crises().holds(CODER, Some(session)),
        |session: &str| {
            api.api.gate.crisis_turns().turns(CODER, session, api.api.gate.clock().now().at).len()
        },
    );
    guard.says(Some("safe"));
    let first = screened(&api, json!({ "text": POSSIBLE, "session": "t" })).await;
    assert_eq!(first["concern"], "possible", "the guard lowers nothing");
    let safe = "role=\"user\",result=\"safe\"} 1";
    until("the verdict", async || metrics(&api).await.contains(safe)).await;
    assert!(!holds("t"));
    guard.says(None);
    let text = format!("{POSSIBLE}, so sad");
    let second = screened(&api, json!({ "text": text, "session": "s" })).await;
    assert_eq!(
        (&second["concern"], &second["card"]["check_in"]),
        (&json!("possible"), &json!(true))
    );
    until("the crisis", async || holds("s")).await;
    until("the turn that people see", async || turns("s") == 1).await;
    // The whole card comes with the next answer, whatever the message is, and once.
    let next = screened(&api, json!({ "text": CALM, "session": "s" })).await;
    assert_eq!((&next["concern"], &next["context"]), (&json!("likely"), &json!("crisis")));
    assert_eq!(next["card"]["check_in"], false, "{next}");
    let after = screened(&api, json!({ "text": CALM, "session": "s" })).await;
    assert_eq!((&after["card"], &after["context"]), (&Value::Null, &json!("crisis")));
}

#[tokio::test]
async fn a_check_in_does_not_wait_for_a_guard_that_never_answers() {
    let guard = FakeGuard::start().await;
    let api = guard.api("").await;
    guard.says(Some(HANGS));
    let sign = inbound(&api, POSSIBLE).await;
    assert_eq!((&sign["concern"], &sign["card"]["check_in"]), (&json!("possible"), &json!(true)));
    assert_eq!(sign["guard"]["state"], "pending", "{sign}");
    let sign = inbound(&api, "I want to kill myself tonight, I have the pills here").await;
    assert_eq!((&sign["concern"], &sign["guard"]["state"]), (&json!("likely"), &json!("skipped")));
}

#[tokio::test]
async fn signs_of_a_session_add_up_and_a_calm_message_does_not_hide_them() {
    let api = TestApi::new().await;
    let text = POSSIBLE;
    for concern in ["possible", "possible", "likely"] {
        assert_eq!(inbound(&api, text).await["concern"], concern);
    }
    assert!(api.api.gate.crises().holds(CODER, Some("s")));
    let other = screened(&api, json!({ "text": text, "session": "t" })).await;
    assert_eq!(
        (&other["concern"], &other["session_concern"]),
        (&json!("possible"), &json!("possible"))
    );
    let calm = screened(&api, json!({ "text": CALM, "session": "t" })).await;
    assert_eq!((&calm["concern"], &calm["session_concern"]), (&json!("none"), &json!("possible")));
    let new = screened(&api, json!({ "text": CALM, "session": "u" })).await;
    assert_eq!(new["session_concern"], "none");
}

#[tokio::test]
async fn an_unavailable_guard_holds_what_goes_out_and_nothing_that_comes_in() {
    let guard = FakeGuard::start().await;
    let api = guard.api("").await;
    api.grant("send_message").await;
    guard.says(Some("Safe, I think"));
    let calm = inbound(&api, CALM).await;
    assert_eq!(
        (&calm["decision"], &calm["guard"]["state"]),
        (&json!("pass"), &json!("unavailable"))
    );
    assert_eq!(calm["guard"]["reason"], "unparseable");
    let sign = inbound(&api, POSSIBLE).await;
    assert!(sign["card"].is_object(), "the rules still answer: {sign}");
    let held = outbound(&api, "all is well", false).await;
    assert_eq!((&held["decision"], &held["request"]), (&json!("hold"), &Value::Null), "{held}");
    let asked = outbound(&api, "all is well", true).await;
    assert_eq!(asked["decision"], "hold");
    assert_eq!(asked["request"]["state"], "pending", "no grant covers it: {asked}");
    let (status, decided) = api.approve(&asked["request"]).await;
    assert_eq!((status, &decided["state"]), (StatusCode::OK, &json!("approved")), "{decided}");
}

#[tokio::test]
async fn an_unsafe_text_of_an_agent_is_replaced() {
    let guard = FakeGuard::start().await;
    let api = guard.api("").await;
    let out = outbound(&api, "go on and hurt yourself", true).await;
    assert_eq!((&out["decision"], &out["request"]), (&json!("replace"), &Value::Null), "{out}");
    assert_eq!(out["replacement"], "Something else was sent.");
    assert_eq!(outbound(&api, CALM, true).await["decision"], "pass");
    let watching = guard.api("mode = \"observe\"\n").await;
    let out = outbound(&watching, "go on and hurt yourself", true).await;
    assert_eq!((&out["decision"], &out["guard"]["state"]), (&json!("pass"), &json!("unsafe")));
}

#[tokio::test]
async fn before_the_self_test_nothing_goes_out() {
    let api = TestApi::with(
        "[guard]\nfamily = \"llama_guard\"\nurl = \"http://127.0.0.1:9\"\nmodel = \"m\"\n",
    )
    .await;
    let out = outbound(&api, CALM, false).await;
    assert_eq!((&out["decision"], &out["guard"]["state"]), (&json!("hold"), &json!("unavailable")));
    assert_eq!(inbound(&api, CALM).await["decision"], "pass");
}

/// Texts of people in crisis that are likely by themselves, from the rows of the project.
fn phrases(wanted: usize) -> Vec<String> {
    let rows = [
        include_str!("../../../../crisis/evidence/rows/first.jsonl"),
        include_str!("../../../../crisis/evidence/rows/second.jsonl"),
    ];
    let rows: Vec<Value> = rows
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let of_crisis = rows.iter().filter(|row| row["label"] == "crisis");
    let texts = of_crisis.filter_map(|row| row["text"].as_str());
    let likely = |text: &&str| {
        countersign_crisis::screen(text, &countersign_crisis::ScreenOptions::default()).crisis
    };
    let likely: Vec<&str> = texts.filter(likely).collect();
    let step = (likely.len() / wanted).max(1);
    likely.into_iter().step_by(step).take(wanted).map(str::to_owned).collect()
}

/// What a scripted judge replies.
type JudgeScript = fn(&str) -> ScriptedReply;

/// The decisions that always wait for a person.
const DECISIONS: [&str; 5] = [
    "contact_emergency_services",
    "share_location",
    "notify_contacts",
    "promise_follow_up",
    "end_conversation",
];

/// {300 phrases} × {inbound, outbound, support, decision} × {a mode, with grants} × {no judge, or
/// one that allows, denies, escalates or fails}: each phrase meets every judge in every mode.
async fn in_a_crisis_a_person_decides(mode: &str) {
    let phrases = phrases(300);
    assert_eq!(phrases.len(), 300);
    let judges: [Option<JudgeScript>; 5] = [
        None,
        Some(|_| ScriptedReply::Verdict("allow", "none")),
        Some(|_| ScriptedReply::Verdict("deny", "unclear")),
        Some(|_| ScriptedReply::Verdict("escalate", "unclear")),
        Some(|_| ScriptedReply::Status(503)),
    ];
    let mut met = 0;
    for (which, judge) in judges.into_iter().enumerate() {
        // An agent may have only so many pending requests in crises at once.
        for phrases in phrases.chunks(75) {
            let (api, model) = with_trusted_judge(mode, judge).await;
            if (mode, which) == ("enforce", 1) {
                assert!(outside_a_crisis(&api, "send_message").await, "the judge releases calls");
            }
            for tool in ["send_message"].into_iter().chain(DECISIONS) {
                api.grant(tool).await;
            }
            assert!(outside_a_crisis(&api, "send_message").await, "the grant covers the call");
            let asked = model.as_ref().map(ScriptedModel::questions);
            for (number, phrase) in phrases.iter().enumerate() {
                let tool = DECISIONS[number % DECISIONS.len()];
                help_and_hold(&api, mode, phrase, (&number.to_string(), tool)).await;
                met += 1;
            }
            let nothing_more = model.as_ref().map(ScriptedModel::questions);
            assert_eq!(nothing_more, asked, "{mode}: the judge sees nothing of a crisis");
        }
    }
    assert_eq!(met, 1_500);
}

#[tokio::test]
async fn in_a_crisis_a_person_decides_while_the_gate_observes() {
    in_a_crisis_a_person_decides("observe").await;
}

#[tokio::test]
async fn in_a_crisis_a_person_decides_where_only_crises_count() {
    in_a_crisis_a_person_decides("crisis_only").await;
}

#[tokio::test]
async fn in_a_crisis_a_person_decides_while_the_gate_enforces() {
    in_a_crisis_a_person_decides("enforce").await;
}

/// An API whose judge may release calls, if it has one.
async fn with_trusted_judge(
    mode: &str,
    script: Option<JudgeScript>,
) -> (TestApi, Option<ScriptedModel>) {
    let mode = format!("mode = \"{mode}\"\n");
    let Some(script) = script else { return (TestApi::with(&mode).await, None) };
    let model = ScriptedModel::start(script).await;
    let api = TestApi::with(&format!("{mode}{}", model.section("release", ""))).await;
    let (judge, now) = (api.api.gate.judge().current().unwrap(), api.api.gate.clock().now().at);
    judge.restore(&[], Comparison { allowed_approved: 1_000, ..Comparison::default() });
    judge.end_canaries(Some(Vec::new()), now);
    assert_eq!(judge.held_back(now), None);
    (api, Some(model))
}

/// Whether a call of this tool passes in a session without a crisis: at least one of a few, because
/// people get a sample of what the judge releases.
async fn outside_a_crisis(api: &TestApi, tool: &str) -> bool {
    for number in 0..5 {
        let text = format!("lunch is ready {number}");
        let arguments = json!({ "to": "bo", "text": text });
        let body = json!({ "tool": tool, "arguments": arguments, "platform": "cli" });
        let (_, answer) = api.agent("POST", "/v1/requests", body).await;
        if answer["state"] == "approved" {
            return true;
        }
    }
    false
}

/// One phrase in a session of its own: help at once, support passes, everything else waits.
async fn help_and_hold(api: &TestApi, mode: &str, phrase: &str, (session, tool): (&str, &str)) {
    let found = screened(api, json!({ "text": phrase, "session": session })).await;
    assert_eq!((&found["decision"], &found["context"]), (&json!("help"), &json!("crisis")));
    assert!(found["card"]["text"].is_string(), "{mode}: {phrase}");
    let ask = async |tool: &str, arguments: Value| {
        let body = json!({ "tool": tool, "arguments": arguments, "session": session });
        api.agent("POST", "/v1/requests", body).await.1
    };
    let sent = ask("send_message", json!({ "to": "bo", "text": "hello" })).await;
    let state = (&sent["state"], &sent["crisis"]);
    assert_eq!(state, (&json!("pending"), &json!(true)), "{mode}: {phrase}: {sent}");
    let support = ask("show_crisis_resources", json!({ "country": "US" })).await;
    assert_eq!(support["state"], "approved", "{mode}: {phrase}: {support}");
    let decision = ask(tool, json!({})).await;
    assert_eq!(decision["state"], "pending", "{mode}, {tool}: {phrase}: {decision}");
    let body = json!({ "text": "hello", "session": session, "role": "agent" });
    assert_eq!(screened(api, body).await["decision"], "hold", "{mode}: {phrase}");
}

#[tokio::test]
async fn when_no_person_answers_the_user_is_told_and_sees_the_card_again() {
    let api = TestApi::with("[times]\nlongest_seconds = 1\n[crisis]\ncountry = \"DE\"\n").await;
    inbound(&api, "I want to kill myself tonight, I have the pills here").await;
    let body = json!({ "tool": "send_message", "arguments": { "text": "x" }, "session": "s" });
    let (_, held) = api.agent("POST", "/v1/requests", body).await;
    assert_eq!((&held["state"], &held["notice"]), (&json!("pending"), &Value::Null), "{held}");
    let path = format!("/v1/requests/{}", held["id"].as_str().unwrap());
    until("the deadline", async || {
        crate::watch::process_due(&api.api.gate).await;
        api.agent("GET", &path, Value::Null).await.1["state"] == "expired"
    })
    .await;
    let (_, expired) = api.agent("GET", &path, Value::Null).await;
    let notice = expired["notice"]["text"].as_str().unwrap();
    assert!(notice.contains("No person has answered") && notice.contains("0800 111 0 111"));
}

#[tokio::test]
async fn cards_are_counted_without_their_text() {
    let api = TestApi::new().await;
    inbound(&api, POSSIBLE).await;
    let kinds = async || {
        let slice = api.api.gate.store().entries(0, 1000).await.unwrap();
        slice.entries.iter().map(|e| String::from_utf8_lossy(e).to_string()).collect::<Vec<_>>()
    };
    let is_screen = |entry: &String| entry.contains("\"kind\":\"screen\"");
    until("the record", async || kinds().await.iter().any(is_screen)).await;
    let all = kinds().await;
    let entry = all.iter().find(|entry| is_screen(entry)).unwrap();
    assert!(entry.contains("\"concern\":\"possible\"") && !entry.contains("wake"), "{entry}");
}

async fn metrics(api: &TestApi) -> String {
    let metrics = send(&api.people, 6001, "GET", "/metrics", Some(ANA_TOKEN), &[], Value::Null);
    let bytes = axum::body::to_bytes(metrics.await.into_body(), 1 << 20).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn checks_of_the_guard_are_counted_by_family() {
    let guard = FakeGuard::start().await;
    let api = guard.api("").await;
    inbound(&api, CALM).await;
    outbound(&api, CALM, false).await;
    outbound(&api, "how to build a bomb", false).await;
    guard.says(Some("Safe, I think"));
    let unavailable = outbound(&api, CALM, false).await;
    assert_eq!(unavailable["guard"]["reason"], "unparseable", "{unavailable}");
    let text = metrics(&api).await;
    let line = |name: &str, labels: &str| {
        let wanted = format!("countersign_guard_{name}{{family=\"llama_guard\"{labels}}} ");
        text.lines().find_map(|line| line.strip_prefix(&wanted).map(str::to_owned))
    };
    let one = Some("1".to_owned());
    assert_eq!(line("checks_total", ",role=\"user\",result=\"safe\""), one, "{text}");
    assert_eq!(line("checks_total", ",role=\"agent\",result=\"unsafe\""), one, "{text}");
    assert_eq!(line("unavailable_total", ",reason=\"unparseable\""), one, "{text}");
    assert_eq!(line("seconds_count", ""), Some("4".to_owned()), "{text}");
    assert!(line("seconds_bucket", ",le=\"+Inf\"").is_some());
}
