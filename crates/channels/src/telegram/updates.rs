//! Parses replies from Telegram's updates. Only messages that a person wrote themselves, in one of
//! our chats, count.

use serde_json::Value;

use crate::{PersonReply, ReplyContent};

/// The maximum length of a button's payload.
const BUTTON: usize = 64;
/// The maximum length of a display name.
const NAME: usize = 200;

/// The number of an update.
pub fn number(update: &Value) -> Option<i64> {
    update.get("update_id").and_then(Value::as_i64)
}

/// The reply in an update, if it counts. `chat` is the configured one; `bot` is our own name, if it
/// is known.
pub fn parse(update: &Value, chat: i64, bot: Option<&str>) -> Option<PersonReply> {
    let key = number(update)?.to_string();
    if let Some(query) = update.get("callback_query") {
        return pressed(query, chat, key);
    }
    let message = update.get("message")?;
    typed(message, chat, bot, key)
}

fn pressed(query: &Value, chat: i64, key: String) -> Option<PersonReply> {
    let id = query.get("id").and_then(Value::as_str).filter(|id| is_plain(id))?;
    let (account, display_name) = person(query.get("from")?)?;
    // Without a message, the button was sent by an inline bot into an unknown chat.
    Chat::read(query.get("message")?, chat, account)?;
    let data = query.get("data").and_then(Value::as_str).filter(|data| data.len() <= BUTTON)?;
    Some(PersonReply {
        account: account.to_string(),
        display_name,
        content: ReplyContent::Button(data.to_owned()),
        key,
        reply_to: format!("q:{id}"),
    })
}

fn typed(message: &Value, chat: i64, bot: Option<&str>, key: String) -> Option<PersonReply> {
    // Not written by the sender: forwarded, sent as a group, or through another bot.
    let others = ["sender_chat", "forward_origin", "forward_date", "forward_from", "via_bot"];
    if others.iter().any(|name| message.get(name).is_some()) {
        return None;
    }
    let (account, display_name) = person(message.get("from")?)?;
    let place = Chat::read(message, chat, account)?;
    let text = message.get("text").and_then(Value::as_str)?.trim();
    let command = text.split_whitespace().next().unwrap_or_default();
    let to = command.strip_prefix('/').and_then(|command| command.split_once('@'));
    let to_us = match (to, bot) {
        (Some((_, name)), Some(bot)) if !name.eq_ignore_ascii_case(bot) => return None,
        (to, _) => to.is_some(),
    };
    let content = match ReplyContent::parse('/', text) {
        // In a group, other messages are not for us.
        Some(ReplyContent::Help) | None if !place.private && !to_us => return None,
        Some(content) => content,
        None => ReplyContent::Help,
    };
    let number = message.get("message_id").and_then(Value::as_i64).unwrap_or_default();
    let reply_to = format!("m:{}:{number}", place.id);
    Some(PersonReply { account: account.to_string(), display_name, content, key, reply_to })
}

/// A person's id and display name.
fn person(from: &Value) -> Option<(i64, String)> {
    let id = from.get("id").and_then(Value::as_i64).filter(|id| *id > 0)?;
    if from.get("is_bot").is_some_and(|is_bot| *is_bot != Value::Bool(false)) {
        return None;
    }
    let text = |name| from.get(name).and_then(Value::as_str).unwrap_or_default();
    let display_name = match (text("username"), text("first_name")) {
        ("", name) => name.to_owned(),
        (name, _) => format!("@{name}"),
    };
    Some((id, display_name.chars().take(NAME).collect()))
}

struct Chat {
    id: i64,
    private: bool,
}

impl Chat {
    /// The chat of a message, if replies in it count.
    fn read(message: &Value, ours: i64, account: i64) -> Option<Chat> {
        let chat = message.get("chat")?;
        let id = chat.get("id").and_then(Value::as_i64)?;
        let kind = chat.get("type").and_then(Value::as_str).unwrap_or_default();
        let private = kind == "private" && id == account;
        let group = matches!(kind, "group" | "supergroup") && id == ours;
        (private || group).then_some(Chat { id, private })
    }
}

fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::RequestRef;

    const GROUP: i64 = -100_777;

    fn message(text: &str) -> Value {
        json!({ "update_id": 9, "message": {
            "message_id": 4, "date": 1, "text": text,
            "from": { "id": 77, "is_bot": false, "first_name": "Ana", "username": "ana" },
            "chat": { "id": 77, "type": "private" },
        }})
    }

    fn in_group(text: &str) -> Value {
        let mut update = message(text);
        update["message"]["chat"] = json!({ "id": GROUP, "type": "supergroup" });
        update
    }

    fn tap(data: &str) -> Value {
        json!({ "update_id": 10, "callback_query": {
            "id": "4382bfdwdsb323b2d9", "data": data, "chat_instance": "1",
            "from": { "id": 77, "is_bot": false, "first_name": "Ana" },
            "message": { "message_id": 4, "chat": { "id": GROUP, "type": "supergroup" } },
        }})
    }

    fn content(update: &Value) -> Option<ReplyContent> {
        parse(update, GROUP, Some("our_bot")).map(|word| word.content)
    }

    #[test]
    fn people_are_heard_where_they_are_asked() {
        let received = parse(&tap("d:x"), GROUP, None).unwrap();
        assert_eq!((received.account.as_str(), received.display_name.as_str()), ("77", "Ana"));
        assert_eq!(
            (received.key.as_str(), received.reply_to.as_str()),
            ("10", "q:4382bfdwdsb323b2d9")
        );
        assert_eq!(received.content, ReplyContent::Button("d:x".to_owned()));
        let deny = RequestRef { name: "olive-tractor".to_owned(), reason: "no".to_owned() };
        for text in ["/deny olive-tractor no", "/deny@Our_Bot olive-tractor no"] {
            assert_eq!(content(&message(text)), Some(ReplyContent::Deny(deny.clone())), "{text}");
            assert_eq!(content(&in_group(text)), Some(ReplyContent::Deny(deny.clone())), "{text}");
        }
        assert_eq!(
            content(&message("/start AB12CD34")),
            Some(ReplyContent::Link("AB12CD34".to_owned()))
        );
        assert_eq!(content(&message("hello")), Some(ReplyContent::Help));
        assert_eq!(content(&in_group("/pending")), Some(ReplyContent::Pending));
        assert_eq!(content(&in_group("/help@our_bot")), Some(ReplyContent::Help));
    }

    #[test]
    fn what_is_not_for_us_is_not_heard() {
        for text in ["hello", "/weather", "/start", "/approve@other_bot olive-tractor", ""] {
            assert_eq!(content(&in_group(text)), None, "{text}");
        }
        assert_eq!(content(&message("/approve@other_bot olive-tractor")), None);
        assert_eq!(content(&json!({ "update_id": 1, "edited_message": {} })), None);
        assert_eq!(content(&json!({ "message": message("/pending")["message"] })), None);
    }

    /// Changes one thing of an update; nothing of it may count any more.
    fn unheard(mut update: Value, pointer: &str, value: Value) {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        update.pointer_mut(parent).unwrap()[name] = value;
        assert_eq!(content(&update), None, "{pointer}");
    }

    #[test]
    fn nobody_speaks_for_somebody_else() {
        let approve = || message("/approve olive-tractor");
        let other = json!({ "id": 5 });
        for name in ["forward_origin", "forward_from", "forward_date", "via_bot", "sender_chat"] {
            unheard(approve(), &format!("/message/{name}"), other.clone());
        }
        unheard(approve(), "/message/from/is_bot", json!(true));
        unheard(approve(), "/message/from/is_bot", json!("no"));
        unheard(approve(), "/message/from/id", json!("77"));
        unheard(approve(), "/message/from/id", json!(-77));
        unheard(approve(), "/message/chat/id", json!(78));
        unheard(approve(), "/message/chat/type", json!("channel"));
        unheard(in_group("/approve olive-tractor"), "/message/chat/id", json!(-100_778));
        unheard(tap("a:x"), "/callback_query/message/chat/id", json!(-100_778));
        unheard(tap("a:x"), "/callback_query/message", Value::Null);
        unheard(tap("a:x"), "/callback_query/from/is_bot", json!(true));
        unheard(tap("a:x"), "/callback_query/data", json!("a".repeat(65)));
        unheard(tap("a:x"), "/callback_query/id", json!("1/../x"));
        unheard(tap("a:x"), "/update_id", json!("10"));
    }
}
