//! `kind = "sms"`.

use countersign_channels::{ChannelSettings, sms};
use serde::Deserialize;
use toml::Table;

use super::fields::{KindResult, absolute, read, timeout};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sms {
    account: Option<String>,
    token_file: Option<String>,
    from: Option<String>,
    to: Option<String>,
    base_url: Option<String>,
    hook_url: Option<String>,
    #[serde(default)]
    allow_private: bool,
    timeout_seconds: Option<u32>,
}

pub fn settings(table: Table) -> KindResult<ChannelSettings> {
    let section: Sms = read(table)?;
    let file = section.token_file.ok_or("token_file is missing")?;
    let settings = sms::SmsSettings {
        account: section.account.ok_or("account is missing")?,
        token_file: absolute("token_file", &file)?,
        from: section.from.ok_or("from is missing")?,
        to: section.to.ok_or("to is missing")?,
        base_url: section.base_url.unwrap_or_else(|| "https://api.twilio.com".to_owned()),
        hook_url: section.hook_url,
        allow_private: section.allow_private,
        timeout: timeout(section.timeout_seconds)?,
    };
    match settings.problem() {
        Some(problem) => Err(problem),
        None => Ok(ChannelSettings::Sms(settings)),
    }
}
