//! Fields that several kinds of channel have, read and checked alike.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Table;

/// The result of reading a channel's settings.
pub type KindResult<T> = Result<T, String>;

pub fn read<T: serde::de::DeserializeOwned>(table: Table) -> KindResult<T> {
    table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}

pub fn absolute(field: &str, path: &str) -> KindResult<PathBuf> {
    let place = Path::new(path);
    if place.is_absolute() {
        Ok(place.to_owned())
    } else {
        Err(format!("{field}: `{path}` is not an absolute path"))
    }
}

pub fn timeout(section: Option<u32>) -> KindResult<Duration> {
    let seconds = section.unwrap_or(10);
    if (1..=60).contains(&seconds) {
        Ok(Duration::from_secs(seconds.into()))
    } else {
        Err(format!("timeout_seconds: {seconds} is not between 1 and 60"))
    }
}
