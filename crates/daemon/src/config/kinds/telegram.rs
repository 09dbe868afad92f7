//! `kind = "telegram"`.

use countersign_channels::ChannelSettings;
use countersign_channels::telegram::{self, UpdateMode, bot};
use serde::Deserialize;
use toml::{Table, Value};

use super::fields::{KindResult, absolute, read, timeout};

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

pub fn settings(table: Table) -> KindResult<ChannelSettings> {
    let section: Telegram = read(table)?;
    let token = section.token_file.as_deref().ok_or("token_file is missing")?;
    let chat = section.chat.as_ref().and_then(Value::as_integer).filter(|chat| *chat != 0);
    let chat = chat.ok_or("chat must be the number of the chat in which it asks")?;
    let base_url = section.base_url.clone().unwrap_or_else(|| bot::BASE_URL.to_owned());
    if let Some(problem) = bot::base_problem(&base_url, section.allow_private) {
        return Err(format!("base_url: {problem}"));
    }
    Ok(ChannelSettings::Telegram(telegram::TelegramSettings {
        token_file: absolute("token_file", token)?,
        chat,
        base_url,
        allow_private: section.allow_private,
        timeout: timeout(section.timeout_seconds)?,
        mode: mode(&section)?,
    }))
}

fn mode(section: &Telegram) -> KindResult<UpdateMode> {
    let hook = section.hook.as_deref();
    let secret = section.secret_file.as_deref();
    match (section.mode.as_deref().unwrap_or("poll"), hook, secret) {
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
