//! `kind = "telegram"`.

use countersign_channels::ChannelSettings;
use countersign_channels::telegram::{self, UpdateMode, bot};
use serde::Deserialize;
use toml::{Table, Value};

use super::{Meant, absolute, read, timeout};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Telegram {
    token_file: Option<String>,
    chat: Option<Value>,
    mode: Option<String>,
    hook: Option<String>,
    secret_file: Option<String>,
    base_url: Option<String>,
    #[serde(default)]
    allow_private: bool,
    timeout_seconds: Option<u32>,
}

pub fn settings(table: Table) -> Meant<ChannelSettings> {
    let written: Telegram = read(table)?;
    let token = written.token_file.as_deref().ok_or("token_file is missing")?;
    let chat = written.chat.as_ref().and_then(Value::as_integer).filter(|chat| *chat != 0);
    let chat = chat.ok_or("chat must be the number of the chat in which it asks")?;
    let base_url = written.base_url.clone().unwrap_or_else(|| bot::BASE_URL.to_owned());
    if let Some(problem) = bot::base_problem(&base_url, written.allow_private) {
        return Err(format!("base_url: {problem}"));
    }
    Ok(ChannelSettings::Telegram(telegram::TelegramSettings {
        token_file: absolute("token_file", token)?,
        chat,
        base_url,
        allow_private: written.allow_private,
        timeout: timeout(written.timeout_seconds)?,
        mode: mode(&written)?,
    }))
}

fn mode(written: &Telegram) -> Meant<UpdateMode> {
    let hook = written.hook.as_deref();
    let secret = written.secret_file.as_deref();
    match (written.mode.as_deref().unwrap_or("poll"), hook, secret) {
        ("poll", None, None) => Ok(UpdateMode::Poll),
        ("poll", ..) => Err("hook and secret_file belong to mode = \"webhook\"".to_owned()),
        ("webhook", Some(hook), Some(secret)) if hook.starts_with("https://") => {
            let secret_file = absolute("secret_file", secret)?;
            Ok(UpdateMode::Webhook { hook: hook.to_owned(), secret_file })
        }
        ("webhook", Some(_), Some(_)) => {
            Err("hook must begin with https://: Telegram takes no other address".to_owned())
        }
        ("webhook", ..) => Err("mode = \"webhook\" needs hook and secret_file".to_owned()),
        (other, ..) => Err(format!("mode: `{other}` is neither poll nor webhook")),
    }
}
