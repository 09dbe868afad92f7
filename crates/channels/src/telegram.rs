//! Telegram: a bot posts requests with buttons in a chat; linked people tap them or type a command.

pub mod bot;
mod render;
mod updates;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_workflow::assurance::Assurance;
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::secret::Token;
use crate::{
    Announcement, Channel, ChannelError, HookError, HookRequest, HookResponse, ReceivedReplies,
    ReplyReceiver,
};
use crate::{ChannelFuture, PersonReply, Receipt, ReplyContent};
use bot::{Bot, BotError, BotIdentity};

/// The header with which Telegram authenticates to our hook.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// The maximum length of a toast, and the length from which on it needs a tap to close.
const MAX_TOAST: usize = 200;
const ALERT_LENGTH: usize = 60;
/// The maximum length of a text.
const LONGEST: usize = 4096;
/// Requests whose messages are remembered, and messages of one request.
const REMEMBERED: usize = 512;
const MESSAGES: usize = 8;
/// After this time without updates Telegram may restart its numbering.
const NUMBERING_LIFETIME: Duration = Duration::from_hours(72);
/// The minimum pause between polls, where the server does not keep them open.
const MIN_POLL_PAUSE: Duration = Duration::from_millis(200);
/// The rate limit of replies outside our own chat per minute, in total and per chat: strangers must
/// not use up the bot's own rate limit.
const MAX_REPLIES: usize = 30;
const MAX_REPLIES_PER_CHAT: usize = 10;
const MINUTE: Duration = Duration::from_mins(1);

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelegramSettings {
    /// The file of the bot's token, readable only by its owner.
    pub token_file: PathBuf,
    /// The id of the chat that gets the requests: a person's, or a group's, which is negative.
    pub chat: i64,
    /// The base URL of the Bot API.
    pub base_url: String,
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How replies are received.
    pub mode: UpdateMode,
}

/// How replies are received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateMode {
    /// By polling.
    Poll,
    /// Telegram calls our hook.
    Webhook {
        /// The public URL of our hook.
        hook: String,
        /// The file of the secret with which Telegram authenticates.
        secret_file: PathBuf,
    },
}

/// A bot in a chat.
#[derive(Debug)]
pub struct Telegram {
    name: String,
    max_tier: Tier,
    bot: Bot,
    chat: i64,
    hook: Option<(String, Token)>,
    me: OnceCell<BotIdentity>,
    position: Mutex<PollPosition>,
    asked: Mutex<VecDeque<(Id, Vec<i64>)>>,
    replied: Mutex<VecDeque<(Instant, i64)>>,
}

/// The position in the sequence of updates.
#[derive(Debug, Clone, Copy)]
struct PollPosition {
    /// The next update. Telegram deletes the updates before it, so it is requested only after they
    /// were handed over.
    next: Option<i64>,
    heard: Instant,
}

impl Telegram {
    /// Reads the token and the secret.
    pub fn open(
        name: String,
        max_tier: Tier,
        settings: &TelegramSettings,
    ) -> Result<Telegram, ChannelError> {
        let read =
            |path| Token::read(path).map_err(|error| ChannelError::permanent(error.to_string()));
        let token = read(&settings.token_file)?;
        let bot = Bot::new(&settings.base_url, token, settings.allow_private, settings.timeout)?;
        let hook = match &settings.mode {
            UpdateMode::Poll => None,
            UpdateMode::Webhook { hook, secret_file } => {
                let secret = read(secret_file)?;
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
                if !(16..=256).contains(&secret.expose().len())
                    || !secret.expose().bytes().all(plain)
                {
                    return Err(ChannelError::permanent(
                        "the hook's secret must have 16 to 256 of A-Z, a-z, 0-9, - and _",
                    ));
                }
                Some((hook.clone(), secret))
            }
        };
        Ok(Telegram {
            name,
            max_tier,
            bot,
            chat: settings.chat,
            hook,
            me: OnceCell::new(),
            position: Mutex::new(PollPosition { next: None, heard: Instant::now() }),
            asked: Mutex::default(),
            replied: Mutex::default(),
        })
    }

    async fn me(&self) -> Result<&BotIdentity, ChannelError> {
        self.me.get_or_try_init(|| self.bot.me()).await
    }

