//! A person who starts a chat with the bot to link an account.

use serde_json::Value;

use super::updates;
use crate::ReplyContent;

/// A person who pressed Start with a linking code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Their private chat with the bot, and their display name.
    pub chat: Option<(i64, String)>,
    /// The number of the next update.
    pub next: Option<i64>,
}

/// Whether an update is a Start with this code in a private chat.
pub fn started(update: &Value, code: &str, bot: &str) -> Started {
    let next = updates::number(update).map(|number| number.saturating_add(1));
    // No group has the id 0, so only private chats count.
    let reply = updates::parse(update, 0, Some(bot));
    let reply = reply.filter(|reply| reply.content == ReplyContent::Link(code.to_owned()));
    let chat = reply.and_then(|reply| Some((reply.account.parse().ok()?, reply.display_name)));
    Started { chat, next }
}
