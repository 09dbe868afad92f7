//! What `countersign undo` can restore, from the section `[undo]`.

use serde::Deserialize;

use super::check::number;
use super::error::ConfigError;

/// Snapshots of files before calls, as written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UndoSection {
    pub snapshots: Option<bool>,
    pub keep_days: Option<u32>,
    pub keep_mib: Option<u32>,
}

/// Snapshots of files before calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoConfig {
    /// Whether the hooks take snapshots.
    pub snapshots: bool,
    /// For how many days they are kept.
    pub keep_days: u32,
    /// How many MiB they may take.
    pub keep_mib: u32,
}

impl Default for UndoConfig {
    fn default() -> UndoConfig {
        UndoConfig { snapshots: true, keep_days: 7, keep_mib: 1_024 }
    }
}

pub fn undo(section: &UndoSection) -> Result<UndoConfig, ConfigError> {
    let usual = UndoConfig::default();
    Ok(UndoConfig {
        snapshots: section.snapshots.unwrap_or(usual.snapshots),
        keep_days: number("undo.keep_days", section.keep_days, usual.keep_days, 1..=365)?,
        keep_mib: number("undo.keep_mib", section.keep_mib, usual.keep_mib, 1..=1_048_576)?,
    })
}
