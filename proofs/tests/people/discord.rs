//! Discord, by a stand-in of its documented interface (API version 10) and interactions that are
//! signed as Discord signs them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

use crate::fake_platform::{Asked, Caller, FakePlatform, Fault, Platform};
use crate::fake_platform::{
    ask, asked, code, hex, installation, median, now, problem, secret, state, until,
};
use crate::fixture::{Fixture, Rng, alone, report_figures, risky, shared, size, within};

const TOKEN: &str = "MTIz.discord.stand-in";
const CHANNEL: &str = "1300000000000000001";
const BOT: &str = "1300000000000000009";
pub const ANA: &str = "77";
const STRANGER: &str = "78";

/// What Discord knows.
#[derive(Default)]
pub struct Discord {
    pub messages: Vec<Value>,
    pub arrived: HashMap<String, Instant>,
    reactions: HashMap<(String, String), Vec<Value>>,
    commands: Vec<Value>,
    /// How often the messages were read.
    reads: usize,
    next: u64,
}

impl Discord {
    /// The message about a request.
    pub fn about(&self, request: &str) -> Option<Value> {
        let own = |message: &&Value| {
            let text = message["first"].as_str().unwrap_or_default();
            text.contains(request)
        };
        self.messages.iter().find(own).cloned()
    }

    fn keep(&mut self, author: &Value, body: &Value) -> Value {
        self.next += 1;
        let message = json!({
            "id": (1_400_000_000_000_000_000 + self.next).to_string(),
            "author": author, "content": body["content"], "first": body["content"],
            "components": body["components"], "nonce": body["nonce"],
            "reply_to": body.pointer("/message_reference/message_id"),
        });
        self.messages.push(message.clone());
        message
    }

    /// Somebody writes into the channel.
    fn says(&mut self, user: &str, text: &str) {
        let author = json!({ "id": user, "username": user });
        self.keep(&author, &json!({ "content": text }));
    }

    fn reacts(&mut self, message: &str, emoji: &str, user: &Value) {
        let key = (message.to_owned(), emoji.to_owned());
        self.reactions.entry(key).or_default().push(user.clone());
    }

    /// What the documentation says is refused.
    fn problem(body: &Value) -> Option<&'static str> {
        let text = body["content"].as_str().unwrap_or_default();
        if text.is_empty() || text.chars().count() > 2_000 {
            return Some("content");
        }
        if body["nonce"].as_str().is_some_and(|nonce| nonce.len() > 25) {
            return Some("nonce");
        }
        if body["allowed_mentions"]["parse"] != json!([]) {
            return Some("somebody would be pinged");
        }
        let rows = body["components"].as_array().cloned().unwrap_or_default();
        let bad = |button: &Value| {
            let id = button["custom_id"].as_str().unwrap_or_default();
            id.is_empty() || id.len() > 100 || button["label"].as_str().unwrap().len() > 80
        };
        let buttons = rows.iter().flat_map(|row| row["components"].as_array().unwrap());
        let mut buttons = buttons.peekable();
        if !rows.is_empty() && buttons.peek().is_none() {
            return Some("an empty row");
        }
        buttons.any(bad).then_some("components")
    }

    fn page(&self) -> Value {
        let shown = |message: &Value| {
            let mut message = message.clone();
            let id = message["id"].as_str().unwrap().to_owned();
            let all = self.reactions.iter().filter(|((about, _), _)| *about == id);
            let all = all.map(|((_, emoji), users)| {
                json!({ "emoji": { "id": null, "name": emoji }, "count": users.len() })
            });
            message["reactions"] = all.collect();
            message
        };
        self.messages.iter().rev().take(100).map(shown).collect()
    }
}

impl Platform for Discord {
    fn is_request(asked: &Asked) -> bool {
        let has_buttons = asked.body["components"].as_array().is_some_and(|all| !all.is_empty());
        asked.method == "POST" && asked.path.ends_with("/messages") && has_buttons
    }

