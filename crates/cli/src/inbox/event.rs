//! What happens to the inbox, and what is to be done about it: values, nothing else.

use countersign_client::{Choice, Request, Time};

/// When something happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// By the clock on the wall, for deadlines.
    pub wall: Time,
    /// Milliseconds that only go forward.
    pub steady: u64,
}

/// A key, as far as we know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A letter or a sign.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// All that was typed goes (Ctrl-U).
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
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// Ctrl-C.
    Interrupt,
}

/// What happens.
#[derive(Debug)]
pub enum Event {
    /// A key was pressed.
    Key(Key),
    /// A text was pasted.
    Pasted(String),
    /// A moment has passed.
    Tick,
    /// Everything that waits, read anew.
    Listed(Vec<Request>),
    /// One request as it stands now.
    Changed(Box<Request>),
    /// A request with its card, or why there is none.
    Fetched(String, Result<Box<Request>, String>),
    /// What became of an answer.
    Answered(String, Choice, Result<Box<Request>, String>),
    /// What became of denying several: how many were denied, what went wrong, and what is said if
    /// one of them was a drill.
    DeniedAll(Vec<String>, usize, Option<String>, Option<String>),
    /// How the connection stands.
    Link(Link),
    /// What was drawn.
    Drawn(Drawn),
}

/// How the connection to the daemon stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// Not yet.
    Opening,
    /// It is there.
    Up,
    /// It is not; why.
    Down(String),
}

/// What was really on the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawn {
    /// Whose card.
    pub id: Option<String>,
    /// Lines of the card in all.
    pub lines: usize,
    /// Lines that fit at once.
    pub page: usize,
    /// The first line that was drawn.
    pub from: usize,
    /// Where the call ends on the card.
    pub call_end: usize,
    /// Part of the call was left out.
    pub folded: bool,
    /// Rows of the list that fit at once.
    pub rows: usize,
}

/// What is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Get the card of this one.
    Fetch(String),
    /// Send an answer.
    Answer(Answer),
    /// Deny these, each by its id and digest.
    DenyAll(Vec<(String, String)>),
    /// Tell the daemon that a person is there.
    Here,
    /// Leave.
    Leave,
}

/// A person's answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// To which request.
    pub id: String,
    /// The call that was shown.
    pub digest: String,
    /// Yes or no.
    pub choice: Choice,
    /// Why.
    pub reason: String,
    /// The same call may pass again in this session.
    pub for_session: bool,
}
