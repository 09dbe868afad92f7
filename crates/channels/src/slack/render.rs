//! Messages for Slack. Everything is plain text except the call, which is a code block that its
//! content cannot close.

use serde_json::{Value, json};

use crate::chat::{cut, fenced, length};
use crate::message::{FittedText, Message};
use crate::{Announcement, AnnouncementEvent};

/// The maximum length of a section's text.
const LONGEST: usize = 3_000;

/// A new message.
pub fn message(news: &Announcement, channel: &str) -> Value {
    json!({
        "channel": channel,
        "text": fallback(news),
        "blocks": blocks(news),
        "unfurl_links": false,
        "unfurl_media": false,
        "parse": "none",
    })
}

/// The message after the request has ended.
pub fn ended(end: &Announcement, channel: &str, at: &str) -> Value {
    json!({
        "channel": channel,
        "ts": at,
        "text": fallback(end),
        "blocks": blocks(end),
        "parse": "none",
    })
}

/// A reply that only its receiver sees.
pub fn reply(text: &str, channel: &str, user: &str) -> Value {
    json!({
        "channel": channel,
        "user": user,
        "text": cut(&escaped(text), LONGEST),
        "blocks": [plain(text)],
        "parse": "none",
    })
}

/// A message to one person.
pub fn direct(text: &str, user: &str) -> Value {
    json!({
        "channel": user,
        "text": cut(&escaped(text), LONGEST),
        "blocks": [plain(text)],
        "parse": "none",
        "unfurl_links": false,
        "unfurl_media": false,
    })
}

/// Whether the message shows all of the call.
pub fn is_whole(news: &Announcement) -> bool {
    call(news).whole
}

fn blocks(news: &Announcement) -> Value {
    let message = news.message(0);
    let mut blocks = vec![
        json!({ "type": "header", "text": text(&cut(&message.title, 150)) }),
        plain(&message.sentence),
    ];
    let over = matches!(news.news, AnnouncementEvent::Ended(_));
    if !news.call.is_empty() && !over {
        let code = json!({ "type": "mrkdwn", "verbatim": true, "text": call(news).text });
        blocks.push(json!({ "type": "section", "text": code }));
    }
    if !message.reasons.is_empty() {
        let lines: Vec<String> =
            message.reasons.iter().map(|reason| format!("• {reason}")).collect();
        blocks.push(plain(&lines.join("\n")));
    }
    if !message.advice.is_empty() {
        // It contains no text of an agent, so its URL may be a link.
        let advice = cut(&escaped(&message.advice), LONGEST);
        let advice = json!({ "type": "mrkdwn", "text": advice });
        blocks.push(json!({ "type": "context", "elements": [advice] }));
    }
    blocks.extend(buttons(news));
    Value::Array(blocks)
}

fn buttons(news: &Announcement) -> Option<Value> {
    let ways = news.ways.as_ref()?;
    let button = |label: &str, name: &str, style: &str, value: &str| {
        json!({
            "type": "button", "text": text(label), "action_id": name, "style": style,
            "value": value,
        })
    };
    let mut buttons = vec![button("Deny", "deny", "danger", &ways.deny)];
    if let Some(approve) = ways.one_tap().filter(|_| is_whole(news)) {
        buttons.push(button("Approve once", "approve", "primary", approve));
    }
    Some(json!({ "type": "actions", "elements": buttons }))
}

/// The call in Slack's markup, with a note about the part that was left out.
fn call(news: &Announcement) -> FittedText {
    let render = |message: &Message| {
        let mut text = escaped(&fenced(&message.call));
        if !message.missing.is_empty() {
            text.push('\n');
            text.push_str(&message.missing);
        }
        text
    };
    news.fitted(LONGEST, length, render)
}

/// The text for notifications and screen readers: the same without the call.
fn fallback(news: &Announcement) -> String {
    cut(&escaped(&news.line()), LONGEST)
}

fn plain(words: &str) -> Value {
    json!({ "type": "section", "text": text(&cut(words, LONGEST)) })
}

/// Text without markup: no mentions, links or emoji names.
fn text(words: &str) -> Value {
    // Slack rejects an empty text.
    let words = if words.is_empty() { " " } else { words };
    json!({ "type": "plain_text", "text": words, "emoji": false })
}

/// Escapes the three characters that Slack requires.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use countersign_workflow::request::State;

    use super::*;
    use crate::Ending;
    use crate::announcement::tests::asked;

    fn values(message: &Value) -> Vec<String> {
        let blocks = message["blocks"].as_array().unwrap();
        let actions = blocks.iter().filter(|block| block["type"] == "actions");
        let buttons = actions.flat_map(|block| block["elements"].as_array().unwrap());
        buttons.map(|button| button["text"]["text"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_message_has_both_buttons_and_the_call() {
        let message = message(&asked(), "C1");
        assert_eq!(values(&message), ["Deny", "Approve once"]);
        let text = message.to_string();
        assert!(text.contains("```\\nrm -rf ~/code/shop\\n```"), "{text}");
        assert!(text.contains("/requests/00000000000000000000000001"), "{text}");
    }

    #[test]
    fn what_an_agent_writes_is_shown_as_it_is() {
        let evil = "<!channel> *b* <https://evil|safe> &lt;".to_owned();
        let told = Announcement {
            agent: evil.clone(),
            brief: evil.clone(),
            call: format!("{evil} ``` <!here>"),
            ..asked()
        };
        let message = message(&told, "C1");
        for block in message["blocks"].as_array().unwrap() {
            let parts = block["elements"]
                .as_array()
                .map_or(vec![&block["text"]], |all| all.iter().collect());
            for part in parts.iter().filter(|part| part["type"] == "mrkdwn") {
                let text = part["text"].as_str().unwrap();
                assert!(!text.contains('<') && text.matches("```").count() % 2 == 0, "{text}");
            }
        }
        assert!(!message["text"].as_str().unwrap().contains('<'));
        let code = message["blocks"][2]["text"]["text"].as_str().unwrap();
        assert!(code.contains("&lt;!channel&gt; *b* ") && code.contains("&amp;lt;"), "{code}");
        assert_eq!(code.matches("```").count(), 2, "{code}");
    }

    #[test]
    fn a_section_is_never_too_long_and_then_says_what_is_missing() {
        for call in ["x".repeat(3_100), "<".repeat(1_000), "```".repeat(700), "🔴".repeat(2_000)]
        {
            let told = Announcement { call, brief: "<".repeat(9_000), ..asked() };
            let message = message(&told, "C1");
            for block in message["blocks"].as_array().unwrap() {
                let text = block["text"]["text"].as_str().unwrap_or_default();
                assert!(length(text) <= LONGEST, "{block}");
            }
            let code = message["blocks"][2]["text"]["text"].as_str().unwrap();
            assert!(code.contains("more bytes: read them in the inbox"), "{code}");
            assert_eq!(values(&message), ["Deny"]);
            assert!(!is_whole(&told));
        }
        assert!(is_whole(&asked()));
    }

    #[test]
    fn an_end_has_no_buttons_and_no_call() {
        let (by, place) = ("ana".to_owned(), "through discord".to_owned());
        let news = AnnouncementEvent::Ended(Ending {
            state: State::Approved,
            by,
            place,
            drill: None,
            edited: None,
        });
        let message = ended(&Announcement { news, ways: None, ..asked() }, "C1", "1.2");
        assert!(values(&message).is_empty());
        let text = message.to_string();
        assert!(text.contains("approved by ana through discord") && !text.contains("rm -rf"));
    }
}
