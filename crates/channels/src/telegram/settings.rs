//! The settings of a Telegram channel.

use std::path::PathBuf;
use std::time::Duration;

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
