//! Slack, by a stand-in of its documented Web API and requests that are signed as Slack signs them.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit as _, Mac as _};
use proof_skip::{Cause, skip};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::fake_platform::{Asked, Caller, FakePlatform, Fault, Platform};
use crate::fake_platform::{
    ask, asked, code, hex, installation, median, now, problem, secret, state, until,
    wait_for_next_second,
};
use crate::fixture::{Fixture, Rng, alone, report_figures, risky, shared, size, within};
use crate::tools::{tools, verified};

const TOKEN: &str = "xoxb-slack-stand-in";
const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
const CHANNEL: &str = "C0123456789";
const TEAM: &str = "T0001";
pub const ANA: &str = "U0077";
const STRANGER: &str = "U0078";
const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";

/// What Slack knows.
#[derive(Default)]
pub struct Slack {
    pub messages: Vec<Value>,
    pub arrived: HashMap<String, Instant>,
    /// What only one person sees.
    pub whispers: Vec<Value>,
    next: u64,
}

impl Slack {
    /// The message about a request.
    pub fn about(&self, request: &str) -> Option<Value> {
        let own = |message: &&Value| message["first"].as_str().unwrap().contains(request);
        self.messages.iter().find(own).cloned()
    }

    /// What the documentation says is refused.
    fn problem(body: &Value) -> Option<&'static str> {
        for block in body["blocks"].as_array()? {
            let kind = block["type"].as_str().unwrap_or_default();
            let text = &block["text"];
            let length = text["text"].as_str().map_or(0, |text| text.chars().count());
            let fits = match kind {
                "section" => (1..=3_000).contains(&length),
                "header" => (1..=150).contains(&length) && text["type"] == "plain_text",
                "context" => block["elements"].as_array().is_some_and(|all| !all.is_empty()),
                "actions" => block["elements"].as_array().unwrap().iter().all(|button| {
                    let size = |name: &str| button[name].as_str().unwrap_or_default().len();
                    (1..=255).contains(&size("action_id"))
                        && (1..=2_000).contains(&size("value"))
                        && matches!(button["style"].as_str(), Some("primary" | "danger"))
                }),
                _ => false,
            };
            if !fits {
                return Some("invalid_blocks");
            }
        }
        None
    }
}

impl Platform for Slack {
    fn is_request(asked: &Asked) -> bool {
        let blocks = asked.body["blocks"].as_array();
        let has_buttons = blocks.is_some_and(|all| all.iter().any(|one| one["type"] == "actions"));
        asked.path == "/chat.postMessage" && has_buttons
    }

    fn asked(&mut self, asked: &Asked) -> (u16, Value) {
        let refused = |word: &str| (200, json!({ "ok": false, "error": word }));
        if asked.authorization != format!("Bearer {TOKEN}") {
            return refused("invalid_auth");
        }
        let body = &asked.body;
        if body["channel"] != CHANNEL {
            return refused("channel_not_found");
        }
        if let Some(problem) = Slack::problem(body) {
            return refused(problem);
        }
        match asked.path.as_str() {
            "/chat.postMessage" => {
                self.next += 1;
                let ts = format!("1531420618.{:06}", self.next);
                self.arrived.insert(ts.clone(), asked.at);
                let message = json!({
                    "ts": ts, "text": body["text"], "blocks": body["blocks"],
                    "first": body["blocks"].to_string(),
                });
                self.messages.push(message);
                (200, json!({ "ok": true, "channel": CHANNEL, "ts": ts }))
            }
            "/chat.update" => {
                let known = self.messages.iter_mut().find(|message| message["ts"] == body["ts"]);
                let Some(message) = known else { return refused("message_not_found") };
                message["text"] = body["text"].clone();
                message["blocks"] = body["blocks"].clone();
                (200, json!({ "ok": true, "channel": CHANNEL, "ts": body["ts"] }))
            }
            "/chat.postEphemeral" => {
                self.whispers.push(body.clone());
                (200, json!({ "ok": true, "message_ts": "1.1" }))
            }
            _ => refused("unknown_method"),
        }
    }
}

