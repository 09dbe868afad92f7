//! Polls the channel for replies and reactions, where Discord cannot call our hook.

use std::collections::HashMap;
use std::time::Duration;

use countersign_types::id::Id;
use serde_json::Value;

use super::Discord;
use super::platform::is_id;
use crate::{ChannelError, Said, Which, Word};

/// The pause between two polls.
const PAUSE: Duration = Duration::from_secs(2);
/// Messages per poll, the most that Discord returns.
const PAGE: &str = "?limit=100";
/// Denials come before approvals of the same poll. Each with its form in a URL.
const REACTIONS: [(&str, &str); 2] = [("\u{274c}", "%E2%9D%8C"), ("\u{2705}", "%E2%9C%85")];

/// What was seen so far.
#[derive(Debug)]
pub struct Place {
    me: String,
    newest: u64,
    /// How many reacted to a message; who they are is asked when that changes.
    reacted: HashMap<(String, &'static str), u64>,
}

impl Discord {
    /// Waits for a reply.
    pub(super) async fn heard_in_channel(&self) -> Result<Vec<Word>, ChannelError> {
        loop {
            let words = self.look().await?;
            if !words.is_empty() {
                return Ok(words);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn look(&self) -> Result<Vec<Word>, ChannelError> {
        let mut place = self.place.lock().await;
        let page = self.page().await?;
        let Some(seen) = place.as_mut() else {
            // A reply from before the first poll may be about an earlier request with the same
            // words, so it is ignored.
            let me = self.platform.call("GET", "/users/@me", None).await?;
            let me = text(&me, "id").filter(|id| is_id(id));
            let me =
                me.ok_or_else(|| ChannelError::again("Discord's response could not be parsed"))?;
            let newest = page.iter().filter_map(number).max().unwrap_or_default();
            *place = Some(Place { me: me.to_owned(), newest, reacted: HashMap::new() });
            return Ok(Vec::new());
        };
        let mut words: Vec<Word> = page.iter().filter_map(|message| word(seen, message)).collect();
        words.extend(self.reactions(seen, &page).await?);
        seen.newest = page.iter().filter_map(number).fold(seen.newest, u64::max);
        Ok(words)
    }

    /// The newest messages, oldest first.
    async fn page(&self) -> Result<Vec<Value>, ChannelError> {
        let path = format!("{}{PAGE}", self.platform.messages());
        match self.platform.call("GET", &path, None).await? {
            Value::Array(mut page) => {
                page.sort_by_key(number);
                Ok(page)
            }
            _ => Err(ChannelError::again("Discord's response could not be parsed")),
        }
    }

    /// Who reacted to our own prompts since the last look.
    async fn reactions(&self, seen: &mut Place, page: &[Value]) -> Result<Vec<Word>, ChannelError> {
        let mut words = Vec::new();
        let mut counted = HashMap::new();
        for message in page {
            let ours = author(message) == Some(seen.me.as_str());
            let Some(id) = text(message, "id").filter(|id| ours && is_id(id)) else { continue };
            let Some(request) = text(message, "content").and_then(request) else { continue };
            for (emoji, address) in REACTIONS {
                let count = count(message, emoji);
                let before = seen.reacted.get(&(id.to_owned(), emoji)).copied();
                if count > 0 && before != Some(count) {
                    let path = format!("{}/{id}/reactions/{address}", self.platform.messages());
                    let who = self.platform.call("GET", &format!("{path}{PAGE}"), None).await?;
                    let who = who.as_array().map(Vec::as_slice).unwrap_or_default();
                    let people = who.iter().filter(|user| is_person(user));
                    words.extend(people.filter_map(|user| reaction(user, id, request, emoji)));
                }
                counted.insert((id.to_owned(), emoji), count);
            }
        }
        seen.reacted = counted;
        Ok(words)
    }
}

/// The request that one of our own prompts is about: it stands at the end of the last line, where
/// nothing is an agent's. A message that is over names none.
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

fn reaction(user: &Value, message: &str, request: Id, emoji: &str) -> Option<Word> {
    let account = text(user, "id").filter(|id| is_id(id))?.to_owned();
    let which = Which { name: request.to_string(), reason: String::new() };
    let is_yes = REACTIONS.last().is_some_and(|(yes, _)| *yes == emoji);
    let said = if is_yes { Said::Approve(which) } else { Said::Deny(which) };
    let key = format!("reaction {message} {emoji} {account}");
    Some(Word { account, called: called(user), said, key, reply_to: message.to_owned() })
}

/// What a person wrote since the last look, if it was for us.
fn word(seen: &Place, message: &Value) -> Option<Word> {
    let user = message.get("author")?;
    let new = number(message)? > seen.newest;
    // Programs post through webhooks under any name they like.
    if !new || !is_person(user) || message.get("webhook_id").is_some_and(|id| !id.is_null()) {
        return None;
    }
    let (account, id) = (text(user, "id").filter(|id| is_id(id))?, text(message, "id")?);
    let content = text(message, "content")?.trim_start();
    // Without leave to read everything, a bot reads what names it.
    let named = ["<@", "<@!"].iter().find_map(|open| {
        content.strip_prefix(open)?.strip_prefix(seen.me.as_str())?.strip_prefix('>')
    });
    let said = Said::parse('!', named.unwrap_or(content))?;
    Some(Word {
        account: account.to_owned(),
        called: called(user),
        said,
        key: format!("message {id}"),
        reply_to: id.to_owned(),
    })
}

fn is_person(user: &Value) -> bool {
    !user.get("bot").and_then(Value::as_bool).unwrap_or_default()
}

fn called(user: &Value) -> String {
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

    fn place() -> Place {
        Place { me: "9".to_owned(), newest: 100, reacted: HashMap::new() }
    }

    #[test]
    fn new_words_of_people_are_heard_and_nothing_else() {
        let message = |id: &str, content: &str| {
            let author = json!({ "id": "77", "username": "ana" });
            json!({ "id": id, "content": content, "author": author })
        };
        let heard = |message: &Value| word(&place(), message).map(|word| word.said);
        let which = Which { name: "olive-tractor".to_owned(), reason: String::new() };
        let yes = Some(Said::Approve(which));
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
