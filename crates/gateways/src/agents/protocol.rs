//! What a hook is told and what it answers, independent of any agent's own format.

/// One message from an agent to its hook.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEvent {
    /// A call that is about to run.
    Before(ProposedCall),
    /// A call that ran or failed.
    After(CompletedCall),
    /// All calls of one turn that are about to run.
    Batch(Vec<ProposedCall>),
    /// A message of the person to the agent.
    Message {
        /// Its text.
        text: String,
        /// The agent's session.
        session: Option<String>,
    },
}

/// One tool call that an agent wants to run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProposedCall {
    /// The tool's name.
    pub tool: String,
    /// Its arguments: the JSON text of an object.
    pub arguments: String,
    /// The agent's session.
    pub session: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The root folder of the session's project.
    pub project: Option<String>,
    /// The agent program, as the tables of tools name it. Only the hook sets it.
    pub host: Option<&'static str>,
    /// The version of the agent program, if it says one.
    pub host_version: Option<String>,
    /// The agent's own id for this call, if it has one.
    pub call_id: Option<String>,
}

/// A tool call that ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CompletedCall {
    /// The call.
    pub call: ProposedCall,
    /// Whether it failed.
    pub failed: bool,
    /// The exit code, if the call was a program.
    pub exit_code: Option<i64>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// Its result as JSON text, of which only a digest is stored.
    pub result: Option<String>,
}

/// Why the input of a hook is not a valid event. The hook then denies the call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookInputError(pub String);

/// The decision of the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAnswer {
    /// The call is harmless; the agent's own permission rules still apply.
    Pass,
    /// A person approved the call.
    Approved {
        /// The arguments to run with instead, as the JSON text of an object.
        edited: Option<String>,
    },
    /// The call must not run; the text tells the model why.
    Denied(String),
    /// The answers to a batch.
    Planned {
        /// Indexes of calls that may run in parallel, stage after stage.
        stages: Vec<Vec<usize>>,
        /// One answer per call, in the order of the calls.
        answers: Vec<HookAnswer>,
    },
    /// The card for a person in a crisis, or none.
    Card(Option<String>),
    /// The event was received; there is nothing to answer.
    Noted,
}

/// What the hook process prints and how it exits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookReply {
    /// The text for standard output.
    pub out: String,
    /// The text for standard error.
    pub err: String,
    /// The exit code; never 1, because some agents run the call after a 1.
    pub code: u8,
}
