//! The position in the sequence of updates, for polling.

use std::time::Duration;

use tokio::time::Instant;

/// After this time without updates Telegram may restart its numbering.
const NUMBERING_LIFETIME: Duration = Duration::from_hours(72);

/// The position in the sequence of updates.
#[derive(Debug, Clone, Copy)]
pub(super) struct PollPosition {
    /// The next update. Telegram deletes the updates before it, so it is requested only after they
    /// were handed over.
    pub(super) next: Option<i64>,
    pub(super) heard: Instant,
}

impl PollPosition {
    /// The offset of the next poll.
    pub(super) fn offset(&self, now: Instant) -> Option<i64> {
        self.next.filter(|_| now.duration_since(self.heard) < NUMBERING_LIFETIME)
    }
}