/// The settings of a channel at this stand-in.
pub fn settings(folder: &Path, stand_in: &FakePlatform<Slack>) -> String {
    let token = secret(folder, "slack.token", TOKEN);
    let signing = secret(folder, "slack.secret", SECRET);
    format!(
        "kind = \"slack\"\ntoken_file = {token:?}\nchannel = \"{CHANNEL}\"\n\
         signing_secret_file = {signing:?}\nbase_url = \"http://{}\"\n",
        stand_in.address
    )
}

fn sign(secret: &str, seconds: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("v0:{seconds}:").as_bytes());
    mac.update(body);
    format!("v0={}", hex(&mac.finalize().into_bytes()))
}

fn post(caller: &mut Caller, kind: &str, body: &str) -> (u16, Value) {
    let seconds = now().to_string();
    let signature = sign(SECRET, &seconds, body.as_bytes());
    let headers = [
        ("content-type", kind),
        ("x-slack-request-timestamp", seconds.as_str()),
        ("x-slack-signature", signature.as_str()),
    ];
    caller.post(&headers, body.as_bytes())
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat()
}

/// A button that somebody presses; each number is another time.
fn pressed(number: u64, user: &str, value: &str) -> String {
    let name = if value.starts_with('a') { "approve" } else { "deny" };
    let payload = json!({
        "type": "block_actions", "team": { "id": TEAM },
        "user": { "id": user, "username": "who", "team_id": TEAM },
        "container": { "type": "message", "message_ts": "1.1", "channel_id": CHANNEL },
        "channel": { "id": CHANNEL }, "trigger_id": number.to_string(),
        "response_url": "http://127.0.0.1:9/evil",
        "actions": [{ "type": "button", "action_id": name, "value": value,
                      "action_ts": format!("{number}.0") }],
    });
    format!("payload={}", encoded(&payload.to_string()))
}

/// Somebody presses a button.
pub fn tap(caller: &mut Caller, number: u64, user: &str, value: &str) -> (u16, Value) {
    post(caller, FORM, &pressed(number, user, value))
}

fn typed(caller: &mut Caller, number: u64, user: &str, text: &str) -> String {
    let body = format!(
        "command=%2Fcountersign&team_id={TEAM}&user_id={user}&user_name=who&trigger_id={number}\
         &channel_id={CHANNEL}&text={}",
        encoded(text)
    );
    let (status, answer) = post(caller, FORM, &body);
    assert_eq!((status, &answer["response_type"]), (200, &json!("ephemeral")), "{answer}");
    answer["text"].as_str().unwrap().to_owned()
}

/// The last words to a person, after so many.
pub fn private_messages(slack: &FakePlatform<Slack>, user: &str, after: usize) -> String {
    slack.until("a reply", |slack| {
        let own = slack.whispers.iter().filter(|whisper| whisper["user"] == user);
        own.skip(after).last().map(|whisper| whisper["text"].as_str().unwrap().to_owned())
    })
}

/// What a button of a message carries.
pub fn button(message: &Value, name: &str) -> String {
    let blocks = message["blocks"].as_array().unwrap();
    let actions = blocks.iter().filter(|block| block["type"] == "actions");
    let mut buttons = actions.flat_map(|block| block["elements"].as_array().unwrap());
    let own = buttons.find(|button| button["action_id"] == name);
    own.unwrap_or_else(|| panic!("no {name}: {message}"))["value"].as_str().unwrap().to_owned()
}

/// Whether a message says how it ended, and has no buttons.
pub fn ended(message: &Value, words: &str) -> bool {
    let blocks = message["blocks"].as_array().unwrap();
    let agent_client = blocks.iter().any(|block| block["type"] == "actions");
    !agent_client && message["text"].as_str().unwrap().contains(words)
}

/// Links ana's account to the owner.
pub fn link(fixture: &Fixture, caller: &mut Caller) {
    let said = typed(caller, 1, ANA, &format!("link {}", code(fixture, "slack")));
    assert!(said.starts_with("Linked"), "{said}");
}

fn hooked(folder: &Path) -> (FakePlatform<Slack>, Fixture, Caller) {
    let slack = FakePlatform::start(Slack::default());
    let fixture = installation(folder, &[("slack", settings(folder, &slack))]);
    let mut caller = Caller::new(fixture.gate.people, "slack");
    link(&fixture, &mut caller);
    slack.until("the message about the link", |slack| slack.messages.first().map(drop));
    (slack, fixture, caller)
}

