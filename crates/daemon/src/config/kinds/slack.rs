//! `kind = "slack"`.

use countersign_channels::{ChannelSettings, slack};
use serde::Deserialize;
use toml::Table;

use super::fields::{KindResult, absolute, read, timeout};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Slack {
    token_file: Option<String>,
    channel: Option<String>,
    signing_secret_file: Option<String>,
    base_url: Option<String>,
    #[serde(default)]
    allow_private: bool,
    timeout_seconds: Option<u32>,
}

pub fn settings(table: Table) -> KindResult<ChannelSettings> {
    let section: Slack = read(table)?;
    let token = section.token_file.ok_or("token_file is missing")?;
    let secret = section.signing_secret_file.ok_or("signing_secret_file is missing")?;
    Ok(ChannelSettings::Slack(slack::SlackSettings {
        token_file: absolute("token_file", &token)?,
        channel: section.channel.ok_or("channel is missing")?,
        signing_secret_file: absolute("signing_secret_file", &secret)?,
        base_url: section.base_url.unwrap_or_else(|| slack::BASE_URL.to_owned()),
        allow_private: section.allow_private,
        timeout: timeout(section.timeout_seconds)?,
    }))
}
