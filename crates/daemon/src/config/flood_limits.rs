//! The limits against floods, from the section `[flood]`.

use countersign_types::time::Millis;

use super::check::number;
use super::error::ConfigError;
use super::file;
use super::model::FloodConfig;

pub fn flood(section: &file::FloodSection) -> Result<FloodConfig, ConfigError> {
    const MAX_COUNT: u32 = 10_000_000;
    let minutes = |field, value, default| {
        number(field, value, default, 1..=1440).map(|minutes| Millis::from_seconds(minutes * 60))
    };
    Ok(FloodConfig {
        open_per_agent: number("flood.open_per_agent", section.open_per_agent, 20, 1..=MAX_COUNT)?,
        asks_per_minute: number(
            "flood.asks_per_minute",
            section.asks_per_minute,
            30,
            1..=MAX_COUNT,
        )?,
        asks_per_hour: number("flood.asks_per_hour", section.asks_per_hour, 200, 1..=MAX_COUNT)?,
        disk_per_hour: u64::from(number(
            "flood.disk_mib_per_hour",
            section.disk_mib_per_hour,
            256,
            1..=MAX_COUNT,
        )?) << 20,
        denials: number("flood.denials", section.denials, 5, 1..=MAX_COUNT)?,
        within: minutes("flood.within_minutes", section.within_minutes, 10)?,
        quarantine: minutes("flood.quarantine_minutes", section.quarantine_minutes, 5)?,
        digest_from: digest_from(section)?,
    })
}

/// One question is no burst: 0, or at least 2.
fn digest_from(section: &file::FloodSection) -> Result<u32, ConfigError> {
    let from = section.digest_from.filter(|from| *from > 0);
    if section.digest_from == Some(0) {
        return Ok(0);
    }
    number("flood.digest_from", from, 4, 2..=1_000)
}