    fn asked(&mut self, asked: &Asked) -> (u16, Value) {
        if asked.authorization != format!("Bot {TOKEN}") {
            return (401, json!({ "message": "401: Unauthorized", "code": 0 }));
        }
        let path = asked.path.split('?').next().unwrap();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match (asked.method.as_str(), parts.as_slice()) {
            ("GET", ["users", "@me"]) => (200, json!({ "id": BOT, "bot": true })),
            ("GET", ["applications", "@me"]) => (200, json!({ "id": "55" })),
            ("POST", ["applications", "55", "commands"]) => {
                self.commands.push(asked.body.clone());
                (201, asked.body.clone())
            }
            (_, ["channels", channel, ..]) if *channel != CHANNEL => {
                (404, json!({ "message": "Unknown Channel", "code": 10_003 }))
            }
            ("POST", ["channels", _, "messages"]) => {
                if let Some(problem) = Discord::problem(&asked.body) {
                    return (400, json!({ "message": problem, "code": 50_035 }));
                }
                let nonce = &asked.body["nonce"];
                let same = |message: &&Value| !nonce.is_null() && message["nonce"] == *nonce;
                // `enforce_nonce`: the message that is there is given back.
                if let Some(known) = self.messages.iter().find(same) {
                    return (200, known.clone());
                }
                let message = self.keep(&json!({ "id": BOT, "bot": true }), &asked.body);
                let id = message["id"].as_str().unwrap().to_owned();
                self.arrived.insert(id, asked.at);
                (200, message)
            }
            ("PATCH", ["channels", _, "messages", id]) => {
                let known = self.messages.iter_mut().find(|message| message["id"] == **id);
                let Some(message) = known else {
                    return (404, json!({ "message": "Unknown Message", "code": 10_008 }));
                };
                message["content"] = asked.body["content"].clone();
                message["components"] = asked.body["components"].clone();
                (200, message.clone())
            }
            ("GET", ["channels", _, "messages"]) => {
                self.reads += 1;
                (200, self.page())
            }
            ("GET", ["channels", _, "messages", id, "reactions", emoji]) => {
                let emoji = if *emoji == "%E2%9C%85" { "\u{2705}" } else { "\u{274c}" };
                let users = self.reactions.get(&((*id).to_owned(), emoji.to_owned()));
                (200, users.cloned().unwrap_or_default().into())
            }
            _ => (404, json!({ "message": "404: Not Found", "code": 0 })),
        }
    }
}

/// Discord's own key, which its application page shows the public half of.
pub fn key() -> SigningKey {
    SigningKey::from_bytes(&[42; 32])
}

/// The settings of a channel at this stand-in.
pub fn settings(folder: &Path, stand_in: &FakePlatform<Discord>, hook: bool) -> String {
    let token = secret(folder, "discord.token", TOKEN);
    let mut text = format!(
        "kind = \"discord\"\ntoken_file = {token:?}\nchannel = \"{CHANNEL}\"\n\
         base_url = \"http://{}\"\n",
        stand_in.address
    );
    if hook {
        let key = hex(key().verifying_key().as_bytes());
        let _ = writeln!(text, "public_key = \"{key}\"");
    }
    text
}

pub fn sign(key: &SigningKey, seconds: &str, body: &[u8]) -> String {
    hex(&key.sign(&[seconds.as_bytes(), body].concat()).to_bytes())
}

/// Posts as Discord does.
pub fn post(caller: &mut Caller, body: &Value) -> (u16, Value) {
    let (seconds, body) = (now().to_string(), body.to_string());
    let signature = sign(&key(), &seconds, body.as_bytes());
    let headers = [
        ("content-type", "application/json"),
        ("x-signature-timestamp", seconds.as_str()),
        ("x-signature-ed25519", signature.as_str()),
    ];
    caller.post(&headers, body.as_bytes())
}

/// An interaction; each number is another one.
fn interaction(number: u64, kind: u64, user: &str, data: &Value) -> Value {
    json!({
        "id": number.to_string(), "application_id": "55", "type": kind, "token": "t", "version": 1,
        "channel_id": CHANNEL, "member": { "user": { "id": user, "username": "who" } },
        "data": data,
    })
}

