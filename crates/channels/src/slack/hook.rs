//! Slack's posts to our hook: buttons, our slash command, and messages that mention us.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use super::render;
use crate::chat::{ALREADY_RECEIVED, IN_RESPONSE, from_hex, is_fresh};
use crate::form::Form;
use crate::secret::Token;
use crate::{HookError, HookRequest, HookResponse, PersonReply, ReceivedReplies, ReplyContent};

/// Parses a post that Slack signed recently.
pub fn receive(
    secret: &Token,
    posted: &HookRequest<'_>,
    open_for: Duration,
) -> Result<ReceivedReplies, HookError> {
    verify(secret, posted, open_for).ok_or(HookError::Forged)?;
    let json = (posted.header)("content-type")
        .is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("application/json"));
    let heard = if json {
        let body: Value = serde_json::from_slice(posted.body).map_err(|_| HookError::Unreadable)?;
        event(&body)
    } else {
        let form = Form::read(posted.body).ok_or(HookError::Unreadable)?;
        match form.get("payload") {
            Some(payload) => {
                let body = serde_json::from_str(payload).map_err(|_| HookError::Unreadable)?;
                pressed(&body)
            }
            None => typed(&form),
        }
    };
    heard.ok_or(HookError::Unreadable)
}

fn verify(secret: &Token, posted: &HookRequest<'_>, open_for: Duration) -> Option<()> {
    let seconds = (posted.header)("x-slack-request-timestamp")?;
    let signature = (posted.header)("x-slack-signature")?.strip_prefix("v0=")?;
    // Slack writes lower case; a signature has only one valid form.
    let upper = signature.bytes().any(|byte| byte.is_ascii_uppercase());
    if upper || !is_fresh(posted.now, seconds, open_for) {
        return None;
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).ok()?;
    mac.update(format!("v0:{seconds}:").as_bytes());
    mac.update(posted.body);
    mac.verify_slice(&from_hex::<32>(signature)?).ok()
}

fn without_response(replies: Vec<PersonReply>) -> ReceivedReplies {
    ReceivedReplies { replies, response: HookResponse::default() }
}

/// One of our buttons.
fn pressed(body: &Value) -> Option<ReceivedReplies> {
    if text(body, "/type")? != "block_actions" {
        return Some(without_response(Vec::new()));
    }
    let action = body.get("actions")?.as_array()?.iter().find(|action| {
        matches!(action.get("action_id").and_then(Value::as_str), Some("approve" | "deny"))
    });
    let Some(action) = action else { return Some(without_response(Vec::new())) };
    let (value, at) = (text(action, "/value")?, text(action, "/action_ts")?);
    let team = text(body, "/user/team_id").or_else(|| text(body, "/team/id"))?;
    let account = account(team, text(body, "/user/id")?)?;
    let display_name = text(body, "/user/name").or_else(|| text(body, "/user/username"));
    let channel = text(body, "/container/channel_id").or_else(|| text(body, "/channel/id"))?;
    Some(without_response(vec![PersonReply {
        key: format!("action {account} {at} {value}"),
        account,
        display_name: display_name.unwrap_or_default().to_owned(),
        content: ReplyContent::Button(value.to_owned()),
        reply_to: channel.to_owned(),
    }]))
}

/// `/countersign approve olive-tractor`.
fn typed(form: &Form) -> Option<ReceivedReplies> {
    // Slack sometimes checks our TLS certificate.
    if form.get("ssl_check") == Some("1") {
        return Some(without_response(Vec::new()));
    }
    form.get("command")?;
    let account = account(form.get("team_id")?, form.get("user_id")?)?;
    let line = form.get("text").unwrap_or_default().trim();
    Some(ReceivedReplies {
        replies: vec![PersonReply {
            key: format!("command {account} {}", form.get("trigger_id")?),
            account,
            display_name: form.get("user_name").unwrap_or_default().to_owned(),
            content: ReplyContent::parse('/', &format!("/{}", unescaped(line)))
                .unwrap_or(ReplyContent::Help),
            reply_to: IN_RESPONSE.to_owned(),
        }],
        response: response(ALREADY_RECEIVED),
    })
}

/// An event in a channel that the bot is in.
fn event(body: &Value) -> Option<ReceivedReplies> {
    match text(body, "/type")? {
        "url_verification" => {
            let challenge = text(body, "/challenge")?;
            let response = HookResponse::json(&json!({ "challenge": challenge }));
            Some(ReceivedReplies { replies: Vec::new(), response })
        }
        "event_callback" => Some(without_response(message(body).into_iter().collect())),
        _ => Some(without_response(Vec::new())),
    }
}

