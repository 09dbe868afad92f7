//! `[channels.NAME]`: each kind with its own fields; an error names the field.

use std::collections::BTreeMap;

use countersign_channels::{ChannelLimits, ChannelSettings, webpush};
use countersign_json::canonical::Digest;
use countersign_types::tier::Tier;
use toml::{Table, Value};

use super::error::ConfigError;
use super::kinds::{self, KINDS, KindResult};
use super::model::ChannelConfig;

/// The channels that need no configuration.
const BUILT_IN: [(&str, &str); 3] =
    [("terminal", "terminal"), ("desktop", "desktop"), (webpush::NAME, "webpush")];
/// The name under which the notifier records an announcement without channels. No channel can have
/// it.
pub const NO_CHANNEL: &str = "notifier";
const LONGEST_NAME: usize = 40;
const MOST_PER_MINUTE: u32 = 6_000;

/// Whether a channel needs no configuration.
pub fn is_built_in(name: &str) -> bool {
    BUILT_IN.iter().any(|(known, _)| *known == name)
}

/// All channels: the configured ones, and those that need no configuration.
pub fn channels(
    section: &BTreeMap<String, Table>,
) -> Result<BTreeMap<String, ChannelConfig>, ConfigError> {
    let mut channels = BTreeMap::new();
    for (name, kind) in BUILT_IN {
        let mut table = Table::new();
        table.insert("kind".to_owned(), Value::String(kind.to_owned()));
        channels
            .insert(name.to_owned(), channel(name, table).map_err(|problem| wrong(name, problem))?);
    }
    for (name, table) in section {
        let channel_config =
            channel(name, table.clone()).map_err(|problem| wrong(name, problem))?;
        channels.insert(name.clone(), channel_config);
    }
    Ok(channels)
}

fn wrong(name: &str, problem: String) -> ConfigError {
    ConfigError::Channel { name: name.to_owned(), problem }
}

fn channel(name: &str, mut table: Table) -> KindResult<ChannelConfig> {
    let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(plain) {
        return Err(format!(
            "the name must have 1 to {LONGEST_NAME} characters of a-z, 0-9, - and _"
        ));
    }
    let Some(Value::String(kind)) = table.remove("kind") else {
        return Err(format!("kind must be {KINDS}"));
    };
    if name == NO_CHANNEL {
        return Err("this name is the daemon's own; take another one".to_owned());
    }
    if BUILT_IN.iter().any(|(known, own)| *known == name && *own != kind) {
        return Err(format!("this name is reserved for the kind {name}; choose another one"));
    }
    let limits = limits(&kind, &mut table)?;
    let fingerprint = fingerprint(&kind, &table);
    let settings = kinds::settings(&kind, table)?;
    // A channel that cannot be opened would notify no one later.
    settings.open(name, limits).map_err(|error| error.problem)?;
    Ok(ChannelConfig { settings, limits, fingerprint })
}

/// The digest of the settings that decide who is heard through a channel.
fn fingerprint(kind: &str, table: &Table) -> Digest {
    let mut table = table.clone();
    table.remove("timeout_seconds");
    let text = serde_json::to_string(&table).unwrap_or_default();
    Digest::of(format!("channel\n{kind}\n{text}").as_bytes())
}

fn limits(kind: &str, table: &mut Table) -> KindResult<ChannelLimits> {
    let mut limits = ChannelSettings::usual(kind);
    if let Some(value) = table.remove("max_tier") {
        let tier = value.as_str().and_then(Tier::parse);
        limits.max_tier = tier.ok_or("max_tier must be a tier such as HIGH")?;
    }
    if let Some(value) = table.remove("approves") {
        let tier = value.as_str().and_then(Tier::parse).filter(|tier| *tier < Tier::Critical);
        limits.approves = tier.ok_or("approves must be SAFE, LOW, MEDIUM or HIGH")?;
    }
    if let Some(value) = table.remove("details") {
        limits.details = value.as_bool().ok_or("details must be true or false")?;
    }
    if let Some(value) = table.remove("crisis_words") {
        let show = value.as_bool().ok_or("crisis_words must be true or false")?;
        if show && !limits.crisis_words {
            return Err("crisis_words needs telegram, discord or slack: other messages stay as \
                        they were sent"
                .into());
        }
        limits.crisis_words = show;
    }
    if let Some(value) = table.remove("interrupts") {
        limits.interrupts = value.as_bool().ok_or("interrupts must be true or false")?;
    }
    if let Some(value) = table.remove("per_minute") {
        let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
        limits.per_minute = number
            .filter(|number| (1..=MOST_PER_MINUTE).contains(number))
            .ok_or_else(|| format!("per_minute must be between 1 and {MOST_PER_MINUTE}"))?;
    }
    Ok(limits)
}
