//! `kind = "webpush"`: browsers that asked to be called.

use countersign_channels::{ChannelSettings, webpush};
use serde::Deserialize;
use toml::Table;

use super::fields::{KindResult, read};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WebPush {
    contact: Option<String>,
    #[serde(default)]
    allow_private: bool,
}

pub fn settings(table: Table) -> KindResult<ChannelSettings> {
    let WebPush { contact, allow_private } = read(table)?;
    let named = |contact: &String| ["mailto:", "https://"].iter().any(|is| contact.starts_with(is));
    if !contact.as_ref().is_none_or(named) {
        return Err("contact must begin with mailto: or https://".to_owned());
    }
    Ok(ChannelSettings::WebPush(webpush::WebPushSettings { contact, allow_private }))
}
