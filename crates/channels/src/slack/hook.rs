//! What Slack posts to our hook: buttons, our command, and messages that name us.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use super::write;
use crate::chat::{from_hex, is_fresh};
use crate::form::Form;
use crate::secret::Token;
use crate::{Heard, NotHeard, Posted, Posting, Said, Word};

/// Where the reply goes: back with the same exchange.
pub const HERE: &str = "here";

/// Reads what was posted, if Slack signed it about now.
pub fn hear(secret: &Token, posted: &Posted<'_>, open_for: Duration) -> Result<Heard, NotHeard> {
    verify(secret, posted, open_for).ok_or(NotHeard::Forged)?;
    let json = (posted.header)("content-type")
        .is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("application/json"));
    let heard = if json {
        let body: Value = serde_json::from_slice(posted.body).map_err(|_| NotHeard::Unreadable)?;
        event(&body)
    } else {
        let form = Form::read(posted.body).ok_or(NotHeard::Unreadable)?;
        match form.get("payload") {
            Some(payload) => {
                let body = serde_json::from_str(payload).map_err(|_| NotHeard::Unreadable)?;
                pressed(&body)
            }
            None => typed(&form),
        }
    };
    heard.ok_or(NotHeard::Unreadable)
}

fn verify(secret: &Token, posted: &Posted<'_>, open_for: Duration) -> Option<()> {
    let seconds = (posted.header)("x-slack-request-timestamp")?;
    let signature = (posted.header)("x-slack-signature")?.strip_prefix("v0=")?;
    // Slack writes small letters; one signature has one form.
    let upper = signature.bytes().any(|byte| byte.is_ascii_uppercase());
    if upper || !is_fresh(posted.now, seconds, open_for) {
        return None;
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).ok()?;
    mac.update(format!("v0:{seconds}:").as_bytes());
    mac.update(posted.body);
    mac.verify_slice(&from_hex::<32>(signature)?).ok()
}

fn words(words: Vec<Word>) -> Heard {
    Heard { words, answer: Posting::default() }
}

/// One of our buttons.
fn pressed(body: &Value) -> Option<Heard> {
    if text(body, "/type")? != "block_actions" {
        return Some(words(Vec::new()));
    }
    let action = body.get("actions")?.as_array()?.iter().find(|action| {
        matches!(action.get("action_id").and_then(Value::as_str), Some("approve" | "deny"))
    });
    let Some(action) = action else { return Some(words(Vec::new())) };
    let (value, at) = (text(action, "/value")?, text(action, "/action_ts")?);
    let team = text(body, "/user/team_id").or_else(|| text(body, "/team/id"))?;
    let account = account(team, text(body, "/user/id")?)?;
    let called = text(body, "/user/name").or_else(|| text(body, "/user/username"));
    let channel = text(body, "/container/channel_id").or_else(|| text(body, "/channel/id"))?;
    Some(words(vec![Word {
        key: format!("action {account} {at} {value}"),
        account,
        called: called.unwrap_or_default().to_owned(),
        said: Said::Button(value.to_owned()),
        reply_to: channel.to_owned(),
    }]))
}

/// `/countersign approve olive-tractor`.
fn typed(form: &Form) -> Option<Heard> {
    // Slack asks now and then whether we have a certificate.
    if form.get("ssl_check") == Some("1") {
        return Some(words(Vec::new()));
    }
    form.get("command")?;
    let account = account(form.get("team_id")?, form.get("user_id")?)?;
    let line = form.get("text").unwrap_or_default().trim();
    Some(Heard {
        words: vec![Word {
            key: format!("command {account} {}", form.get("trigger_id")?),
            account,
            called: form.get("user_name").unwrap_or_default().to_owned(),
            said: Said::parse('/', &format!("/{}", unescaped(line))).unwrap_or(Said::Help),
            reply_to: HERE.to_owned(),
        }],
        answer: answer("This was heard already."),
    })
}

