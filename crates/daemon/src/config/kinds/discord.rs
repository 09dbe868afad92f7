//! `kind = "discord"`.

use countersign_channels::{ChannelSettings, discord};
use serde::Deserialize;
use toml::Table;

use super::{Meant, absolute, read, timeout};

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

pub fn settings(table: Table) -> Meant<ChannelSettings> {
    let written: Discord = read(table)?;
    let file = written.token_file.ok_or("token_file is missing")?;
    Ok(ChannelSettings::Discord(discord::DiscordSettings {
        token_file: absolute("token_file", &file)?,
        channel: written.channel.ok_or("channel is missing")?,
        public_key: written.public_key,
        poll: written.poll,
        base_url: written.base_url.unwrap_or_else(|| discord::BASE_URL.to_owned()),
        allow_private: written.allow_private,
        timeout: timeout(written.timeout_seconds)?,
    }))
}
