//! `kind = "slack"`.

use countersign_channels::{ChannelSettings, slack};
use serde::Deserialize;
use toml::Table;

use super::{Meant, absolute, read, timeout};

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

pub fn settings(table: Table) -> Meant<ChannelSettings> {
    let written: Slack = read(table)?;
    let token = written.token_file.ok_or("token_file is missing")?;
    let secret = written.signing_secret_file.ok_or("signing_secret_file is missing")?;
    Ok(ChannelSettings::Slack(slack::SlackSettings {
        token_file: absolute("token_file", &token)?,
        channel: written.channel.ok_or("channel is missing")?,
        signing_secret_file: absolute("signing_secret_file", &secret)?,
        base_url: written.base_url.unwrap_or_else(|| slack::BASE_URL.to_owned()),
        allow_private: written.allow_private,
        timeout: timeout(written.timeout_seconds)?,
    }))
}
