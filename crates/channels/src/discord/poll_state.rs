//! What polling has seen so far.

use std::collections::HashMap;

/// The state between two polls.
#[derive(Debug)]
pub struct PollState {
    pub(super) me: String,
    pub(super) newest: u64,
    /// The number of reactions to each message; the people are fetched when it changes.
    pub(super) reacted: HashMap<(String, &'static str), u64>,
}
