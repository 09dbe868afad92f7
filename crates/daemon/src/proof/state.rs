//! What a test of the gates can find.

use countersign_types::time::Timestamp;
use serde::{Deserialize, Serialize};

/// How a gate was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    /// The forbidden call was refused.
    Protected,
    /// It would have run.
    NotProtected,
    /// Nothing is known.
    NotTested,
    /// There is no gate.
    NotInstalled,
}

impl GateState {
    /// Its word in the ledger.
    pub const fn word(self) -> &'static str {
        match self {
            GateState::Protected => "protected",
            GateState::NotProtected => "not_protected",
            GateState::NotTested => "not_tested",
            GateState::NotInstalled => "not_installed",
        }
    }
}

/// One gate that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentGate {
    /// Its name, such as `Claude Code`.
    pub name: String,
    /// How it was found.
    pub state: GateState,
    /// What was seen.
    pub why: String,
}

/// What one proof found, or why there is none.
pub type ProofResult = Result<Vec<AgentGate>, String>;

/// What is known, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GateCounts {
    /// Doors that were found open, or lost.
    pub open: usize,
    /// Doors that were found shut.
    pub shut: usize,
    /// When they were last tried.
    pub last: Option<Timestamp>,
    /// Whether the last attempt to try them failed.
    pub failed: bool,
}
