//! `kind = "webhook"`.

use countersign_channels::{ChannelSettings, webhook};
use serde::Deserialize;
use toml::Table;

use super::fields::{KindResult, absolute, read, timeout};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Webhook {
    url: Option<String>,
    secret_file: Option<String>,
    #[serde(default)]
    callback: bool,
    callback_secret_file: Option<String>,
    #[serde(default)]
    allow_private: bool,
    timeout_seconds: Option<u32>,
}

pub fn settings(table: Table) -> KindResult<ChannelSettings> {
    let section: Webhook = read(table)?;
    let url = section.url.ok_or("url is missing")?;
    let file = section.secret_file.ok_or("secret_file is missing")?;
    let callback_secret = section.callback_secret_file;
    if callback_secret.is_some() && !section.callback {
        return Err("callback_secret_file is for `callback = true`".to_owned());
    }
    let callback_secret_file =
        callback_secret.map(|file| absolute("callback_secret_file", &file)).transpose()?;
    let settings = webhook::WebhookSettings {
        url,
        secret_file: absolute("secret_file", &file)?,
        callback: section.callback,
        callback_secret_file,
        allow_private: section.allow_private,
        timeout: timeout(section.timeout_seconds)?,
    };
    match settings.url_problem() {
        Some(problem) => Err(format!("url: {problem}")),
        None => Ok(ChannelSettings::Webhook(settings)),
    }
}