#[test]
fn a_tap_decides_once_and_the_message_says_so() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let (slack, fixture, mut caller) = hooked(folder.path());
    let there = post(&mut caller, JSON, r#"{"type":"url_verification","challenge":"3eZ"}"#);
    assert_eq!(there, (200, json!({ "challenge": "3eZ" })));
    let id = asked(&fixture, &risky(1), &["slack"]);
    let message = slack.until("a message", |slack| slack.about(&id));
    assert!(message.to_string().contains("The report number 1."), "{message}");
    let yes = button(&message, "approve");
    assert_eq!(tap(&mut caller, 10, STRANGER, &yes).0, 200);
    assert!(private_messages(&slack, STRANGER, 0).contains("not linked to a person"));
    assert_eq!(state(&fixture, &id), "pending");
    assert_eq!(tap(&mut caller, 11, ANA, &yes).0, 200);
    assert!(private_messages(&slack, ANA, 0).starts_with("Approved"));
    assert_eq!(state(&fixture, &id), "approved");
    // The same tap delivered twice, and another one after the decision.
    assert_eq!(tap(&mut caller, 11, ANA, &yes).0, 200);
    assert_eq!(tap(&mut caller, 12, ANA, &button(&message, "deny")).0, 200);
    assert!(private_messages(&slack, ANA, 1).contains("already approved"));
    assert_eq!(state(&fixture, &id), "approved");
    slack.until("an end in the message", |slack| {
        ended(&slack.about(&id)?, "approved by owner through slack").then_some(())
    });
    // In words, by the command and by a message that names us; the latter comes twice.
    let id = asked(&fixture, &risky(2), &["slack"]);
    slack.until("a message", |slack| slack.about(&id));
    let said = typed(&mut caller, 13, ANA, &format!("deny {id} not today"));
    assert!(said.starts_with("Denied"), "{said}");
    assert_eq!(state(&fixture, &id), "denied");
    let id = asked(&fixture, &risky(3), &["slack"]);
    slack.until("a message", |slack| slack.about(&id));
    let mention = json!({
        "type": "event_callback", "team_id": TEAM, "event_id": "Ev1",
        "event": { "type": "app_mention", "user": ANA, "text": format!("<@U9> approve {id}"),
                   "ts": "1531420619.1", "channel": CHANNEL },
    });
    for _ in 0..2 {
        assert_eq!(post(&mut caller, JSON, &mention.to_string()).0, 200);
    }
    assert!(private_messages(&slack, ANA, 2).starts_with("Approved"));
    assert_eq!(state(&fixture, &id), "approved");
    // What was heard is answered in order: after the answer to a later tap, none is missing.
    assert_eq!(tap(&mut caller, 14, ANA, &button(&message, "deny")).0, 200);
    assert!(private_messages(&slack, ANA, 3).contains("already approved"));
    let whispers = slack.platform.lock().unwrap().whispers.len();
    assert_eq!(whispers, 5, "something was heard twice");
}

#[test]
fn a_message_arrives_whatever_befalls_it() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let (slack, fixture, mut caller) = hooked(folder.path());
    slack.misbehave([
        Fault::Says(429, "retry-after: 2\r\n", json!({ "ok": false, "error": "ratelimited" })),
        Fault::Says(200, "", json!({ "ok": false, "error": "internal_error" })),
        Fault::Says(503, "", Value::Null),
        Fault::Silence(Duration::from_secs(3)),
    ]);
    let start = Instant::now();
    let id = ask(&fixture, &within(risky(1), 120.0));
    until("four faults", || slack.behaves().then_some(()));
    let message = slack.until("a message", |slack| slack.about(&id));
    assert!(start.elapsed() >= Duration::from_secs(2), "retry-after was not kept");
    assert_eq!(tap(&mut caller, 10, ANA, &button(&message, "deny")).0, 200);
    // A successful update clears the channel's problem: it must not follow the next fault.
    slack.until("an end in the message", |slack| {
        ended(&slack.about(&id)?, "denied by owner through slack").then_some(())
    });
    for (word, says) in [("invalid_auth", "token"), ("channel_not_found", "channel")] {
        slack.misbehave([Fault::Says(200, "", json!({ "ok": false, "error": word }))]);
        let id = ask(&fixture, &risky(word.len()));
        until("a failure", || problem(&fixture, "slack").filter(|text| text.contains(says)));
        assert_eq!(state(&fixture, &id), "pending");
        assert!(slack.platform.lock().unwrap().about(&id).is_none());
        let next = ask(&fixture, &risky(1_000 + word.len()));
        slack.until("a message", |slack| slack.about(&next));
    }
}

