//! What is written about each kind of channel, one vendor one file.

#[cfg(test)]
mod chat_tests;
mod discord;
mod email;
mod local;
mod ntfy;
mod slack;
mod sms;
mod telegram;
mod webhook;
mod webpush;

use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_channels::ChannelSettings;
use toml::Table;

/// The kinds, for people.
pub const KINDS: &str = "telegram, discord, slack, ntfy, email, sms, webhook, webpush, desktop, \
                         terminal or command";

/// What is wrong with a channel.
pub type Meant<T> = Result<T, String>;

/// The settings of a kind.
pub fn settings(kind: &str, table: Table) -> Meant<ChannelSettings> {
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

fn read<T: serde::de::DeserializeOwned>(table: Table) -> Meant<T> {
    table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}

fn absolute(field: &str, path: &str) -> Meant<PathBuf> {
    let place = Path::new(path);
    if place.is_absolute() {
        Ok(place.to_owned())
    } else {
        Err(format!("{field}: `{path}` is no absolute path"))
    }
}

fn timeout(written: Option<u32>) -> Meant<Duration> {
    let seconds = written.unwrap_or(10);
    if (1..=60).contains(&seconds) {
        Ok(Duration::from_secs(seconds.into()))
    } else {
        Err(format!("timeout_seconds: {seconds} is not between 1 and 60"))
    }
}
