//! Telegram: a bot posts requests with buttons in a chat; linked people tap them or type a command.

pub mod bot;
mod said;
mod text;

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
use crate::{Announcement, Answers, Channel, ChannelError, Heard, NotHeard, Posted, Posting};
use crate::{Receipt, Said, Sending, Word};
use bot::{Bot, Me, Refusal};

/// The header with which Telegram authenticates to our hook.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// The longest toast, and from where on it waits for a tap.
const TOAST: usize = 200;
const GLANCE: usize = 60;
/// The longest text.
const LONGEST: usize = 4096;
/// Requests whose messages are remembered, and messages of one request.
const REMEMBERED: usize = 512;
const MESSAGES: usize = 8;
/// After this time without updates Telegram may restart its numbering.
const COUNTS_ANEW: Duration = Duration::from_hours(72);
/// Between two questions for news, where the other side does not let us wait.
const BREATH: Duration = Duration::from_millis(200);
/// Replies in a minute outside our own chat, in all and to one chat: strangers must not use up
/// what Telegram lets a bot say.
const REPLIES: usize = 30;
const REPLIES_EACH: usize = 10;
const MINUTE: Duration = Duration::from_mins(1);

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The file of the bot's token, readable only by its owner.
    pub token_file: PathBuf,
    /// The chat in which it asks: a person's number, or a group's, which is negative.
    pub chat: i64,
    /// The base URL of the Bot API.
    pub base_url: String,
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How answers come.
    pub mode: Mode,
}

/// How answers come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// We ask for them.
    Poll,
    /// Telegram brings them.
    Webhook {
        /// The address of our hook, as Telegram reaches it.
        hook: String,
        /// The file of the secret by which we know that it is Telegram.
        secret_file: PathBuf,
    },
}

/// A bot in a chat.
#[derive(Debug)]
pub struct Telegram {
    name: String,
    most: Tier,
    bot: Bot,
    chat: i64,
    hook: Option<(String, Token)>,
    me: OnceCell<Me>,
    place: Mutex<Place>,
    asked: Mutex<VecDeque<(Id, Vec<i64>)>>,
    replied: Mutex<VecDeque<(Instant, i64)>>,
}

/// Where we are in what people say.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The first update that was not handed over yet. Telegram forgets those before it as soon as
    /// it hears this, so it is said only after somebody else has them.
    next: Option<i64>,
    heard: Instant,
}

impl Telegram {
    /// Reads the token and the secret.
    pub fn open(name: String, most: Tier, settings: &Settings) -> Result<Telegram, ChannelError> {
        let read =
            |path| Token::read(path).map_err(|error| ChannelError::permanent(error.to_string()));
        let token = read(&settings.token_file)?;
        let bot = Bot::new(&settings.base_url, token, settings.allow_private, settings.timeout)?;
        let hook = match &settings.mode {
            Mode::Poll => None,
            Mode::Webhook { hook, secret_file } => {
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
            most,
            bot,
            chat: settings.chat,
            hook,
            me: OnceCell::new(),
            place: Mutex::new(Place { next: None, heard: Instant::now() }),
            asked: Mutex::default(),
            replied: Mutex::default(),
        })
    }

    async fn me(&self) -> Result<&Me, ChannelError> {
        self.me.get_or_try_init(|| self.bot.me()).await
    }

    async fn send(&self, news: &Announcement) -> Result<Receipt, ChannelError> {
        let text = text::text(news);
        let mut body = json!({
            "chat_id": self.chat, "text": text.text, "entities": text.entities,
            // No link previews: nothing may fetch a URL that an agent wrote.
            "link_preview_options": { "is_disabled": true },
        });
        let buttons = text::buttons(news);
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

    /// Says in every message how it ended, and takes the buttons away.
    async fn end(&self, prompt: &Receipt, end: &Announcement) -> Result<(), ChannelError> {
        let text = text::text(end);
        let Some((chat, numbers)) = read_receipt(prompt) else {
            return Err(ChannelError::permanent("the stored message id is not one of Telegram"));
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
                // It says so already, or somebody took it away.
                Err(refusal)
                    if refusal.says("message is not modified")
                        || refusal.says("message to edit not found") => {}
                Err(refusal) => result = Err(refusal.error),
            }
        }
        result
    }

    async fn poll(&self) -> Result<Vec<Word>, ChannelError> {
        let us = self.me().await?;
        let began = Instant::now();
        let offset = self.place.lock().unwrap_or_else(PoisonError::into_inner).offset(began);
        let updates = self.bot.updates(offset).await?;
        if updates.is_empty() && began.elapsed() < BREATH {
            tokio::time::sleep(BREATH).await;
        }
        if let Some(newest) = updates.iter().filter_map(said::number).max() {
            let next = Some(newest.saturating_add(1));
            let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
            *place = Place { next, heard: Instant::now() };
        }
        let word = |update| said::word(update, self.chat, Some(&us.username));
        Ok(updates.iter().filter_map(word).collect())
    }