/// Somebody presses a button.
pub fn tap(number: u64, user: &str, custom_id: &str) -> Value {
    interaction(number, 3, user, &json!({ "custom_id": custom_id, "component_type": 2 }))
}

fn typed(number: u64, user: &str, text: &str) -> Value {
    let options = json!([{ "name": "say", "type": 3, "value": text }]);
    interaction(number, 2, user, &json!({ "name": "countersign", "options": options }))
}

/// What a button of a message carries.
pub fn button(message: &Value, label: &str) -> String {
    let buttons = message["components"][0]["components"].as_array().unwrap();
    let own = buttons.iter().find(|button| button["label"] == label);
    own.unwrap_or_else(|| panic!("no {label}: {message}"))["custom_id"].as_str().unwrap().to_owned()
}

/// What goes back to who pressed.
pub fn told(answer: &(u16, Value)) -> &str {
    assert_eq!(
        (answer.0, &answer.1["type"], &answer.1["data"]["flags"]),
        (200, &json!(4), &json!(64))
    );
    answer.1["data"]["content"].as_str().unwrap()
}

/// Links ana's account to the owner.
pub fn link(fixture: &Fixture, caller: &mut Caller) {
    let code = code(fixture, "discord");
    let answer = post(caller, &typed(1, ANA, &format!("link {code}")));
    assert!(told(&answer).starts_with("Linked"), "{answer:?}");
}

pub fn hooked(folder: &Path) -> (FakePlatform<Discord>, Fixture, Caller) {
    let stand_in = FakePlatform::start(Discord::default());
    let fixture = installation(folder, &[("discord", settings(folder, &stand_in, true))]);
    let mut caller = Caller::new(fixture.gate.people, "discord");
    link(&fixture, &mut caller);
    stand_in.until("the message about the link", |discord| discord.messages.first().map(drop));
    (stand_in, fixture, caller)
}

#[test]
fn a_tap_decides_once_and_the_message_says_so() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let (discord, fixture, mut caller) = hooked(folder.path());
    let ping = post(&mut caller, &json!({ "id": "2", "type": 1 }));
    assert_eq!(ping, (200, json!({ "type": 1 })));
    discord.until("our command", |discord| discord.commands.first().cloned());
    let id = asked(&fixture, &risky(1), &["discord"]);
    let message = discord.until("a message", |discord| discord.about(&id));
    assert!(message["content"].as_str().unwrap().contains("The report number 1."), "{message}");
    let yes = button(&message, "Approve once");
    let stranger = post(&mut caller, &tap(10, STRANGER, &yes));
    assert!(told(&stranger).contains("not linked to a person"), "{stranger:?}");
    assert_eq!(state(&fixture, &id), "pending");
    assert!(told(&post(&mut caller, &tap(11, ANA, &yes))).starts_with("Approved"));
    assert_eq!(state(&fixture, &id), "approved");
    // The same interaction delivered twice, and a second tap after the decision.
    assert_eq!(post(&mut caller, &tap(11, ANA, &yes)), (200, json!({ "type": 6 })));
    let no = button(&message, "Deny");
    let late = post(&mut caller, &tap(12, ANA, &no));
    assert!(told(&late).contains("already approved"), "{late:?}");
    assert_eq!(state(&fixture, &id), "approved");
    discord.until("an end in the message", |discord| {
        let message = discord.about(&id)?;
        let text = message["content"].as_str()?;
        (text.contains("approved by owner through discord") && message["components"] == json!([]))
            .then_some(())
    });
    // In words.
    let id = asked(&fixture, &risky(2), &["discord"]);
    discord.until("a message", |discord| discord.about(&id));
    let said = post(&mut caller, &typed(13, ANA, &format!("deny {id} not today")));
    assert!(told(&said).starts_with("Denied"), "{said:?}");
    assert_eq!(state(&fixture, &id), "denied");
}

