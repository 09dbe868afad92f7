//! The settings of a channel, and the channel created from them.

use std::sync::Arc;

use countersign_types::tier::Tier;

use crate::command::{self, CommandChannel};
use crate::desktop::{self, Desktop};
use crate::discord::{self, Discord};
use crate::email::{self, Email};
use crate::limits::ChannelLimits;
use crate::ntfy::{self, Ntfy};
use crate::slack::{self, Slack};
use crate::sms::{self, Sms};
use crate::telegram::{self, Telegram};
use crate::terminal::TerminalChannel;
use crate::webhook::{self, Webhook};
use crate::webpush::{self, WebPush};
use crate::{Channel, ChannelError};

/// One kind of channel with its settings. It has paths of secret files, never a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelSettings {
    /// Signed messages to a URL.
    Webhook(webhook::WebhookSettings),
    /// Push messages through an ntfy server.
    Ntfy(ntfy::NtfySettings),
    /// E-mail through a mail server.
    Email(email::EmailSettings),
    /// Short messages through Twilio.
    Sms(sms::SmsSettings),
    /// Notifications on this desktop.
    Desktop(desktop::DesktopSettings),
    /// A line on the daemon's own terminal.
    Terminal,
    /// A program of the operator.
    Command(command::CommandSettings),
    /// Browsers that subscribed to Web Push.
    WebPush(webpush::WebPushSettings),
    /// A bot on Telegram.
    Telegram(telegram::TelegramSettings),
    /// A channel on Discord.
    Discord(discord::DiscordSettings),
    /// A channel on Slack.
    Slack(slack::SlackSettings),
}

impl ChannelSettings {
    /// The value of `kind` in the configuration.
    pub const fn kind(&self) -> &'static str {
        match self {
            ChannelSettings::Webhook(_) => "webhook",
            ChannelSettings::Ntfy(_) => "ntfy",
            ChannelSettings::Email(_) => "email",
            ChannelSettings::Sms(_) => "sms",
            ChannelSettings::Desktop(_) => "desktop",
            ChannelSettings::Terminal => "terminal",
            ChannelSettings::Command(_) => "command",
            ChannelSettings::WebPush(_) => "webpush",
            ChannelSettings::Telegram(_) => "telegram",
            ChannelSettings::Discord(_) => "discord",
            ChannelSettings::Slack(_) => "slack",
        }
    }

    /// The default limits of a channel of this kind.
    pub const fn usual(kind: &str) -> ChannelLimits {
        let per_minute = match kind.as_bytes() {
            b"desktop" => 30,
            // Telegram refuses more than one message per second in a chat.
            b"telegram" => 60,
            _ => 120,
        };
        let usual = ChannelLimits {
            max_tier: Tier::Critical,
            per_minute,
            approves: Tier::Safe,
            details: false,
            crisis_words: false,
            interrupts: !matches!(kind.as_bytes(), b"desktop" | b"terminal" | b"command"),
        };
        match kind.as_bytes() {
            // Chats are usually limited to the people who are asked, so they may show the call.
            b"telegram" | b"discord" | b"slack" => {
                ChannelLimits { approves: Tier::High, details: true, crisis_words: true, ..usual }
            }
            b"sms" | b"ntfy" => ChannelLimits { approves: Tier::Medium, ..usual },
            _ => usual,
        }
    }

    /// Opens the channel; fails for example if a secret is missing or readable by other users.
    pub fn open(
        &self,
        name: &str,
        limits: ChannelLimits,
    ) -> Result<Arc<dyn Channel>, ChannelError> {
        let (name, max_tier) = (name.to_owned(), limits.max_tier);
        Ok(match self {
            ChannelSettings::Webhook(settings) => {
                Arc::new(Webhook::open(name, max_tier, settings)?)
            }
            ChannelSettings::Ntfy(settings) => Arc::new(Ntfy::open(name, max_tier, settings)?),
            ChannelSettings::Email(settings) => Arc::new(Email::open(name, max_tier, settings)?),
            ChannelSettings::Sms(settings) => Arc::new(Sms::open(name, max_tier, settings)?),
            ChannelSettings::Desktop(settings) => {
                Arc::new(Desktop::new(name, max_tier, settings.clone()))
            }
            ChannelSettings::Terminal => Arc::new(TerminalChannel::new(name, max_tier)),
            ChannelSettings::Command(settings) => {
                Arc::new(CommandChannel::new(name, max_tier, settings.clone()))
            }
            // The daemon replaces the empty list of browsers: see `WebPush::new`.
            ChannelSettings::WebPush(settings) => {
                Arc::new(WebPush::new(&name, limits, settings, Arc::default()))
            }
            ChannelSettings::Telegram(settings) => {
                Arc::new(Telegram::open(name, max_tier, settings)?)
            }
            ChannelSettings::Discord(settings) => {
                Arc::new(Discord::open(name, max_tier, settings)?)
            }
            ChannelSettings::Slack(settings) => Arc::new(Slack::open(name, max_tier, settings)?),
        })
    }
}