    /// Tells Telegram where our hook is.
    async fn hang_up_hook(&self, hook: &str, secret: &Token) -> Result<(), ChannelError> {
        self.me().await?;
        let body = json!({
            "url": hook, "secret_token": secret.expose(), "max_connections": 4,
            "allowed_updates": ["message", "callback_query"],
        });
        self.bot.call("setWebhook", &body).await?;
        Ok(())
    }

    /// Whether there is room for a reply in this chat.
    fn may_reply(&self, chat: i64, now: Instant) -> bool {
        if chat == self.chat {
            return true;
        }
        let mut replied = self.replied.lock().unwrap_or_else(PoisonError::into_inner);
        replied.retain(|(at, _)| now.duration_since(*at) < MINUTE);
        let here = replied.iter().filter(|(_, known)| *known == chat).count();
        let room = here < REPLIES_EACH && replied.len() < REPLIES;
        if room {
            replied.push_back((now, chat));
        }
        room
    }

    async fn say(&self, word: &Word, reply: &str) -> Result<(), ChannelError> {
        let bad = || ChannelError::permanent("the reply has no chat to answer in");
        let (kind, rest) = word.reply_to.split_once(':').ok_or_else(bad)?;
        if kind == "q" {
            let body = json!({
                "callback_query_id": rest, "text": text::cut(reply, TOAST),
                "show_alert": text::units(reply) > GLANCE,
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
            "chat_id": chat, "text": text::cut(reply, LONGEST),
            "link_preview_options": { "is_disabled": true },
            "reply_parameters": { "message_id": number, "allow_sending_without_reply": true },
        });
        self.bot.call("sendMessage", &body).await?;
        Ok(())
    }
}

/// Who pressed Start with a code of ours, read from an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Their own chat with the bot, and what they call themselves.
    pub chat: Option<(i64, String)>,
    /// The number of the next update.
    pub next: Option<i64>,
}

/// Whether an update says that somebody pressed Start with this code, in a chat of their own.
pub fn started(update: &Value, code: &str, bot: &str) -> Started {
    let next = said::number(update).map(|number| number.saturating_add(1));
    // No group has the number 0: only private chats are heard.
    let word = said::word(update, 0, Some(bot));
    let word = word.filter(|word| word.said == Said::Link(code.to_owned()));
    let chat = word.and_then(|word| Some((word.account.parse().ok()?, word.called)));
    Started { chat, next }
}

/// A tap that Telegram no longer waits for.
fn too_late(refusal: &Refusal) -> bool {
    refusal.says("query is too old") || refusal.says("query ID is invalid")
}

fn read_receipt(receipt: &Receipt) -> Option<(i64, Vec<i64>)> {
    let (chat, numbers) = receipt.0.split_once(':')?;
    let numbers: Result<Vec<i64>, _> = numbers.split(',').map(str::parse).collect();
    Some((chat.parse().ok()?, numbers.ok()?))
}

impl Place {
    /// From where on to ask.
    fn offset(&self, now: Instant) -> Option<i64> {
        self.next.filter(|_| now.duration_since(self.heard) < COUNTS_ANEW)
    }
}

impl Channel for Telegram {
    fn name(&self) -> &str {
        &self.name
    }

    fn most(&self) -> Tier {
        self.most
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> Sending<'a, Receipt> {
        Box::pin(self.send(news))
    }

    fn withdraw<'a>(
        &'a self,
        prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> Sending<'a, ()> {
        Box::pin(async move {
            match prompt {
                Some(prompt) => self.end(prompt, end).await,
                // Somebody may have been asked: they are told, though the question stays.
                None => self.send(end).await.map(|_| ()),
            }
        })
    }

    fn answers(&self) -> Option<&dyn Answers> {
        Some(self)
    }
}

impl Answers for Telegram {
    fn assurance(&self) -> Assurance {
        Assurance::Linked
    }

    fn shows_whole(&self, news: &Announcement) -> bool {
        text::shows_whole(news)
    }

    fn listen(&self) -> Sending<'_, Vec<Word>> {
        Box::pin(async {
            match &self.hook {
                None => self.poll().await,
                Some((hook, secret)) => {
                    self.hang_up_hook(hook, secret).await?;
                    std::future::pending().await
                }
            }
        })
    }

    fn hear(&self, posted: &Posted<'_>) -> Result<Heard, NotHeard> {
        let (_, secret) = self.hook.as_ref().ok_or(NotHeard::NoHook)?;
        let given = (posted.header)(SECRET_HEADER).ok_or(NotHeard::Forged)?;
        if !bool::from(given.as_bytes().ct_eq(secret.expose().as_bytes())) {
            return Err(NotHeard::Forged);
        }
        let update: Value =
            serde_json::from_slice(posted.body).map_err(|_| NotHeard::Unreadable)?;
        let us = self.me.get().map(|me| me.username.as_str());
        let words = said::word(&update, self.chat, us).into_iter().collect();
        Ok(Heard { words, answer: Posting::default() })
    }

    fn reply<'a>(&'a self, word: &'a Word, reply: &'a str) -> Sending<'a, ()> {
        Box::pin(self.say(word, reply))
    }

    fn tries(&self) -> bool {
        true
    }

    fn opens(&self, code: &str) -> Option<String> {
        let me = self.me.get()?;
        Some(format!("https://t.me/{}?start={code}", me.username))
    }
}