    async fn send(&self, news: &Announcement) -> Result<Receipt, ChannelError> {
        let text = render::text(news);
        let mut body = json!({
            "chat_id": self.chat, "text": text.text, "entities": text.entities,
            // No link previews: nothing may fetch a URL that an agent wrote.
            "link_preview_options": { "is_disabled": true },
        });
        let buttons = render::buttons(news);
        if let Some(members) = body.as_object_mut().filter(|_| !buttons.is_empty()) {
            members.insert("reply_markup".to_owned(), json!({ "inline_keyboard": buttons }));
        }
        let sent = self.bot.call("sendMessage", &body).await?;
        let number = sent.get("message_id").and_then(Value::as_i64);
        let number =
            number.ok_or_else(|| ChannelError::again("Telegram's response has no message id"))?;
        Ok(self.receipt(news.request, number))
    }

    /// All messages about a request that are known, the newest last: `chat:1,2`.
    fn receipt(&self, request: Id, number: i64) -> Receipt {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let at = asked.iter().position(|(id, _)| *id == request);
        let mut numbers = at.and_then(|at| asked.remove(at)).map(|(_, numbers)| numbers);
        let numbers = numbers.get_or_insert_default();
        numbers.push(number);
        if numbers.len() > MESSAGES {
            numbers.remove(0);
        }
        if asked.len() >= REMEMBERED {
            asked.pop_front();
        }
        let written: Vec<String> = numbers.iter().map(i64::to_string).collect();
        asked.push_back((request, std::mem::take(numbers)));
        Receipt(format!("{}:{}", self.chat, written.join(",")))
    }

    /// Edits every message to say how the request ended, and removes the buttons.
    async fn end(&self, prompt: &Receipt, end: &Announcement) -> Result<(), ChannelError> {
        let text = render::text(end);
        let Some((chat, numbers)) = read_receipt(prompt) else {
            return Err(ChannelError::permanent(
                "the stored message id is not a Telegram message id",
            ));
        };
        let mut result = Ok(());
        for number in numbers {
            let body = json!({
                "chat_id": chat, "message_id": number, "text": text.text,
                "entities": text.entities, "link_preview_options": { "is_disabled": true },
                "reply_markup": { "inline_keyboard": [] },
            });
            match self.bot.call("editMessageText", &body).await {
                Ok(_) => {}
                // The message says so already, or was deleted.
                Err(refusal)
                    if refusal.says("message is not modified")
                        || refusal.says("message to edit not found") => {}
                Err(refusal) => result = Err(refusal.error),
            }
        }
        result
    }

    async fn poll(&self) -> Result<Vec<PersonReply>, ChannelError> {
        let us = self.me().await?;
        let began = Instant::now();
        let offset = self.position.lock().unwrap_or_else(PoisonError::into_inner).offset(began);
        let updates = self.bot.updates(offset).await?;
        if updates.is_empty() && began.elapsed() < MIN_POLL_PAUSE {
            tokio::time::sleep(MIN_POLL_PAUSE).await;
        }
        if let Some(newest) = updates.iter().filter_map(updates::number).max() {
            let next = Some(newest.saturating_add(1));
            let mut place = self.position.lock().unwrap_or_else(PoisonError::into_inner);
            *place = PollPosition { next, heard: Instant::now() };
        }
        let word = |update| updates::parse(update, self.chat, Some(&us.username));
        Ok(updates.iter().filter_map(word).collect())
    }

    /// Registers our hook with Telegram.
    async fn register_hook(&self, hook: &str, secret: &Token) -> Result<(), ChannelError> {
        self.me().await?;
        let body = json!({
            "url": hook, "secret_token": secret.expose(), "max_connections": 4,
            "allowed_updates": ["message", "callback_query"],
        });
        self.bot.call("setWebhook", &body).await?;
        Ok(())
    }

    /// Whether the rate limit allows a reply in this chat.
    fn may_reply(&self, chat: i64, now: Instant) -> bool {
        if chat == self.chat {
            return true;
        }
        let mut replied = self.replied.lock().unwrap_or_else(PoisonError::into_inner);
        replied.retain(|(at, _)| now.duration_since(*at) < MINUTE);
        let here = replied.iter().filter(|(_, known)| *known == chat).count();
        let room = here < MAX_REPLIES_PER_CHAT && replied.len() < MAX_REPLIES;
        if room {
            replied.push_back((now, chat));
        }
        room
    }

