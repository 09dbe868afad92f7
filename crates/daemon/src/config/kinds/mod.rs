//! The settings of each kind of channel, one file per vendor.

#[cfg(test)]
mod chat_tests;
mod discord;
mod email;
mod fields;
mod local;
mod ntfy;
mod slack;
mod sms;
mod telegram;
mod webhook;
mod webpush;

use countersign_channels::ChannelSettings;
use toml::Table;

pub use fields::KindResult;

/// The kinds, for error messages.
pub const KINDS: &str = "telegram, discord, slack, ntfy, email, sms, webhook, webpush, desktop, \
                         terminal or command";

/// The settings of a kind.
pub fn settings(kind: &str, table: Table) -> KindResult<ChannelSettings> {
    match kind {
        "webhook" => webhook::settings(table),
        "webpush" => webpush::settings(table),
        "telegram" => telegram::settings(table),
        "discord" => discord::settings(table),
        "slack" => slack::settings(table),
        "ntfy" => ntfy::settings(table),
        "email" => email::settings(table),
        "sms" => sms::settings(table),
        "command" => local::command(table),
        "desktop" => local::desktop(table),
        "terminal" => local::terminal(table),
        other => Err(format!("unknown kind `{other}`: it must be {KINDS}")),
    }
}
