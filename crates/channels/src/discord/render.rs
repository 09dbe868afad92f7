//! Messages for Discord. Markdown in an agent's text is escaped.

use countersign_json::base64;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::chat::{cut, fenced, length};
use crate::message::{FittedText, Message};
use crate::{Announcement, AnnouncementEvent};

/// The maximum length of a message.
const LONGEST: usize = 2_000;
/// Space for parts that change between messages about a request: the title, the time left. A call
/// counts as whole only if it fits without this space.
const RESERVED: usize = 80;
/// The maximum length of all reasons together.
const REASONS: usize = 400;
/// The flag that turns link previews off.
const NO_PREVIEWS: u64 = 4;
/// Characters with a meaning in Discord's Markdown; a backslash escapes them.
const SIGNS: &str = "\\*_~`|<>[]()#:@/-";
/// The length of a nonce in bytes: 24 characters in base64, of at most 25.
const NONCE: usize = 18;

/// How people can reply to a message.
#[derive(Debug, Clone, Copy)]
pub struct ReplyMethods {
    /// By buttons: Discord calls our hook when one is pressed.
    pub buttons: bool,
    /// By messages and reactions in the channel.
    pub text: bool,
}

/// A new message. Its nonce lets Discord recognize a duplicate.
pub fn message(news: &Announcement, channel: &str, methods: ReplyMethods) -> Value {
    let hash = Sha256::digest(format!("{channel}\n{}", news.key));
    let nonce = base64::encode_url(hash.get(..NONCE).unwrap_or_default());
    json!({
        "content": text(news, methods, LONGEST).text,
        "allowed_mentions": { "parse": [] },
        "components": if methods.buttons { buttons(news) } else { json!([]) },
        "flags": NO_PREVIEWS,
        "nonce": nonce,
        "enforce_nonce": true,
    })
}

/// The message after the request has ended.
pub fn ended(end: &Announcement) -> Value {
    json!({
        "content": text(end, ReplyMethods { buttons: false, text: false }, LONGEST).text,
        "allowed_mentions": { "parse": [] },
        "components": [],
        "flags": NO_PREVIEWS,
    })
}

/// A reply to a person.
pub fn reply(text: &str) -> Value {
    json!({
        "content": cut(&escaped(text), LONGEST),
        "allowed_mentions": { "parse": [], "replied_user": false },
        "flags": NO_PREVIEWS,
    })
}

/// Whether every message about this request shows all of the call.
pub fn is_whole(news: &Announcement) -> bool {
    text(news, ReplyMethods { buttons: true, text: true }, LONGEST - RESERVED).whole
}

fn buttons(news: &Announcement) -> Value {
    let Some(ways) = &news.ways else { return json!([]) };
    let mut buttons =
        vec![json!({ "type": 2, "style": 4, "label": "Deny", "custom_id": ways.deny })];
    if let Some(approve) = ways.one_tap().filter(|_| is_whole(news)) {
        let yes = json!({ "type": 2, "style": 3, "label": "Approve once", "custom_id": approve });
        buttons.push(yes);
    }
    json!([{ "type": 1, "components": buttons }])
}

fn text(news: &Announcement, methods: ReplyMethods, limit: usize) -> FittedText {
    let asks = matches!(news.news, AnnouncementEvent::Asked | AnnouncementEvent::Escalated)
        && methods.text;
    let hint = asks.then(|| {
        let phrase = &news.phrase;
        if news.ways.as_ref().is_some_and(|ways| ways.one_tap().is_none()) {
            return format!("React with ❌ or send !deny {phrase}");
        }
        format!("React with ✅ or ❌, or send !approve {phrase} or !deny {phrase}")
    });
    let mut fitted = news.fitted(limit, length, |message| render(message, hint.as_deref()));
    if length(&fitted.text) > limit {
        fitted = FittedText { text: cut(&fitted.text, limit), whole: false };
    }
    fitted
}