#[test]
fn every_message_about_a_request_says_how_it_ended_and_late_taps_change_nothing() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let stand_in = FakePlatform::start(Discord::default());
    let mut set_up = settings(folder.path(), &stand_in, true);
    set_up.push_str("[times]\nmedium_escalation_seconds = 2\n");
    let fixture = installation(folder.path(), &[("discord", set_up)]);
    let mut caller = Caller::new(fixture.gate.people, "discord");
    link(&fixture, &mut caller);
    let id = asked(&fixture, &risky(1), &["discord"]);
    // Nobody answers: it escalates and is announced again.
    let about = |discord: &Discord| -> Vec<Value> {
        let own = |message: &&Value| message["first"].as_str().unwrap().contains(&id);
        discord.messages.iter().filter(own).cloned().collect()
    };
    let messages = stand_in.until("a second message", |discord| {
        Some(about(discord)).filter(|messages| messages.len() >= 2)
    });
    assert!(messages[1]["content"].as_str().unwrap().contains("still waits"), "{messages:?}");
    let cancelled =
        fixture.agent_client().post(&format!("/v1/requests/{id}/cancel"), &json!({})).unwrap();
    assert_eq!(cancelled.status, 200, "{}", cancelled.body);
    stand_in.until("an end in both", |discord| {
        let over = |message: &Value| {
            let text = message["content"].as_str().unwrap();
            text.contains("cancelled by the agent") && message["components"] == json!([])
        };
        about(discord).iter().all(over).then_some(())
    });
    // Taps that were on their way, the newer one first.
    for (number, message) in messages.iter().rev().enumerate() {
        let yes = button(message, "Approve once");
        let late = post(&mut caller, &tap(20 + number as u64, ANA, &yes));
        assert!(!told(&late).starts_with("Approved"), "{late:?}");
        assert_eq!(state(&fixture, &id), "cancelled");
    }
}

#[test]
fn a_message_arrives_once_whatever_befalls_it() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let (discord, fixture, _caller) = hooked(folder.path());
    let limited = json!({ "message": "slow", "retry_after": 1.5, "global": false });
    discord.misbehave([
        Fault::Says(429, "retry-after: 2\r\n", limited),
        Fault::Breaks,
        Fault::Says(502, "", Value::Null),
        Fault::Silence(Duration::from_secs(3)),
    ]);
    let start = Instant::now();
    let id = ask(&fixture, &within(risky(1), 120.0));
    until("four faults", || discord.behaves().then_some(()));
    discord.until("a message", |discord| discord.about(&id));
    // With this record no further attempt is made.
    fixture.wait_for_delivery_record(&json!({ "id": id }));
    let text = |message: &Value| message["first"].as_str().unwrap_or_default().contains(&id);
    let many = discord.platform.lock().unwrap().messages.iter().filter(|one| text(one)).count();
    assert_eq!(many, 1, "a message that was sent twice is there twice");
    assert!(start.elapsed() >= Duration::from_millis(1_500), "retry_after was not kept");
    // What will not pass is not tried again, and approves nothing.
    for (status, code, words) in
        [(401, 0, "token"), (403, 50_013, "permission"), (404, 10_003, "does not exist")]
    {
        discord.misbehave([Fault::Says(status, "", json!({ "code": code }))]);
        let id = ask(&fixture, &risky(usize::from(status)));
        until("a failure", || problem(&fixture, "discord").filter(|text| text.contains(words)));
        assert_eq!(state(&fixture, &id), "pending");
        assert!(discord.platform.lock().unwrap().about(&id).is_none());
        // It works again.
        let next = ask(&fixture, &risky(usize::from(status) + 1_000));
        discord.until("a message", |discord| discord.about(&next));
    }
}

