//! Telegram's Bot API: one request, and the meaning of its errors. The token is part of the URL, so
//! no URL is ever shown.

use std::fmt;
use std::time::Duration;

use countersign_net::{Client, HttpRequest, HttpUrl};
use serde_json::{Value, json};

use crate::ChannelError;
use crate::announcement::safe;
use crate::http::USER_AGENT;
use crate::secret::Token;

/// The base URL of the Bot API.
pub const BASE_URL: &str = "https://api.telegram.org";
/// How long Telegram keeps a poll open.
const HOLD: Duration = Duration::from_secs(25);
/// Updates per poll, so few that the longest ones fit into one response.
const UPDATES: u32 = 10;
/// The longest error description that is shown.
const WORDS: usize = 200;
/// The longest pause that is accepted from Telegram, in seconds.
const LONGEST_PAUSE: u64 = 3600;

/// A bot with its token.
pub struct Bot {
    base: HttpUrl,
    token: Token,
    client: Client,
    timeout: Duration,
}

/// The names of a bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotIdentity {
    /// Its user name, without the `@`.
    pub username: String,
    /// Its display name.
    pub name: String,
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotError {
    /// What the channel reports.
    pub error: ChannelError,
    /// Telegram's description, to tell errors apart.
    description: String,
}

impl BotError {
    /// Whether Telegram's description contains this text.
    pub fn says(&self, words: &str) -> bool {
        self.description.contains(words)
    }
}

impl From<ChannelError> for BotError {
    fn from(error: ChannelError) -> BotError {
        BotError { error, description: String::new() }
    }
}

impl From<BotError> for ChannelError {
    fn from(refusal: BotError) -> ChannelError {
        refusal.error
    }
}

impl fmt::Debug for Bot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bot({:?})", self.base)
    }
}

/// What is wrong with a base URL of the Bot API, if anything.
pub fn base_problem(base_url: &str, allow_private: bool) -> Option<&'static str> {
    match HttpUrl::parse(base_url) {
        Err(problem) => Some(problem),
        Ok(_) if !allow_private && !base_url.starts_with("https://") => {
            Some("base_url must begin with https://, because it carries the bot's token")
        }
        Ok(_) => None,
    }
}

/// The private chat of an account: it has the number of the person. Groups have negative numbers.
pub fn private_chat(account: &str) -> Option<i64> {
    account.parse::<i64>().ok().filter(|chat| *chat > 0)
}

impl Bot {
    /// A bot by its token.
    pub fn new(
        base_url: &str,
        token: Token,
        allow_private: bool,
        timeout: Duration,
    ) -> Result<Bot, ChannelError> {
        if let Some(problem) = base_problem(base_url, allow_private) {
            return Err(ChannelError::permanent(problem));
        }
        if !looks_right(token.expose()) {
            return Err(ChannelError::permanent(
                "not a bot token: copy the one from BotFather, such as 123456789:AbC-dEf_…",
            ));
        }
        let base = HttpUrl::parse(base_url).map_err(ChannelError::permanent)?;
        Ok(Bot { base, token, client: Client::new(allow_private), timeout })
    }

    /// One call.
    pub async fn call(&self, method: &str, body: &Value) -> Result<Value, BotError> {
        self.within(method, body, self.timeout).await
    }

    /// The names of the bot. Success means that Telegram accepts the token.
    pub async fn me(&self) -> Result<BotIdentity, ChannelError> {
        let me = self.call("getMe", &json!({})).await?;
        let text = |name| me.get(name).and_then(Value::as_str).unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let username: String = text("username").chars().filter(|c| plain(*c)).collect();
        if username.is_empty() {
            return Err(ChannelError::again("Telegram's response has no name for the bot"));
        }
        Ok(BotIdentity { username, name: safe(text("first_name"), WORDS) })
    }

    /// Registers our hook with Telegram.
    pub async fn register_hook(&self, hook: &str, secret: &Token) -> Result<(), ChannelError> {
        let body = json!({
            "url": hook, "secret_token": secret.expose(), "max_connections": 4,
            "allowed_updates": ["message", "callback_query"],
        });
        self.call("setWebhook", &body).await?;
        Ok(())
    }

    /// Sends a text to one person's private chat.
    pub async fn send_direct(&self, chat: i64, text: &str) -> Result<(), ChannelError> {
        let body = json!({
            "chat_id": chat, "text": text, "protect_content": true,
            "link_preview_options": { "is_disabled": true },
        });
        self.call("sendMessage", &body).await?;
        Ok(())
    }

    /// The updates from `offset` on; Telegram deletes those before it.
    pub async fn updates(&self, offset: Option<i64>) -> Result<Vec<Value>, ChannelError> {
        let mut body = json!({
            "timeout": HOLD.as_secs(), "limit": UPDATES,
            "allowed_updates": ["message", "callback_query"],
        });
        if let (Some(offset), Some(members)) = (offset, body.as_object_mut()) {
            members.insert("offset".to_owned(), offset.into());
        }
        match self.within("getUpdates", &body, HOLD + self.timeout).await? {
            Value::Array(updates) => Ok(updates),
            _ => Err(ChannelError::again("the response is not from the Telegram Bot API")),
        }
    }

    /// Makes Telegram delete all updates before this one.
    pub async fn forget(&self, next: Option<i64>) -> Result<(), ChannelError> {
        let body = json!({ "offset": next, "timeout": 0, "limit": 1 });
        self.call("getUpdates", &body).await?;
        Ok(())
    }

