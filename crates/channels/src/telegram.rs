//! Telegram: a bot posts requests with buttons in a chat; linked people tap them or type a command.

pub mod bot;
mod poll_position;
mod receipts;
mod render;
mod reply_limit;
mod settings;
mod start;
mod updates;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

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
use crate::{ChannelFuture, PersonReply, Receipt};
use bot::{Bot, BotError, BotIdentity};
use poll_position::PollPosition;
use receipts::{SentMessages, read_receipt};
use reply_limit::ReplyLimit;
pub use settings::{TelegramSettings, UpdateMode};
pub use start::{Started, started};

/// The header with which Telegram authenticates to our hook.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// The maximum length of a toast, and the length from which on it needs a tap to close.
const MAX_TOAST: usize = 200;
const ALERT_LENGTH: usize = 60;
/// The maximum length of a text.
const LONGEST: usize = 4096;
/// The minimum pause between polls, where the server does not keep them open.
const MIN_POLL_PAUSE: Duration = Duration::from_millis(200);

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
    sent: SentMessages,
    replies: ReplyLimit,
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
            sent: SentMessages::default(),
            replies: ReplyLimit::default(),
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
        Ok(self.sent.receipt(self.chat, news.request, number))
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
        if chat != self.chat && !self.replies.allows(chat, Instant::now()) {
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

/// Whether Telegram no longer accepts an answer to a button.
fn too_late(refusal: &BotError) -> bool {
    refusal.says("query is too old") || refusal.says("query ID is invalid")
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

    fn direct_message<'a>(
        &'a self,
        account: &'a str,
        text: &'a str,
    ) -> Option<ChannelFuture<'a, ()>> {
        // Groups have negative numbers; a private chat has the number of its person.
        let chat = account.parse::<i64>().ok().filter(|chat| *chat > 0)?;
        Some(Box::pin(async move {
            let body = json!({
                "chat_id": chat, "text": render::cut(text, LONGEST), "protect_content": true,
                "link_preview_options": { "is_disabled": true },
            });
            self.bot.call("sendMessage", &body).await?;
            Ok(())
        }))
    }

    fn supports_test_button(&self) -> bool {
        true
    }

    fn link_url(&self, code: &str) -> Option<String> {
        let me = self.me.get()?;
        Some(format!("https://t.me/{}?start={code}", me.username))
    }
}
