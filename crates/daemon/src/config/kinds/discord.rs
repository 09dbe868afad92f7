//! `kind = "discord"`.

use countersign_channels::{ChannelSettings, discord};
use serde::Deserialize;
use toml::Table;

use super::fields::{KindResult, absolute, read, timeout};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Discord {
    token_file: Option<String>,
    channel: Option<String>,
    public_key: Option<String>,
    #[serde(default)]
    poll: bool,
    base_url: Option<String>,
    #[serde(default)]
    allow_private: bool,
    timeout_seconds: Option<u32>,
}

pub fn settings(table: Table) -> KindResult<ChannelSettings> {
    let section: Discord = read(table)?;
    let file = section.token_file.ok_or("token_file is missing")?;
    Ok(ChannelSettings::Discord(discord::DiscordSettings {
        token_file: absolute("token_file", &file)?,
        channel: section.channel.ok_or("channel is missing")?,
        public_key: section.public_key,
        poll: section.poll,
        base_url: section.base_url.unwrap_or_else(|| discord::BASE_URL.to_owned()),
        allow_private: section.allow_private,
        timeout: timeout(section.timeout_seconds)?,
    }))
}
