//! The agents that can be gated. One agent, one file: how its hook speaks, and where it is set up.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod hermes;
mod openclaw;
mod opencode;
mod plugin;
mod shape;

use countersign_json::Value;

use crate::install::Setup;

/// An agent, as far as a gate has to know it.
#[derive(Debug)]
pub struct Agent {
    /// Its name on the command line, and on the cards that people see.
    pub name: &'static str,
    /// Its name as people say it.
    pub title: &'static str,
    /// Understands what its hook is given.
    pub read: fn(&Value<'_>) -> Result<Heard, Unheard>,
    /// Says it in the words that its host takes for an answer.
    pub reply: fn(&Answer) -> Reply,
    /// Where and how it is set up.
    pub setup: Setup,
}

/// Every agent.
pub const AGENTS: [&Agent; 8] = [
    &claude::AGENT,
    &codex::AGENT,
    &gemini::AGENT,
    &cursor::AGENT,
    &copilot::AGENT,
    &opencode::AGENT,
    &openclaw::AGENT,
    &hermes::AGENT,
];

/// The agent of this name.
pub fn named(name: &str) -> Option<&'static Agent> {
    AGENTS.into_iter().find(|agent| agent.name == name)
}

/// What a host tells its hook.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// A call that is about to run.
    Before(Proposed),
    /// A call that ran, or failed.
    After(Ran),
    /// Several calls of one turn that are about to run.
    Batch(Vec<Proposed>),
    /// A message of a person.
    Message {
        /// What it says.
        text: String,
        /// The agent's session.
        session: Option<String>,
    },
}

/// One proposed call, in the words of the gate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Proposed {
    /// The tool's name.
    pub tool: String,
    /// Its arguments: the JSON text of an object.
    pub arguments: String,
    /// The agent's session.
    pub session: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The host's own name for this call, where it has one.
    pub call_id: Option<String>,
}

/// What came of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ran {
    /// Which call.
    pub call: Proposed,
    /// Whether it failed.
    pub failed: bool,
    /// What the program ended with.
    pub exit_code: Option<i64>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// What it gave back: the JSON text, of which only a digest is kept.
    pub result: Option<String>,
}

/// Why what came in is no call: then the answer is no.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unheard(pub String);

/// What the hook has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nobody had to be asked: the host's own rules go on.
    Pass,
    /// A person said yes, perhaps to other arguments (the JSON text of an object).
    Approved {
        /// The arguments to run with instead.
        edited: Option<String>,
    },
    /// No, and why, in words for the model.
    Denied(String),
    /// The stages of a batch and an answer for each of its calls.
    Planned {
        /// Which calls may run side by side, stage after stage.
        stages: Vec<Vec<usize>>,
        /// One for each call, in order.
        answers: Vec<Answer>,
    },
    /// A card for a person in crisis, or none.
    Card(Option<String>),
    /// Heard; nothing to say.
    Noted,
}

/// How a host is answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// What goes to standard output.
    pub out: String,
    /// What goes to standard error.
    pub err: String,
    /// The exit code; never 1, which some hosts take for "go on".
    pub code: u8,
}
