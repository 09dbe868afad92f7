//! What is written about each kind of channel, one vendor one file.

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

use countersign_channels::Settings;
use toml::Table;

pub use fields::KindResult;

/// The kinds, for people.
pub const KINDS: &str = "telegram, discord, slack, ntfy, email, sms, webhook, webpush, desktop, \
                         terminal or command";

/// The settings of a kind.
pub fn settings(kind: &str, table: Table) -> KindResult<Settings> {
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
        other => Err(format!("there is no kind `{other}`: it must be {KINDS}")),
    }
}
