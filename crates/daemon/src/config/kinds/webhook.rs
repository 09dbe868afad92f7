//! `kind = "webhook"`.

use countersign_channels::{ChannelSettings, webhook};
use serde::Deserialize;
use toml::Table;

use super::{Meant, absolute, read, timeout};

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

pub fn settings(table: Table) -> Meant<ChannelSettings> {
    let written: Webhook = read(table)?;
    let url = written.url.ok_or("url is missing")?;
    let file = written.secret_file.ok_or("secret_file is missing")?;
    let callback_secret = written.callback_secret_file;
    if callback_secret.is_some() && !written.callback {
        return Err("callback_secret_file is for `callback = true`".to_owned());
    }
    let callback_secret_file =
        callback_secret.map(|file| absolute("callback_secret_file", &file)).transpose()?;
    let settings = webhook::WebhookSettings {
        url,
        secret_file: absolute("secret_file", &file)?,
        callback: written.callback,
        callback_secret_file,
        allow_private: written.allow_private,
        timeout: timeout(written.timeout_seconds)?,
    };
    match settings.url_problem() {
        Some(problem) => Err(format!("url: {problem}")),
        None => Ok(ChannelSettings::Webhook(settings)),
    }
}