    async fn within(&self, method: &str, body: &Value, time: Duration) -> Result<Value, BotError> {
        let url = self.base.join(&format!("/bot{}/{method}", self.token.expose()));
        let url = url.map_err(ChannelError::permanent)?;
        let headers = [("content-type", "application/json"), ("user-agent", USER_AGENT)];
        let body = body.to_string().into_bytes();
        let request = HttpRequest { method: "POST", url: &url, headers: &headers, body };
        let reply = self.client.exchange(request, time).await.map_err(ChannelError::from)?;
        let status = reply.status;
        let mut answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        if (200..300).contains(&status) && answer.get("ok") == Some(&Value::Bool(true)) {
            return Ok(answer.get_mut("result").map(Value::take).unwrap_or_default());
        }
        let mut refusal = self.refusal(status, &answer);
        refusal.error.retry_after = refusal.error.retry_after.or(reply.retry_after);
        Err(refusal)
    }

    fn refusal(&self, status: u16, answer: &Value) -> BotError {
        let code = answer.get("error_code").and_then(Value::as_u64);
        let code = code.and_then(|code| u16::try_from(code).ok()).unwrap_or(status);
        let description = answer.get("description").and_then(Value::as_str).unwrap_or_default();
        let parameter = |name| answer.get("parameters").and_then(|all| all.get(name));
        // A response must not be able to put the token into our log.
        let words = match safe(description, WORDS) {
            words if words.contains(self.token.expose()) => String::new(),
            words => words,
        };
        let error = match code {
            200..=299 => ChannelError::again("the response is not from the Telegram Bot API"),
            401 | 404 => ChannelError::permanent(
                "Telegram rejected the bot's token: it is incomplete or was revoked; \
                 get a new one from BotFather",
            ),
            403 => ChannelError::permanent(format!("the bot may not write in this chat: {words}")),
            409 => ChannelError::again(
                "another program reads this bot's messages, or a webhook is set for it: \
                 Countersign needs a bot of its own",
            ),
            429 => {
                let seconds = parameter("retry_after").and_then(Value::as_u64);
                let pause = seconds.map(|seconds| Duration::from_secs(seconds.min(LONGEST_PAUSE)));
                let error = ChannelError::again("Telegram's rate limit is reached");
                ChannelError { retry_after: pause, ..error }
            }
            408 | 425 | 500.. => ChannelError::again(format!("Telegram answered {code}")),
            _ => match parameter("migrate_to_chat_id").and_then(Value::as_i64) {
                Some(chat) => ChannelError::permanent(format!(
                    "the group has a new id: set chat = {chat} in the configuration"
                )),
                None => ChannelError::permanent(format!("Telegram answered {code}: {words}")),
            },
        };
        BotError { error, description: description.to_owned() }
    }
}

/// Whether this can be a bot's token, which becomes part of a URL.
fn looks_right(token: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    token.split_once(':').is_some_and(|(number, secret)| {
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && secret.len() >= 20
            && secret.bytes().all(plain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    fn bot() -> Bot {
        let token = Token::parse(TOKEN).unwrap();
        Bot::new(BASE_URL, token, false, Duration::from_secs(1)).unwrap()
    }

    #[test]
    fn refusals_mean_what_telegram_documents() {
        let bot = bot();
        let refused = |code: u16, parameters: Value| {
            let answer = json!({
                "ok": false, "error_code": code, "description": format!("Bad: {TOKEN}"),
                "parameters": parameters,
            });
            bot.refusal(code, &answer).error
        };
        for (code, permanent) in [
            (400, true),
            (401, true),
            (403, true),
            (404, true),
            (409, false),
            (429, false),
            (500, false),
            (502, false),
            (302, true),
        ] {
            let error = refused(code, Value::Null);
            assert_eq!(error.permanent, permanent, "{code}");
            assert!(!error.problem.contains("AAAA"), "{code}: {error}");
        }
        let slow = refused(429, json!({ "retry_after": 17 }));
        assert_eq!(slow.retry_after, Some(Duration::from_secs(17)));
        let endless = refused(429, json!({ "retry_after": u64::MAX }));
        assert_eq!(endless.retry_after, Some(Duration::from_hours(1)));
        let moved = refused(400, json!({ "migrate_to_chat_id": -100_123 }));
        assert!(moved.problem.contains("chat = -100123"), "{moved}");
        // `ok` is not `true`.
        assert!(!bot.refusal(200, &json!({ "ok": 1 })).error.permanent);
    }

    #[test]
    fn a_token_never_leads_elsewhere_and_never_shows() {
        for bad in
            ["", "abc", "1:short", "x:AAAAAAAAAAAAAAAAAAAAAAAA", "1:AAAAAAAAAAAAAAAAAAAA/../x"]
        {
            let token = Token::parse(bad);
            let made = token.map(|token| Bot::new(BASE_URL, token, false, Duration::ZERO).is_ok());
            assert!(made != Some(true), "{bad}");
        }
        assert!(base_problem("http://127.0.0.1:9000", false).is_some());
        assert_eq!(base_problem("http://127.0.0.1:9000", true), None);
        assert_eq!(base_problem(BASE_URL, false), None);
        assert!(!format!("{:?}", bot()).contains("AAAA"));
    }
}
