//! Polls the channel for replies and reactions, where Discord cannot call our hook.

use std::collections::HashMap;
use std::time::Duration;

use countersign_types::id::Id;
use serde_json::Value;

use super::Discord;
use super::api::is_id;
use super::poll_state::PollState;
use crate::{ChannelError, PersonReply, ReplyContent, RequestRef};

/// The pause between two polls.
const PAUSE: Duration = Duration::from_secs(2);
/// Messages per poll, the most that Discord returns.
const PAGE: &str = "?limit=100";
/// Denials come before approvals of the same poll. Each with its form in a URL.
const REACTIONS: [(&str, &str); 2] = [("\u{274c}", "%E2%9D%8C"), ("\u{2705}", "%E2%9C%85")];

impl Discord {
    /// Waits for a reply.
    pub(super) async fn poll(&self) -> Result<Vec<PersonReply>, ChannelError> {
        loop {
            let replies = self.poll_once().await?;
            if !replies.is_empty() {
                return Ok(replies);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn poll_once(&self) -> Result<Vec<PersonReply>, ChannelError> {
        let mut poll_state = self.poll_state.lock().await;
        let page = self.page().await?;
        let Some(seen) = poll_state.as_mut() else {
            // A reply from before the first poll may be about an earlier request with the same
            // words, so it is ignored.
            let me = self.api.call("GET", "/users/@me", None).await?;
            let me = text(&me, "id").filter(|id| is_id(id));
            let me =
                me.ok_or_else(|| ChannelError::again("Discord's response could not be parsed"))?;
            let newest = page.iter().filter_map(number).max().unwrap_or_default();
            *poll_state = Some(PollState { me: me.to_owned(), newest, reacted: HashMap::new() });
            return Ok(Vec::new());
        };
        let mut replies: Vec<PersonReply> =
            page.iter().filter_map(|message| reply_in(seen, message)).collect();
        replies.extend(self.reactions(seen, &page).await?);
        seen.newest = page.iter().filter_map(number).fold(seen.newest, u64::max);
        Ok(replies)
    }

    /// The newest messages, oldest first.
    async fn page(&self) -> Result<Vec<Value>, ChannelError> {
        let path = format!("{}{PAGE}", self.api.messages());
        match self.api.call("GET", &path, None).await? {
            Value::Array(mut page) => {
                page.sort_by_key(number);
                Ok(page)
            }
            _ => Err(ChannelError::again("Discord's response could not be parsed")),
        }
    }

    /// New reactions to our own messages.
    async fn reactions(
        &self,
        seen: &mut PollState,
        page: &[Value],
    ) -> Result<Vec<PersonReply>, ChannelError> {
        let mut replies = Vec::new();
        let mut counted = HashMap::new();
        for message in page {
            let ours = author(message) == Some(seen.me.as_str());
            let Some(id) = text(message, "id").filter(|id| ours && is_id(id)) else { continue };
            let Some(request) = text(message, "content").and_then(request) else { continue };
            for (emoji, address) in REACTIONS {
                let count = count(message, emoji);
                let before = seen.reacted.get(&(id.to_owned(), emoji)).copied();
                if count > 0 && before != Some(count) {
                    let path = format!("{}/{id}/reactions/{address}", self.api.messages());
                    let who = self.api.call("GET", &format!("{path}{PAGE}"), None).await?;
                    let who = who.as_array().map(Vec::as_slice).unwrap_or_default();
                    let people = who.iter().filter(|user| is_person(user));
                    replies.extend(people.filter_map(|user| reaction(user, id, request, emoji)));
                }
                counted.insert((id.to_owned(), emoji), count);
            }
        }
        seen.reacted = counted;
        Ok(replies)
    }
}

/// The request of one of our own messages, from the end of the last line, which contains no text of
/// an agent. The message of an ended request has none.
fn request(content: &str) -> Option<Id> {
    let (_, id) = content.lines().next_back()?.rsplit_once("/requests/")?;
    Id::parse(id)
}

fn count(message: &Value, emoji: &str) -> u64 {
    let all = message.get("reactions").and_then(Value::as_array).into_iter().flatten();
    let mut own = all
        .filter(|reaction| reaction.pointer("/emoji/name").and_then(Value::as_str) == Some(emoji));
    own.next().and_then(|reaction| reaction.get("count")?.as_u64()).unwrap_or_default()
}

fn reaction(user: &Value, message: &str, request: Id, emoji: &str) -> Option<PersonReply> {
    let account = text(user, "id").filter(|id| is_id(id))?.to_owned();
    let which = RequestRef { name: request.to_string(), reason: String::new() };
    let is_yes = REACTIONS.last().is_some_and(|(yes, _)| *yes == emoji);
    let content = if is_yes { ReplyContent::Approve(which) } else { ReplyContent::Deny(which) };
    let key = format!("reaction {message} {emoji} {account}");
    Some(PersonReply {
        account,
        display_name: display_name(user),
        content,
        key,
        reply_to: message.to_owned(),
    })
}

/// A new message of a person, if it is addressed to us.
fn reply_in(seen: &PollState, message: &Value) -> Option<PersonReply> {
    let user = message.get("author")?;
    let new = number(message)? > seen.newest;
    // A webhook can post under any name.
    if !new || !is_person(user) || message.get("webhook_id").is_some_and(|id| !id.is_null()) {
        return None;
    }
    let (account, id) = (text(user, "id").filter(|id| is_id(id))?, text(message, "id")?);
    let content = text(message, "content")?.trim_start();
    // Without the permission to read all messages, a bot gets only those that mention it.
    let named = ["<@", "<@!"].iter().find_map(|open| {
        content.strip_prefix(open)?.strip_prefix(seen.me.as_str())?.strip_prefix('>')
    });
    let content = ReplyContent::parse('!', named.unwrap_or(content))?;
    Some(PersonReply {
        account: account.to_owned(),
        display_name: display_name(user),
        content,
        key: format!("message {id}"),
        reply_to: id.to_owned(),
    })
}

fn is_person(user: &Value) -> bool {
    !user.get("bot").and_then(Value::as_bool).unwrap_or_default()
}

fn display_name(user: &Value) -> String {
    text(user, "global_name").or_else(|| text(user, "username")).unwrap_or_default().to_owned()
}

fn author(message: &Value) -> Option<&str> {
    message.pointer("/author/id").and_then(Value::as_str)
}

fn number(message: &Value) -> Option<u64> {
    text(message, "id")?.parse().ok()
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn poll_state() -> PollState {
        PollState { me: "9".to_owned(), newest: 100, reacted: HashMap::new() }
    }

    #[test]
    fn new_words_of_people_are_heard_and_nothing_else() {
        let message = |id: &str, content: &str| {
            let author = json!({ "id": "77", "username": "ana" });
            json!({ "id": id, "content": content, "author": author })
        };
        let heard = |message: &Value| reply_in(&poll_state(), message).map(|word| word.content);
        let which = RequestRef { name: "olive-tractor".to_owned(), reason: String::new() };
        let yes = Some(ReplyContent::Approve(which));
        assert_eq!(heard(&message("101", "!approve olive-tractor")), yes);
        assert_eq!(heard(&message("101", "<@9> !approve olive-tractor")), yes);
        assert_eq!(heard(&message("101", "<@!9> !approve olive-tractor")), yes);
        for (id, content) in [
            ("100", "!approve olive-tractor"),
            ("99", "!approve olive-tractor"),
            ("101", "approve olive-tractor"),
            ("101", "<@8> !approve olive-tractor"),
            ("101", "I would not !approve olive-tractor"),
            ("101", ""),
            ("x", "!pending"),
        ] {
            assert_eq!(heard(&message(id, content)), None, "{id} {content}");
        }
        let mut bot = message("101", "!approve olive-tractor");
        bot["author"]["bot"] = json!(true);
        assert_eq!(heard(&bot), None);
        let mut hook = message("101", "!approve olive-tractor");
        hook["webhook_id"] = json!("5");
        assert_eq!(heard(&hook), None);
    }

    #[test]
    fn a_prompt_names_its_request_in_the_last_line_only() {
        let id = "00000000000000000000000001";
        assert_eq!(request(&format!("a\nb: http://x/requests/{id}")), Id::parse(id));
        assert_eq!(request(&format!("http://x/requests/{id}\nolive-tractor")), None);
        assert_eq!(request(&format!("http://x/requests/{id} or so")), None);
        assert_eq!(request(""), None);
    }
}
