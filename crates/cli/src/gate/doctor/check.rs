//! One line of the doctor's report.

use countersign_daemon::proof::GateState;
use countersign_gateways::live::probe::ProbeResult;
use serde::Serialize;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// Wrong.
    Bad,
}

/// Who runs the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestedBy {
    /// A person, in a folder of their choice.
    Person,
    /// `countersign serve`, on its schedule: it runs no code that an agent could have left.
    Schedule,
}

/// One check.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    pub mark: Mark,
    pub say: String,
    /// What to do about it.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The gate that was tested, so that one test can be compared with the next.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    tested: Option<TestedGate>,
}

/// A gate and its state.
#[derive(Debug, Clone, Serialize)]
struct TestedGate {
    gate: String,
    state: GateState,
}

impl Check {
    pub fn ok(say: impl Into<String>) -> Check {
        Check { mark: Mark::Ok, say: say.into(), remedy: None, tested: None }
    }

    pub fn note(say: impl Into<String>, remedy: &str) -> Check {
        Check { mark: Mark::Note, remedy: Some(remedy.to_owned()), ..Check::ok(say) }
    }

    pub fn bad(say: impl Into<String>, remedy: &str) -> Check {
        Check { mark: Mark::Bad, remedy: Some(remedy.to_owned()), ..Check::ok(say) }
    }

    /// The same check, about a gate.
    pub fn about(self, gate: &str, state: GateState) -> Check {
        Check { tested: Some(TestedGate { gate: gate.to_owned(), state }), ..self }
    }

    /// The check for the result of a gate's test.
    pub fn of_gate(gate: &str, result: ProbeResult, remedy: &str) -> Check {
        match result {
            ProbeResult::Protected(why) => {
                let say = format!("{gate}: protected. A forbidden call was refused: {why}");
                Check::ok(say).about(gate, GateState::Protected)
            }
            ProbeResult::Unprotected(why) => {
                let say = format!("{gate}: NOT PROTECTED: {why}.");
                Check::bad(say, remedy).about(gate, GateState::Unprotected)
            }
            ProbeResult::Untested(why) => {
                let say = format!("{gate}: not tested: {why}.");
                Check::bad(say, remedy).about(gate, GateState::Untested)
            }
        }
    }
}
