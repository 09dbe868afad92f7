//! How long a person took for an answer, and whether that was too fast to have read the call.

use countersign_text::humanize::length;
use countersign_types::id::Id;

/// A text of so many bytes is long, and an answer within so many milliseconds is quick.
pub const LONG: u64 = 400;
pub const QUICK: u64 = 2_000;

/// One answer.
#[derive(Debug, Clone, Copy)]
pub struct AnswerTime {
    /// To which request.
    pub request: Id,
    /// How long after the question, in milliseconds.
    pub took: u64,
    /// How long the text of the call was.
    pub bytes: u64,
    /// Whether it was a yes.
    pub yes: bool,
}

impl AnswerTime {
    /// Quicker than anybody reads.
    pub fn is_too_fast(&self) -> bool {
        self.yes && self.bytes >= LONG && self.took < QUICK
    }
}

/// "0.8 s", "40 s", "3 min".
pub fn seconds(millis: u64) -> String {
    if millis < 10_000 {
        format!("{}.{} s", millis / 1000, millis % 1000 / 100)
    } else {
        length(millis / 1000)
    }
}
