//! The settings of a channel, and the channel created from them.

use std::sync::Arc;

use countersign_types::tier::Tier;

use crate::command::{self, Command};
use crate::desktop::{self, Desktop};
use crate::discord::{self, Discord};
use crate::email::{self, Email};
use crate::ntfy::{self, Ntfy};
use crate::slack::{self, Slack};
use crate::sms::{self, Sms};
use crate::telegram::{self, Telegram};
use crate::terminal::Terminal;
use crate::webhook::{self, Webhook};
use crate::webpush::{self, WebPush};
use crate::{Channel, ChannelError};

/// Limits that every channel has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The highest tier that it may carry.
    pub most: Tier,
    /// The most messages per minute.
    pub per_minute: u32,
    /// The highest tier that can be approved through it.
    pub approves: Tier,
    /// Whether its messages include the call. Without that it approves nothing.
    pub details: bool,
    /// Whether it interrupts a person away from the desk; then it waits a little while they are
    /// active in the inbox.
    pub rings: bool,
}

/// One kind of channel with its settings. It has paths of secret files, never a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settings {
    /// Signed messages to a URL.
    Webhook(webhook::Settings),
    /// Push messages through an ntfy server.
    Ntfy(ntfy::Settings),
    /// E-mail through a mail server.
    Email(email::Settings),
    /// Short messages through Twilio.
    Sms(sms::Settings),
    /// Notifications on this desktop.
    Desktop(desktop::Settings),
    /// A line on the daemon's own terminal.
    Terminal,
    /// A program of the operator.
    Command(command::Settings),
    /// Browsers that subscribed to Web Push.
    WebPush(webpush::Settings),
    /// A bot on Telegram.
    Telegram(telegram::Settings),
    /// A channel on Discord.
    Discord(discord::Settings),
    /// A channel on Slack.
    Slack(slack::Settings),
}

impl Settings {
    /// The value of `kind` in the configuration.
    pub const fn kind(&self) -> &'static str {
        match self {
            Settings::Webhook(_) => "webhook",
            Settings::Ntfy(_) => "ntfy",
            Settings::Email(_) => "email",
            Settings::Sms(_) => "sms",
            Settings::Desktop(_) => "desktop",
            Settings::Terminal => "terminal",
            Settings::Command(_) => "command",
            Settings::WebPush(_) => "webpush",
            Settings::Telegram(_) => "telegram",
            Settings::Discord(_) => "discord",
            Settings::Slack(_) => "slack",
        }
    }

    /// The default limits of a channel of this kind.
    pub const fn usual(kind: &str) -> Limits {
        let per_minute = match kind.as_bytes() {
            b"desktop" => 30,
            // Telegram refuses more than one message per second in a chat.
            b"telegram" => 60,
            _ => 120,
        };
        let usual = Limits {
            most: Tier::Critical,
            per_minute,
            approves: Tier::Safe,
            details: false,
            rings: !matches!(kind.as_bytes(), b"desktop" | b"terminal" | b"command"),
        };
        match kind.as_bytes() {
            // Chats are usually limited to the people who are asked, so they may show the call.
            b"telegram" | b"discord" | b"slack" => {
                Limits { approves: Tier::High, details: true, ..usual }
            }
            b"sms" | b"ntfy" => Limits { approves: Tier::Medium, ..usual },
            _ => usual,
        }
    }

    /// Opens the channel; fails for example if a secret is missing or readable by other users.
    pub fn open(&self, name: &str, limits: Limits) -> Result<Arc<dyn Channel>, ChannelError> {
        let (name, most) = (name.to_owned(), limits.most);
        Ok(match self {
            Settings::Webhook(settings) => Arc::new(Webhook::open(name, most, settings)?),
            Settings::Ntfy(settings) => Arc::new(Ntfy::open(name, most, settings)?),
            Settings::Email(settings) => Arc::new(Email::open(name, most, settings)?),
            Settings::Sms(settings) => Arc::new(Sms::open(name, most, settings)?),
            Settings::Desktop(settings) => Arc::new(Desktop::new(name, most, settings.clone())),
            Settings::Terminal => Arc::new(Terminal::new(name, most)),
            Settings::Command(settings) => Arc::new(Command::new(name, most, settings.clone())),
            // The daemon replaces the empty list of browsers: see `WebPush::new`.
            Settings::WebPush(settings) => {
                Arc::new(WebPush::new(&name, limits, settings, Arc::default()))
            }
            Settings::Telegram(settings) => Arc::new(Telegram::open(name, most, settings)?),
            Settings::Discord(settings) => Arc::new(Discord::open(name, most, settings)?),
            Settings::Slack(settings) => Arc::new(Slack::open(name, most, settings)?),
        })
    }
}