/// One way to forge a request from a good one.
fn forge(rng: &mut Rng, seconds: &mut String, signature: &mut String, body: &mut Vec<u8>) {
    match rng.below(8) {
        0 => *signature = sign("another secret", seconds, body),
        1 => {
            let at = usize::try_from(rng.below(body.len() as u64)).unwrap();
            body[at] ^= 1 << rng.below(7);
        }
        2 => {
            let at = 3 + usize::try_from(rng.below(64)).unwrap();
            let other = if signature.as_bytes()[at] == b'0' { "1" } else { "0" };
            signature.replace_range(at..=at, other);
        }
        3 => *seconds = (now() - 1 - rng.below(200)).to_string(),
        4 => {
            // Slack's own, of long ago.
            *seconds = (now() - 302 - rng.below(100_000)).to_string();
            *signature = sign(SECRET, seconds, body);
        }
        5 => body.push(b'&'),
        6 => signature.truncate(usize::try_from(rng.below(67)).unwrap()),
        _ => *signature = format!("v1={}", signature.trim_start_matches("v0=")),
    }
}

#[test]
fn no_forged_or_replayed_callback_is_accepted() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let (slack, fixture, mut caller) = hooked(folder.path());
    let before = asked(&fixture, &risky(7), &["slack"]);
    let message = slack.until("a message", |slack| slack.about(&before));
    let replay = pressed(50, ANA, &button(&message, "approve"));
    assert_eq!(post(&mut caller, FORM, &replay).0, 200);
    assert_eq!(state(&fixture, &before), "approved");
    // The same call is asked about again: a new request, which nobody answers.
    let id = asked(&fixture, &risky(7), &["slack"]);
    assert_ne!(before, id);
    let message = slack.until("a message", |slack| slack.about(&id));
    let yes = button(&message, "approve");
    let (mut rng, many) = (Rng(0x00c0_ffee), size(1_000, 10_000));
    let (mut refused, mut unchanged) = (0, 0);
    for number in 0..many {
        if rng.below(10) == 0 {
            assert_eq!(post(&mut caller, FORM, &replay).0, 200);
            unchanged += 1;
            continue;
        }
        let mut body = pressed(100 + number as u64, ANA, &yes).into_bytes();
        let mut seconds = now().to_string();
        let mut signature = sign(SECRET, &seconds, &body);
        forge(&mut rng, &mut seconds, &mut signature, &mut body);
        let mut headers = vec![("content-type", FORM)];
        if rng.below(20) > 0 {
            headers.push(("x-slack-request-timestamp", &seconds));
        }
        if rng.below(20) > 0 {
            headers.push(("x-slack-signature", &signature));
        }
        let (status, answer) = caller.post(&headers, &body);
        assert_eq!(status, 401, "{seconds} {signature} {answer}");
        refused += 1;
    }
    assert_eq!(state(&fixture, &id), "pending");
    report_figures(&format!(
        "slack: {many} forged or replayed callbacks, {refused} refused, {unchanged} heard before, \
         0 accepted"
    ));
    assert_eq!(tap(&mut caller, 99, ANA, &yes).0, 200);
    assert_eq!(state(&fixture, &id), "approved");
}

