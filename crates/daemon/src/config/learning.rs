//! What is learned from approvals, from the section `[learning]`.

use countersign_workflow::learning::DEFAULT_APPROVALS;
use serde::Deserialize;

use super::check::number;
use super::error::ConfigError;

/// Learning, as written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LearningSection {
    pub approvals: Option<u32>,
    pub automatic: Option<bool>,
    pub days: Option<u32>,
}

/// What is learned from approvals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LearningConfig {
    /// How many approvals in a row lead to a suggestion or a grant.
    pub approvals: u32,
    /// Whether LOW and MEDIUM commands that people approved so often get a grant by themselves.
    pub automatic: bool,
    /// How many days such a grant lasts.
    pub days: u32,
}

impl Default for LearningConfig {
    fn default() -> LearningConfig {
        LearningConfig { approvals: DEFAULT_APPROVALS, automatic: false, days: 7 }
    }
}

pub fn learning(section: &LearningSection) -> Result<LearningConfig, ConfigError> {
    let usual = LearningConfig::default();
    Ok(LearningConfig {
        approvals: number("learning.approvals", section.approvals, usual.approvals, 3..=1_000)?,
        automatic: section.automatic.unwrap_or(usual.automatic),
        days: number("learning.days", section.days, usual.days, 1..=30)?,
    })
}