/// A person's message that is addressed to us.
fn message(body: &Value) -> Option<PersonReply> {
    let event = body.get("event")?;
    let kind = text(event, "/type")?;
    let by_program = event.get("bot_id").is_some_and(|id| !id.is_null());
    // Edits, joins and messages of other programs have a subtype.
    if by_program || event.get("subtype").is_some_and(|kind| !kind.is_null()) {
        return None;
    }
    let line = text(event, "/text")?.trim_start();
    let content = match kind {
        "app_mention" => {
            let line = line.strip_prefix("<@")?.split_once('>')?.1.trim();
            let line = unescaped(line.strip_prefix('!').unwrap_or(line));
            ReplyContent::parse('!', &format!("!{line}"))?
        }
        "message" => ReplyContent::parse('!', &unescaped(line))?,
        _ => return None,
    };
    let team = text(event, "/user_team").or_else(|| text(body, "/team_id"))?;
    let account = account(team, text(event, "/user")?)?;
    let (channel, at) = (text(event, "/channel")?, text(event, "/ts")?);
    Some(PersonReply {
        // The same message may come as a message and as a mention.
        key: format!("message {channel} {at}"),
        account,
        display_name: String::new(),
        content,
        reply_to: channel.to_owned(),
    })
}

/// A person in a workspace: a user id alone is not unique across workspaces.
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

/// A response that only the sender sees.
pub fn response(reply: &str) -> HookResponse {
    let text = render::escaped(reply);
    HookResponse::json(&json!({ "response_type": "ephemeral", "text": text, "mrkdwn": false }))
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
    use crate::RequestRef;

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

    fn heard(
        kind: &str,
        seconds: &str,
        sign: &str,
        body: &str,
    ) -> Result<ReceivedReplies, HookError> {
        let header = |name: &str| match name {
            "content-type" => Some(kind),
            "x-slack-request-timestamp" => Some(seconds),
            "x-slack-signature" => Some(sign),
            _ => None,
        };
        let posted = HookRequest { url: "", header: &header, body: body.as_bytes(), now: NOW };
        receive(&token(), &posted, Duration::from_hours(1))
    }

    fn sign(seconds: &str, body: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(format!("v0:{seconds}:{body}").as_bytes());
        let bytes = mac.finalize().into_bytes();
        let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("v0={}", digits.concat())
    }

    fn signed(kind: &str, body: &str) -> Result<ReceivedReplies, HookError> {
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
        let received = heard(FORM, "1531420618", SIGNED, EXAMPLE).unwrap().replies.remove(0);
        assert_eq!(
            (received.account.as_str(), received.content),
            ("T1DC2JH3J.U2CERLKJA", ReplyContent::Help)
        );
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
            assert_eq!(heard(FORM, seconds, sign, body), Err(HookError::Forged), "{sign}");
        }
        for (kind, odd) in
            [(FORM, "payload=x"), (FORM, "a=%"), (FORM, ""), (JSON, "{"), (JSON, "{}")]
        {
            assert_eq!(signed(kind, odd), Err(HookError::Unreadable), "{odd}");
        }
    }

    fn which() -> RequestRef {
        RequestRef { name: "olive-tractor".to_owned(), reason: "a < b".to_owned() }
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
        let received =
            signed(FORM, &format!("payload={}", encoded.concat())).unwrap().replies.remove(0);
        assert_eq!((received.account.as_str(), received.reply_to.as_str()), ("T1.U1", "C1"));
        assert_eq!(received.content, ReplyContent::Button("a:b:c".to_owned()));
        let command = "command=%2Fcountersign&team_id=T1&user_id=U1&trigger_id=9\
                       &text=approve+olive-tractor+a+%26lt%3B+b";
        let received = signed(FORM, command).unwrap().replies.remove(0);
        assert_eq!(
            (received.content, received.reply_to.as_str()),
            (ReplyContent::Approve(which()), IN_RESPONSE)
        );
        let say = |kind: &str, text: &str, more: Value| {
            let mut event = json!({ "type": kind, "user": "U1", "text": text, "ts": "1.2",
                                    "channel": "C1" });
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let body = json!({ "type": "event_callback", "team_id": "T1", "event": event });
            signed(JSON, &body.to_string()).unwrap().replies.pop().map(|word| word.content)
        };
        let yes = Some(ReplyContent::Approve(which()));
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
    fn slacks_url_verification_is_answered() {
        let heard = signed(JSON, r#"{"type":"url_verification","challenge":"3eZ"}"#).unwrap();
        assert_eq!(heard.response.body, r#"{"challenge":"3eZ"}"#);
    }
}
