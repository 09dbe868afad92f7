//! Events of the inbox and the effects they cause, as plain values.

use countersign_client::{DecisionChoice, DecisionScope, RequestRecord, Time};

/// When an event happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UiTime {
    /// Wall-clock time, for deadlines.
    pub wall: Time,
    /// Monotonic milliseconds.
    pub steady: u64,
}

/// A key that the inbox knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKey {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Clears the input (Ctrl-U).
    Clear,
    /// Up.
    Up,
    /// Down.
    Down,
    /// Left.
    Left,
    /// Right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Ctrl-C.
    Interrupt,
}

/// An event.
#[derive(Debug)]
pub enum InboxEvent {
    /// A key was pressed.
    Key(InputKey),
    /// A text was pasted.
    Pasted(String),
    /// Time passed.
    Tick,
    /// The list of pending requests was reloaded.
    Listed(Vec<RequestRecord>),
    /// One request changed.
    Changed(Box<RequestRecord>),
    /// A request with its card, or why it could not be loaded.
    Fetched(String, Result<Box<RequestRecord>, String>),
    /// The result of an answer.
    Answered(String, DecisionChoice, Result<Box<RequestRecord>, String>),
    /// The result of denying several: how many were denied, the error, and the explanation if one
    /// of them was a drill.
    DeniedAll(Vec<String>, usize, Option<String>, Option<String>),
    /// Every call was stopped, or why not.
    Frozen(Result<(), String>),
    /// The state of the connection.
    Link(Link),
    /// A frame was drawn.
    Drawn(Drawn),
}

/// The state of the connection to the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// Connecting.
    Opening,
    /// Connected.
    Up,
    /// Disconnected; why.
    Down(String),
}

/// What was on the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawn {
    /// The request of the card.
    pub id: Option<String>,
    /// All lines of the card.
    pub lines: usize,
    /// Lines that fit at once.
    pub page: usize,
    /// The first line that was drawn.
    pub from: usize,
    /// The line at which the call ends.
    pub call_end: usize,
    /// A part of the call was folded.
    pub folded: bool,
    /// Rows of the list that fit at once.
    pub rows: usize,
}

/// An effect to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboxEffect {
    /// Load the card of this request.
    Fetch(String),
    /// Send an answer.
    Answer(SentAnswer),
    /// Deny these, each by its id and digest.
    DenyAll(Vec<(String, String)>),
    /// Stop every call.
    Freeze,
    /// Report to the daemon that a person is present.
    Here,
    /// Quit.
    Leave,
}

/// A person's answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentAnswer {
    /// The request.
    pub id: String,
    /// The digest of the call that was shown.
    pub digest: String,
    /// Approve or deny.
    pub choice: DecisionChoice,
    /// The reason.
    pub reason: String,
    /// The word that was typed; empty if none was needed.
    pub word: String,
    /// For how long it is approved.
    pub scope: DecisionScope,
}
