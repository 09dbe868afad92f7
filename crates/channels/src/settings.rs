//! What an operator sets up for a channel, and the channel made of it.

use std::sync::Arc;

use countersign_core::tier::Tier;

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

/// What every channel keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The gravest tier it may carry.
    pub most: Tier,
    /// So many messages in a minute.
    pub per_minute: u32,
    /// The gravest tier that can be approved through it.
    pub approves: Tier,
    /// Whether the call itself may stand in its messages. Without that it approves nothing.
    pub details: bool,
    /// Whether it reaches a person away from the desk, and waits a little while they sit there.
    pub rings: bool,
}

/// One kind of channel with its settings. Holds names of files with secrets, never a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settings {
    /// Signed messages to a URL.
    Webhook(webhook::Settings),
    /// Push messages through an ntfy server.
    Ntfy(ntfy::Settings),
    /// Letters through a mail server.
    Email(email::Settings),
    /// Short messages through Twilio.
    Sms(sms::Settings),
    /// Notifications on this desktop.
    Desktop(desktop::Settings),
    /// A line on the daemon's own terminal.
    Terminal,
    /// A program of the operator's.
    Command(command::Settings),
    /// Browsers that asked to be called.
    WebPush(webpush::Settings),
    /// A bot on Telegram.
    Telegram(telegram::Settings),
    /// A channel on Discord.
    Discord(discord::Settings),
    /// A channel on Slack.
    Slack(slack::Settings),
}

impl Settings {
    /// The word for the kind.
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

    /// What a channel of this kind keeps to unless the operator says otherwise.
    pub const fn usual(kind: &str) -> Limits {
        let per_minute = match kind.as_bytes() {
            b"desktop" => 30,
            // More than one a second in a chat is refused.
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
            // Chats between few: what they show stays with who is asked.
            b"telegram" | b"discord" | b"slack" => {
                Limits { approves: Tier::High, details: true, ..usual }
            }
            b"sms" | b"ntfy" => Limits { approves: Tier::Medium, ..usual },
            _ => usual,
        }
    }

    /// The channel, or why there can be none: a secret that is missing or open to others, say.
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
            // Without the daemon's list it calls nobody: see `WebPush::new`.
            Settings::WebPush(settings) => {
                Arc::new(WebPush::new(&name, limits, settings, Arc::default()))
            }
            Settings::Telegram(settings) => Arc::new(Telegram::open(name, most, settings)?),
            Settings::Discord(settings) => Arc::new(Discord::open(name, most, settings)?),
            Settings::Slack(settings) => Arc::new(Slack::open(name, most, settings)?),
        })
    }
}
