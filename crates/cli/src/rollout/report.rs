//! The rollout, as JSON has it.

use serde::Serialize;

use crate::import::report::QuestionCounts;

/// What a phase does with the calls of the logs.
#[derive(Debug, Serialize)]
pub struct PhaseReport {
    /// The mode in the configuration.
    pub mode: &'static str,
    /// What it does.
    pub message: &'static str,
    /// Whether it is configured.
    pub current: bool,
    /// Questions, if answers are remembered for the session.
    pub asked: QuestionCounts,
    /// Calls that the user rejected in the agent, and that this phase asks about or refuses.
    pub rejected_held: u64,
}

/// Where the installation stands.
#[derive(Debug, Serialize)]
pub struct RolloutReport {
    /// The configuration file.
    pub config: String,
    /// Whether it exists.
    pub config_exists: bool,
    /// The phases in order.
    pub phases: Vec<PhaseReport>,
    /// The next phase.
    pub next: Option<&'static str>,
    /// Calls in the logs.
    pub calls: u64,
    /// Sessions in the logs.
    pub sessions: u64,
    /// Calls that the user rejected in the agent.
    pub rejected: u64,
    /// Calls that are not among the questions, because policy rules need what logs do not say.
    pub not_comparable: u64,
}