/// Something happened in a channel where we are.
fn event(body: &Value) -> Option<Heard> {
    match text(body, "/type")? {
        "url_verification" => {
            let challenge = text(body, "/challenge")?;
            let answer = Posting::json(&json!({ "challenge": challenge }));
            Some(Heard { words: Vec::new(), answer })
        }
        "event_callback" => Some(words(message(body).into_iter().collect())),
        _ => Some(words(Vec::new())),
    }
}

/// A message by a person that is meant for us.
fn message(body: &Value) -> Option<Word> {
    let event = body.get("event")?;
    let kind = text(event, "/type")?;
    let by_program = event.get("bot_id").is_some_and(|id| !id.is_null());
    // Edits, joins and the like carry a subtype; so do words of other programs.
    if by_program || event.get("subtype").is_some_and(|kind| !kind.is_null()) {
        return None;
    }
    let line = text(event, "/text")?.trim_start();
    let said = match kind {
        "app_mention" => {
            let line = line.strip_prefix("<@")?.split_once('>')?.1.trim();
            let line = unescaped(line.strip_prefix('!').unwrap_or(line));
            Said::parse('!', &format!("!{line}"))?
        }
        "message" => Said::parse('!', &unescaped(line))?,
        _ => return None,
    };
    let team = text(event, "/user_team").or_else(|| text(body, "/team_id"))?;
    let account = account(team, text(event, "/user")?)?;
    let (channel, at) = (text(event, "/channel")?, text(event, "/ts")?);
    Some(Word {
        // The same message may come as a message and as a mention.
        key: format!("message {channel} {at}"),
        account,
        called: String::new(),
        said,
        reply_to: channel.to_owned(),
    })
}

/// A person in a workspace: their id alone may be somebody else's in another one.
fn account(team: &str, user: &str) -> Option<String> {
    (is_id(team) && is_id(user)).then(|| format!("{team}.{user}"))
}

/// The person of an account.
pub fn user(account: &str) -> &str {
    account.split_once('.').map_or(account, |(_, user)| user)
}

/// Whether this is one of Slack's ids.
pub fn is_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    (2..=32).contains(&text.len()) && text.bytes().all(plain)
}

