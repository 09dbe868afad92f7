//! From assessment to verdict: thresholds and modes.

use serde::Serialize;

use crate::context::Platform;
use countersign_types::tier::{Points, Tier};

/// What the gate does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask,
    /// It does not run.
    Deny,
    /// A person in crisis: help is shown at once, nothing is sent without a person.
    Crisis,
}

/// Rollout modes (S17).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Assess and trace, block nothing.
    Observe,
    /// Only the crisis rules hold.
    CrisisOnly,
    /// Everything holds.
    #[default]
    Enforce,
}

/// What an operator may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Rollout mode.
    pub mode: Mode,
    /// A judge may pass MEDIUM calls only below these points, by platform.
    pub thresholds: Thresholds,
    /// LOW passes at this confidence, in hundredths.
    pub low_confidence: u8,
}

/// Platform thresholds, in points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// API and everything unknown.
    pub api: Points,
    /// Telegram.
    pub telegram: Points,
    /// Discord.
    pub discord: Points,
    /// Terminal.
    pub cli: Points,
}

impl Default for Policy {
    fn default() -> Self {
        Policy { mode: Mode::default(), thresholds: Thresholds::default(), low_confidence: 80 }
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            api: Points(150),
            telegram: Points(200),
            discord: Points(250),
            cli: Points(300),
        }
    }
}

impl Thresholds {
    /// The threshold of a platform.
    pub fn of(&self, platform: Platform) -> Points {
        match platform {
            Platform::Cli => self.cli,
            Platform::Telegram => self.telegram,
            Platform::Discord => self.discord,
            Platform::Api | Platform::Other => self.api,
        }
    }
}

impl Policy {
    /// The verdict without a judge. Crisis is decided before this is asked.
    pub fn verdict(&self, tier: Tier, confidence: u8) -> Verdict {
        if self.mode != Mode::Enforce {
            return Verdict::Allow;
        }
        match tier {
            Tier::Safe => Verdict::Allow,
            Tier::Low if confidence >= self.low_confidence => Verdict::Allow,
            Tier::Low | Tier::Medium | Tier::High | Tier::Critical => Verdict::Ask,
        }
    }
}