/// One way to forge a request from a good one.
pub fn forge(rng: &mut Rng, seconds: &mut String, signature: &mut String, body: &mut Vec<u8>) {
    let old = now() - 301 - rng.below(100_000);
    let change = |rng: &mut Rng, bytes: &mut Vec<u8>| {
        let at = usize::try_from(rng.below(bytes.len() as u64)).unwrap();
        bytes[at] ^= 1 << rng.below(7);
    };
    match rng.below(8) {
        0 => *signature = sign(&SigningKey::from_bytes(&[9; 32]), seconds, body),
        1 => change(rng, body),
        2 => {
            let digit = char::from(b'0' + u8::try_from(rng.below(10)).unwrap());
            let at = usize::try_from(rng.below(128)).unwrap();
            let other = if signature.as_bytes()[at] == digit as u8 { 'f' } else { digit };
            signature.replace_range(at..=at, &other.to_string());
        }
        3 => {
            *seconds = (now() - 1 - rng.below(200)).to_string();
        }
        4 => {
            // Discord's own, of long ago.
            *seconds = old.to_string();
            *signature = sign(&key(), seconds, body);
        }
        5 => body.push(b' '),
        6 => signature.truncate(usize::try_from(rng.below(128)).unwrap()),
        _ => *signature = sign(&key(), "", body),
    }
}

#[test]
fn no_forged_or_replayed_callback_is_accepted() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let (discord, fixture, mut caller) = hooked(folder.path());
    // A good tap of before, kept to be replayed.
    let before = asked(&fixture, &risky(7), &["discord"]);
    let message = discord.until("a message", |discord| discord.about(&before));
    let (replay, seconds) = (tap(50, ANA, &button(&message, "Approve once")), now().to_string());
    let replay = replay.to_string().into_bytes();
    let recorded = sign(&key(), &seconds, &replay);
    let kept =
        [("x-signature-timestamp", seconds.as_str()), ("x-signature-ed25519", recorded.as_str())];
    assert!(told(&caller.post(&kept, &replay)).starts_with("Approved"));
    // The same call is asked about again: a new request, which nobody answers.
    let id = asked(&fixture, &risky(7), &["discord"]);
    assert_ne!(before, id);
    let message = discord.until("a message", |discord| discord.about(&id));
    let yes = button(&message, "Approve once");
    let (mut rng, many) = (Rng(0x00c0_ffee), size(1_000, 10_000));
    let (mut refused, mut unchanged) = (0, 0);
    for number in 0..many {
        if rng.below(10) == 0 {
            let (status, answer) = caller.post(&kept, &replay);
            assert_eq!((status, answer), (200, json!({ "type": 6 })), "a replay was heard again");
            unchanged += 1;
            continue;
        }
        let mut body = tap(100 + number as u64, ANA, &yes).to_string().into_bytes();
        let mut seconds = now().to_string();
        let mut signature = sign(&key(), &seconds, &body);
        forge(&mut rng, &mut seconds, &mut signature, &mut body);
        let mut headers = vec![("content-type", "application/json")];
        if rng.below(20) > 0 {
            headers.push(("x-signature-timestamp", &seconds));
        }
        if rng.below(20) > 0 {
            headers.push(("x-signature-ed25519", &signature));
        }
        if rng.below(20) == 0 {
            headers.push(("x-signature-ed25519", &signature));
        }
        let (status, answer) = caller.post(&headers, &body);
        assert_eq!(
            status,
            401,
            "{seconds} {signature} {} {answer}",
            String::from_utf8_lossy(&body)
        );
        refused += 1;
    }
    assert_eq!(state(&fixture, &id), "pending");
    report_figures(&format!(
        "discord: {many} forged or replayed callbacks, {refused} refused, {unchanged} heard \
         before, 0 accepted"
    ));
    assert!(told(&post(&mut caller, &tap(99, ANA, &yes))).starts_with("Approved"));
}

#[test]
fn a_message_is_there_at_once() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (discord, fixture, _caller) = hooked(folder.path());
    let mut client = fixture.agent_client();
    let times = (0..100).map(|number| {
        let start = Instant::now();
        let asked = client.post("/v1/requests", &risky(number)).unwrap();
        let id = asked.text("id").to_owned();
        let arrived = discord.until("a message", |discord| {
            let message = discord.about(&id)?;
            discord.arrived.get(message["id"].as_str()?).copied()
        });
        arrived - start
    });
    let middle = median(times.collect());
    report_figures(&format!("discord: request to message, median of 100: {middle:.1?}"));
}