/// What goes back to who said something, for nobody else to see.
pub fn answer(reply: &str) -> Posting {
    let text = write::escaped(reply);
    Posting::json(&json!({ "response_type": "ephemeral", "text": text, "mrkdwn": false }))
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use countersign_types::time::Timestamp;

    use super::*;
    use crate::Which;

    const NOW: Timestamp = Timestamp(1_531_420_618_000);
    const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
    const FORM: &str = "application/x-www-form-urlencoded";
    const JSON: &str = "application/json";

    fn token() -> Token {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, SECRET).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        Token::read(&path).unwrap()
    }

    fn heard(kind: &str, seconds: &str, sign: &str, body: &str) -> Result<Heard, NotHeard> {
        let header = |name: &str| match name {
            "content-type" => Some(kind),
            "x-slack-request-timestamp" => Some(seconds),
            "x-slack-signature" => Some(sign),
            _ => None,
        };
        let posted = Posted { url: "", header: &header, body: body.as_bytes(), now: NOW };
        hear(&token(), &posted, Duration::from_hours(1))
    }

    fn sign(seconds: &str, body: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(format!("v0:{seconds}:{body}").as_bytes());
        let bytes = mac.finalize().into_bytes();
        let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("v0={}", digits.concat())
    }

    fn signed(kind: &str, body: &str) -> Result<Heard, NotHeard> {
        heard(kind, "1531420618", &sign("1531420618", body), body)
    }

    /// The example of Slack's own documentation.
    const EXAMPLE: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow\
        &channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner\
        &command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands\
        %2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.\
        803a0bc887a14d10d2c447fce8b6703c";
    const SIGNED: &str = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";

    #[test]
    fn slacks_own_example_is_heard() {
        let word = heard(FORM, "1531420618", SIGNED, EXAMPLE).unwrap().words.remove(0);
        assert_eq!((word.account.as_str(), word.said), ("T1DC2JH3J.U2CERLKJA", Said::Help));
    }

    #[test]
    fn what_is_changed_late_or_unsigned_is_not_slacks() {
        let late = sign("1531420000", EXAMPLE);
        let early = sign("1531421000", EXAMPLE);
        let upper = SIGNED.to_uppercase().replace("V0", "v0");
        let longer = format!("{EXAMPLE}&");
        for (seconds, sign, body) in [
            ("1531420619", SIGNED, EXAMPLE),
            ("1531420618", SIGNED, longer.as_str()),
            ("1531420618", "", EXAMPLE),
            ("1531420618", "v0=", EXAMPLE),
            ("1531420618", SIGNED.get(..60).unwrap(), EXAMPLE),
            ("1531420618", &SIGNED.replace("v0", "v1"), EXAMPLE),
            ("1531420618", upper.as_str(), EXAMPLE),
            ("1531420000", late.as_str(), EXAMPLE),
            ("1531421000", early.as_str(), EXAMPLE),
        ] {
            assert_eq!(heard(FORM, seconds, sign, body), Err(NotHeard::Forged), "{sign}");
        }
        for (kind, odd) in
            [(FORM, "payload=x"), (FORM, "a=%"), (FORM, ""), (JSON, "{"), (JSON, "{}")]
        {
            assert_eq!(signed(kind, odd), Err(NotHeard::Unreadable), "{odd}");
        }
    }

    fn which() -> Which {
        Which { name: "olive-tractor".to_owned(), reason: "a < b".to_owned() }
    }

    #[test]
    fn buttons_commands_and_messages_are_read_with_who_said_them() {
        // %7B and so on: {"type":"block_actions",…}
        let body = json!({
            "type": "block_actions", "user": { "id": "U1", "name": "ana", "team_id": "T1" },
            "container": { "channel_id": "C1" }, "response_url": "https://evil.example/",
            "actions": [{ "action_id": "approve", "value": "a:b:c", "action_ts": "1.5" }],
        });
        let encoded: Vec<String> =
            body.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect();
        let word = signed(FORM, &format!("payload={}", encoded.concat())).unwrap().words.remove(0);
        assert_eq!((word.account.as_str(), word.reply_to.as_str()), ("T1.U1", "C1"));
        assert_eq!(word.said, Said::Button("a:b:c".to_owned()));
        let command = "command=%2Fcountersign&team_id=T1&user_id=U1&trigger_id=9\
                       &text=approve+olive-tractor+a+%26lt%3B+b";
        let word = signed(FORM, command).unwrap().words.remove(0);
        assert_eq!((word.said, word.reply_to.as_str()), (Said::Approve(which()), HERE));
        let say = |kind: &str, text: &str, more: Value| {
            let mut event = json!({ "type": kind, "user": "U1", "text": text, "ts": "1.2",
                                    "channel": "C1" });
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let body = json!({ "type": "event_callback", "team_id": "T1", "event": event });
            signed(JSON, &body.to_string()).unwrap().words.pop().map(|word| word.said)
        };
        let yes = Some(Said::Approve(which()));
        let none = || json!({});
        assert_eq!(say("app_mention", "<@U9> approve olive-tractor a &lt; b", none()), yes);
        assert_eq!(say("message", "!approve olive-tractor a &lt; b", none()), yes);
        assert_eq!(say("message", "approve olive-tractor", none()), None);
        assert_eq!(say("message", "!approve olive-tractor", json!({ "bot_id": "B1" })), None);
        let edited = json!({ "subtype": "message_changed" });
        assert_eq!(say("message", "!approve olive-tractor", edited), None);
        assert_eq!(say("reaction_added", "!approve olive-tractor", none()), None);
    }

    #[test]
    fn slacks_question_whether_we_are_there_is_answered() {
        let heard = signed(JSON, r#"{"type":"url_verification","challenge":"3eZ"}"#).unwrap();
        assert_eq!(heard.answer.body, r#"{"challenge":"3eZ"}"#);
    }
}
