//! The settings that are compared.

use countersign_daemon::config::DaemonConfig;
use countersign_risk::route::{Route, RouteConditions, route};
use countersign_risk::verdict::{Mode, Policy};

use crate::engine::{Assessment, Environment, Tier, Verdict};
use crate::failure::Failure;
use crate::gate::reach;

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// It runs.
    Pass,
    /// A person is asked.
    Ask,
    /// It is refused without a question.
    Refuse,
}

/// The settings that decide which calls ask.
#[derive(Debug, Clone, Copy)]
pub struct ReplaySetting {
    /// The mode.
    pub mode: Mode,
    /// Thresholds; assessments are always made as in `enforce`.
    pub policy: Policy,
    /// The environment of agents.
    pub environment: Environment,
}

impl ReplaySetting {
    /// The settings in a configuration file, or those in force.
    pub fn load(file: Option<&str>) -> Result<ReplaySetting, Failure> {
        let paths = reach::paths(file, None)?;
        let config =
            DaemonConfig::load(&paths).map_err(|error| Failure::Input(error.to_string()))?;
        Ok(ReplaySetting {
            mode: config.rules.mode,
            policy: Policy { mode: Mode::Enforce, ..config.rules.assessment },
            environment: config.rules.environment,
        })
    }

    /// The same in the mode of this name.
    pub fn in_mode(self, name: &str) -> ReplaySetting {
        let mode = match name {
            "observe" => Mode::Observe,
            "crisis_only" => Mode::CrisisOnly,
            _ => Mode::Enforce,
        };
        ReplaySetting { mode, ..self }
    }

    /// What happens to an assessed call.
    pub fn outcome(&self, seen: &Assessment) -> ReplayOutcome {
        match route(seen, RouteConditions { mode: self.mode, crisis: false }) {
            Route::Pass { .. } => ReplayOutcome::Pass,
            Route::Ask { .. } => ReplayOutcome::Ask,
            Route::Refuse => ReplayOutcome::Refuse,
        }
    }

    /// What happens to a call of which only the score is known.
    pub fn outcome_of_score(&self, tier: Tier, confidence: u8, crisis: bool) -> ReplayOutcome {
        let verdict = self.policy.verdict(tier, confidence);
        if crisis || (self.mode == Mode::Enforce && verdict != Verdict::Allow) {
            ReplayOutcome::Ask
        } else {
            ReplayOutcome::Pass
        }
    }
}

/// The name of a mode in the configuration.
pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Observe => "observe",
        Mode::CrisisOnly => "crisis_only",
        Mode::Enforce => "enforce",
    }
}