#[test]
fn words_and_reactions_in_the_channel_are_heard_where_there_is_no_hook() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let discord = FakePlatform::start(Discord::default());
    discord.platform.lock().unwrap().says(ANA, "!link 12345678");
    let fixture =
        installation(folder.path(), &[("discord", settings(folder.path(), &discord, false))]);
    let says = |user: &str, text: &str| discord.platform.lock().unwrap().says(user, text);
    let replied = |text: &str| {
        discord.until(text, |discord| {
            let ours = discord.messages.iter().filter(|message| message["author"]["id"] == BOT);
            let mut ours = ours.map(|message| message["content"].as_str().unwrap());
            ours.any(|said| said.replace('\\', "").contains(text)).then_some(())
        });
    };
    // What was said before we listened is not heard; this is, as soon as we do.
    discord.until("the first reading", |discord| (discord.reads > 0).then_some(()));
    says(ANA, &format!("!link {}", code(&fixture, "discord")));
    replied("Linked.");
    // Two of Ana's, the answer to the second, and the announcement of the new link.
    replied("linked");
    assert_eq!(discord.platform.lock().unwrap().messages.len(), 4, "something else was heard");
    // There is no hook, and nothing to press.
    let mut caller = Caller::new(fixture.gate.people, "discord");
    assert_eq!(post(&mut caller, &json!({ "id": "2", "type": 1 })).0, 401);
    let first = asked(&fixture, &risky(1), &["discord"]);
    let message = discord.until("a message", |discord| discord.about(&first));
    assert_eq!(message["components"], json!([]));
    let reacts = |message: &Value, emoji: &str, user: Value| {
        let id = message["id"].as_str().unwrap();
        discord.platform.lock().unwrap().reacts(id, emoji, &user);
    };
    reacts(&message, "\u{2705}", json!({ "id": STRANGER, "username": "x" }));
    reacts(&message, "\u{2705}", json!({ "id": ANA, "username": "ana", "bot": true }));
    replied("not linked to a person");
    assert_eq!(state(&fixture, &first), "pending");
    reacts(&message, "\u{2705}", json!({ "id": ANA, "username": "ana" }));
    until("a yes", || (state(&fixture, &first) == "approved").then_some(()));
    let second = asked(&fixture, &risky(2), &["discord"]);
    let message = discord.until("a message", |discord| discord.about(&second));
    says(STRANGER, &format!("!deny {second}"));
    says(ANA, "!pending");
    replied("1 pending request");
    assert_eq!(state(&fixture, &second), "pending");
    reacts(&message, "\u{274c}", json!({ "id": ANA, "username": "ana" }));
    until("a no", || (state(&fixture, &second) == "denied").then_some(()));
    let third = asked(&fixture, &risky(3), &["discord"]);
    let message = discord.until("a message", |discord| discord.about(&third));
    // Somebody else copies our prompt: who reacts to that has not seen ours.
    let copy = {
        let mut inner = discord.platform.lock().unwrap();
        let author = json!({ "id": "500", "username": "countersign" });
        inner.keep(&author, &json!({ "content": message["content"] }))
    };
    reacts(&copy, "\u{2705}", json!({ "id": ANA, "username": "ana" }));
    // Readings follow one another: with the third one, all of the first has been acted upon.
    let before = discord.platform.lock().unwrap().reads;
    discord.until("three readings", |discord| (discord.reads >= before + 3).then_some(()));
    assert_eq!(state(&fixture, &third), "pending");
    let text = message["content"].as_str().unwrap();
    let phrase = text.lines().last().unwrap().split('.').next().unwrap();
    says(ANA, &format!("<@{BOT}> !approve {phrase} it is fine"));
    until("a yes", || (state(&fixture, &third) == "approved").then_some(()));
}