    async fn send_reply(&self, received: &PersonReply, reply: &str) -> Result<(), ChannelError> {
        let bad = || ChannelError::permanent("the reply has no chat to answer in");
        let (kind, rest) = received.reply_to.split_once(':').ok_or_else(bad)?;
        if kind == "q" {
            let body = json!({
                "callback_query_id": rest, "text": render::cut(reply, MAX_TOAST),
                "show_alert": render::units(reply) > ALERT_LENGTH,
            });
            return match self.bot.call("answerCallbackQuery", &body).await {
                Err(refusal) if !too_late(&refusal) => Err(refusal.error),
                _ => Ok(()),
            };
        }
        let numbers = rest.split_once(':').ok_or_else(bad)?;
        let (Ok(chat), Ok(number)) = (numbers.0.parse::<i64>(), numbers.1.parse::<i64>()) else {
            return Err(bad());
        };
        if !self.may_reply(chat, Instant::now()) {
            return Ok(());
        }
        let body = json!({
            "chat_id": chat, "text": render::cut(reply, LONGEST),
            "link_preview_options": { "is_disabled": true },
            "reply_parameters": { "message_id": number, "allow_sending_without_reply": true },
        });
        self.bot.call("sendMessage", &body).await?;
        Ok(())
    }
}

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

/// Whether Telegram no longer accepts an answer to a button.
fn too_late(refusal: &BotError) -> bool {
    refusal.says("query is too old") || refusal.says("query ID is invalid")
}

fn read_receipt(receipt: &Receipt) -> Option<(i64, Vec<i64>)> {
    let (chat, numbers) = receipt.0.split_once(':')?;
    let numbers: Result<Vec<i64>, _> = numbers.split(',').map(str::parse).collect();
    Some((chat.parse().ok()?, numbers.ok()?))
}

impl PollPosition {
    /// The offset of the next poll.
    fn offset(&self, now: Instant) -> Option<i64> {
        self.next.filter(|_| now.duration_since(self.heard) < NUMBERING_LIFETIME)
    }
}

impl Channel for Telegram {
    fn name(&self) -> &str {
        &self.name
    }

    fn max_tier(&self) -> Tier {
        self.max_tier
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> ChannelFuture<'a, Receipt> {
        Box::pin(self.send(news))
    }

    fn withdraw<'a>(
        &'a self,
        prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> ChannelFuture<'a, ()> {
        Box::pin(async move {
            match prompt {
                Some(prompt) => self.end(prompt, end).await,
                // A message may exist whose id is unknown, so a new one says how it ended.
                None => self.send(end).await.map(|_| ()),
            }
        })
    }

    fn reply_receiver(&self) -> Option<&dyn ReplyReceiver> {
        Some(self)
    }
}

impl ReplyReceiver for Telegram {
    fn assurance(&self) -> Assurance {
        Assurance::Linked
    }

    fn shows_whole_call(&self, news: &Announcement) -> bool {
        render::shows_whole(news)
    }

    fn listen(&self) -> ChannelFuture<'_, Vec<PersonReply>> {
        Box::pin(async {
            match &self.hook {
                None => self.poll().await,
                Some((hook, secret)) => {
                    self.register_hook(hook, secret).await?;
                    std::future::pending().await
                }
            }
        })
    }

    fn receive(&self, posted: &HookRequest<'_>) -> Result<ReceivedReplies, HookError> {
        let (_, secret) = self.hook.as_ref().ok_or(HookError::NoHook)?;
        let given = (posted.header)(SECRET_HEADER).ok_or(HookError::Forged)?;
        if !bool::from(given.as_bytes().ct_eq(secret.expose().as_bytes())) {
            return Err(HookError::Forged);
        }
        let update: Value =
            serde_json::from_slice(posted.body).map_err(|_| HookError::Unreadable)?;
        let us = self.me.get().map(|me| me.username.as_str());
        let replies = updates::parse(&update, self.chat, us).into_iter().collect();
        Ok(ReceivedReplies { replies, response: HookResponse::default() })
    }

    fn reply<'a>(&'a self, received: &'a PersonReply, reply: &'a str) -> ChannelFuture<'a, ()> {
        Box::pin(self.send_reply(received, reply))
    }

    fn supports_test_button(&self) -> bool {
        true
    }

    fn link_url(&self, code: &str) -> Option<String> {
        let me = self.me.get()?;
        Some(format!("https://t.me/{}?start={code}", me.username))
    }
}
