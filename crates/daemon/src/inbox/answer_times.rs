//! How long a person took to answer, and whether that was too fast to have read the call.

use countersign_text::humanize::length;
use countersign_types::id::Id;

/// A text of this many bytes is long, and an answer within this many milliseconds is quick.
pub const LONG: u64 = 400;
pub const QUICK: u64 = 2_000;

/// One answer.
#[derive(Debug, Clone, Copy)]
pub struct AnswerTime {
    /// The request.
    pub request: Id,
    /// The time between question and answer, in milliseconds.
    pub took: u64,
    /// The length of the call's text in bytes.
    pub bytes: u64,
    /// Whether it was an approval.
    pub yes: bool,
}

impl AnswerTime {
    /// Whether a long text was approved faster than anyone can read.
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