/// The last line is the advice, which contains no text of an agent: `poll` reads the request from
/// it.
fn render(message: &Message, hint: Option<&str>) -> String {
    let mut lines = vec![format!("**{}**", escaped(&message.title)), escaped(&message.sentence)];
    if !message.call.is_empty() {
        lines.push(fenced(&message.call));
    }
    if !message.missing.is_empty() {
        lines.push(message.missing.clone());
    }
    let mut room = REASONS;
    for reason in &message.reasons {
        let line = format!("• {}", escaped(reason));
        if let Some(left) = room.checked_sub(length(&line)) {
            room = left;
            lines.push(line);
        }
    }
    lines.extend(hint.map(str::to_owned));
    lines.push(message.advice.clone());
    lines.join("\n")
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() * 2);
    for letter in text.chars() {
        if SIGNS.contains(letter) {
            safe.push('\\');
        }
        safe.push(letter);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::tests::asked;
    use crate::announcement::{Ending, ReplyOptions};
    use countersign_workflow::request::State;

    const BOTH: ReplyMethods = ReplyMethods { buttons: true, text: true };

    fn labels(message: &Value) -> Vec<&str> {
        let buttons = message["components"][0]["components"].as_array();
        let buttons = buttons.map(Vec::as_slice).unwrap_or_default();
        buttons.iter().map(|button| button["label"].as_str().unwrap()).collect()
    }

    #[test]
    fn a_message_has_both_buttons_and_pings_nobody() {
        let message = message(&asked(), "1", BOTH);
        assert_eq!(labels(&message), ["Deny", "Approve once"]);
        assert_eq!(message["allowed_mentions"], json!({ "parse": [] }));
        let nonce = message["nonce"].as_str().unwrap();
        assert!(nonce.len() <= 25 && message["enforce_nonce"] == true);
        let text = message["content"].as_str().unwrap();
        assert!(text.contains("```\nrm -rf ~/code/shop\n```"), "{text}");
        assert!(text.ends_with("/requests/00000000000000000000000001"), "{text}");
        let (other, again) = (
            Announcement { key: "other".to_owned(), ..asked() },
            Announcement { now: asked().deadline, ..asked() },
        );
        assert_ne!(super::message(&other, "1", BOTH)["nonce"], nonce);
        assert_ne!(super::message(&asked(), "2", BOTH)["nonce"], nonce);
        assert_eq!(super::message(&again, "1", BOTH)["nonce"], nonce);
    }

    #[test]
    fn what_an_agent_writes_is_shown_as_it_is() {
        let evil = "**bold** <@1> @everyone [x](https://evil) ||a|| `b` # c".to_owned();
        let told = Announcement { agent: evil.clone(), brief: evil.clone(), ..asked() };
        let message = message(&told, "1", BOTH);
        let text = message["content"].as_str().unwrap();
        for raw in ["<@1>", "](https", "||a||", " @everyone", "https://evil"] {
            assert!(!text.contains(raw), "{raw}: {text}");
        }
        // Without the backslashes it is the original text.
        assert!(text.replace('\\', "").contains(&evil), "{text}");
    }

    #[test]
    fn a_message_is_never_too_long_and_then_says_what_is_missing() {
        let signs = "*".repeat(5_000);
        for told in [
            Announcement { call: "x".repeat(3_000), ..asked() },
            Announcement { call: "```".repeat(700), ..asked() },
            Announcement { call: "\u{1f534}".repeat(1_000), ..asked() },
            Announcement {
                agent: signs.clone(),
                brief: signs.clone(),
                reasons: vec![signs.clone(), signs.clone()],
                call: signs.clone(),
                ..asked()
            },
        ] {
            let message = message(&told, "1", BOTH);
            let text = message["content"].as_str().unwrap();
            assert!(length(text) <= LONGEST, "{}", length(text));
            assert!(text.contains("more bytes: read them in the inbox"), "{text}");
            assert_eq!(labels(&message), ["Deny"]);
            assert!(!is_whole(&told));
        }
        let notice = Announcement::notice(signs, asked().now, "http://x".to_owned());
        let message = message(&notice, "1", BOTH);
        assert!(length(message["content"].as_str().unwrap()) <= LONGEST);
        assert_eq!(message["components"], json!([]));
    }

    #[test]
    fn what_can_be_approved_is_whole_in_every_message_about_it() {
        for size in 1_000..2_000 {
            let told = Announcement { call: "x".repeat(size), ..asked() };
            if is_whole(&told) {
                let mut later = Announcement { news: AnnouncementEvent::Escalated, ..told };
                later.deadline.0 += 10_000_000;
                assert!(text(&later, BOTH, LONGEST).whole, "{size}");
            }
        }
        assert!(is_whole(&asked()));
    }

    #[test]
    fn an_end_has_no_buttons_and_no_way_that_could_be_read_in_it() {
        let (by, place) = ("ana".to_owned(), "through slack".to_owned());
        let news = AnnouncementEvent::Ended(Ending {
            state: State::Denied,
            by,
            place,
            drill: None,
            edited: None,
        });
        let over = Announcement { news, ways: None, ..asked() };
        let message = ended(&over);
        assert_eq!(message["components"], json!([]));
        let text = message["content"].as_str().unwrap();
        assert!(text.contains("denied by ana through slack") && !text.contains("/requests/"));
        let only_no = ReplyOptions { approve: None, ..asked().ways.unwrap() };
        let told = Announcement { ways: Some(only_no), ..asked() };
        assert_eq!(labels(&super::message(&told, "1", BOTH)), ["Deny"]);
    }
}