#[test]
fn after_a_crash_a_tap_still_decides_and_nothing_of_before_is_heard_again() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let (slack, fixture, mut caller) = hooked(folder.path());
    let before = asked(&fixture, &risky(1), &["slack"]);
    let message = slack.until("a message", |slack| slack.about(&before));
    // The two words are the call's: asked again, it has the same.
    let text = message["text"].as_str().unwrap();
    let words = text.split(". Decide").next().unwrap().rsplit(' ').next().unwrap();
    let yes = format!(
        "command=%2Fcountersign&team_id={TEAM}&user_id={ANA}&trigger_id=5&text=approve+{words}"
    );
    let seconds = now().to_string();
    let signature = sign(SECRET, &seconds, yes.as_bytes());
    let kept = [
        ("content-type", FORM),
        ("x-slack-request-timestamp", seconds.as_str()),
        ("x-slack-signature", signature.as_str()),
    ];
    let (status, answer) = caller.post(&kept, yes.as_bytes());
    assert!(status == 200 && answer["text"].as_str().unwrap().starts_with("Approved"), "{answer}");
    let again = asked(&fixture, &risky(1), &["slack"]);
    let message = slack.until("a message", |slack| slack.about(&again));
    fixture.gate.kill().unwrap();
    let gate = fixture.installation.start().unwrap();
    let fixture = Fixture { gate, ..fixture };
    let mut caller = Caller::new(fixture.gate.people, "slack");
    assert_eq!(caller.post(&kept, yes.as_bytes()).0, 401, "what was heard before was heard again");
    wait_for_next_second();
    assert_eq!(caller.post(&kept, yes.as_bytes()).0, 401, "what was heard before was heard again");
    assert_eq!(state(&fixture, &again), "pending");
    assert_eq!(tap(&mut caller, 6, ANA, &button(&message, "deny")).0, 200);
    assert_eq!(state(&fixture, &again), "denied");
    slack.until("an end in the message", |slack| {
        ended(&slack.about(&again)?, "denied by owner through slack").then_some(())
    });
}

#[test]
fn a_message_is_there_at_once() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (slack, fixture, _caller) = hooked(folder.path());
    let mut client = fixture.agent_client();
    let times = (0..100).map(|number| {
        let start = Instant::now();
        let asked = client.post("/v1/requests", &risky(number)).unwrap();
        let id = asked.text("id").to_owned();
        let arrived = slack.until("a message", |slack| {
            slack.arrived.get(slack.about(&id)?["ts"].as_str()?).copied()
        });
        arrived - start
    });
    let middle = median(times.collect());
    report_figures(&format!("slack: request to message, median of 100: {middle:.1?}"));
}

#[test]
fn what_slacks_own_library_accepts_we_accept_and_nothing_else() {
    let python = tools().join("people-venv/bin/python");
    if !python.is_file() {
        return skip(Cause::Tool, "slack_sdk is not installed");
    }
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let (_slack, fixture, mut caller) = hooked(folder.path());
    let (mut rng, many) = (Rng(0x51ac), size(400, 10_000));
    let (mut cases, mut ours) = (Vec::new(), Vec::new());
    for number in 0..many {
        let text = encoded("Zoë 🦊 \" & <b>");
        let body =
            format!("command=x&team_id=T1&user_id=U{number}&trigger_id={number}&text={text}");
        let mut body = body.into_bytes();
        let mut seconds = now().to_string();
        let mut signature = sign(SECRET, &seconds, &body);
        match rng.below(6) {
            0..3 => {}
            3 => signature = signature.to_uppercase().replacen('V', "v", 1),
            _ => forge(&mut rng, &mut seconds, &mut signature, &mut body),
        }
        let Ok(text) = String::from_utf8(body.clone()) else { continue };
        cases.push(json!({
            "body": text, "signature": signature, "timestamp": seconds, "secret": SECRET,
            "now": now(),
        }));
        let headers = [
            ("content-type", FORM),
            ("x-slack-request-timestamp", seconds.as_str()),
            ("x-slack-signature", signature.as_str()),
        ];
        ours.push(caller.post(&headers, &body).0 == 200);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/people/slack_verifier.py");
    let theirs = verified(Command::new(python).arg(script), &cases);
    assert_eq!(theirs.len(), ours.len());
    for ((theirs, ours), case) in theirs.iter().zip(&ours).zip(&cases) {
        assert_eq!(theirs, ours, "{case}");
    }
    let (all, good) = (ours.len(), ours.iter().filter(|accepted| **accepted).count());
    assert!(good > all / 4 && good < all, "{good}");
    report_figures(&format!("slack_sdk: {all} requests verified alike, {good} of them good"));
    assert!(fixture.gate.stop().unwrap());
}
