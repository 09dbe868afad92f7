//! The model judge as it is configured.

use std::path::PathBuf;

use countersign_judge::{BudgetLimits, ReleaseBar};
use countersign_judge_client::ModelSettings;

/// What the judge may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgeMode {
    /// Its opinions are recorded and compared with people's decisions.
    Shadow,
    /// It may also release calls, once the comparison and the canaries permit it.
    Release,
}

impl JudgeMode {
    /// The name in the configuration.
    pub const fn label(self) -> &'static str {
        match self {
            JudgeMode::Shadow => "shadow",
            JudgeMode::Release => "release",
        }
    }
}

/// Where the API key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// None is needed.
    None,
    /// In a file that only its owner can read.
    File(PathBuf),
    /// In an environment variable.
    Environment(String),
}

/// The model judge.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeConfig {
    /// What it may do.
    pub mode: JudgeMode,
    /// Which model is asked, and how.
    pub settings: ModelSettings,
    /// Where its API key is.
    pub key: KeySource,
    /// The policy text.
    pub policy: String,
    /// How much it may use.
    pub budget: BudgetLimits,
    /// What must hold before it releases anything.
    pub bar: ReleaseBar,
    /// The share of released calls that people are asked about instead, in percent.
    pub sample_percent: u32,
    /// Prices of a million tokens of prompts and of replies, in any currency.
    pub prices: (f64, f64),
}
