//! What a test of the gates can find.

use serde::{Deserialize, Serialize};

/// The state of one gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    /// The forbidden call was refused.
    Protected,
    /// The forbidden call would have run.
    Unprotected,
    /// The test failed.
    Untested,
    /// No gate is installed.
    NoGate,
}

impl GateState {
    /// The state's name in the ledger.
    pub const fn word(self) -> &'static str {
        match self {
            GateState::Protected => "protected",
            GateState::Unprotected => "unprotected",
            GateState::Untested => "untested",
            GateState::NoGate => "no_gate",
        }
    }
}

/// The result of a test of one gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateReport {
    /// The agent, server or SDK that the gate protects.
    pub name: String,
    /// Its state.
    pub state: GateState,
    /// The reason.
    pub why: String,
}

/// The results of one test run, or why it failed.
pub type ProofResult = Result<Vec<GateReport>, String>;
