//! Whether a person is active in the inbox; the page and the terminal report activity.

use std::sync::atomic::{AtomicI64, Ordering};

use countersign_types::time::Timestamp;

/// How long after the last activity a person counts as present, in milliseconds.
const STILL_THERE: i64 = 60_000;

/// The last activity in the inbox.
#[derive(Debug)]
pub struct Presence {
    seen: AtomicI64,
}

impl Default for Presence {
    fn default() -> Self {
        Presence { seen: AtomicI64::new(i64::MIN) }
    }
}

impl Presence {
    /// Records activity.
    pub fn saw(&self, now: Timestamp) {
        self.seen.fetch_max(now.0, Ordering::Relaxed);
    }

    /// Whether a person is present.
    pub fn is_there(&self, now: Timestamp) -> bool {
        now.0.saturating_sub(self.seen.load(Ordering::Relaxed)) < STILL_THERE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_counts_as_present_for_a_minute() {
        let presence = Presence::default();
        let now = Timestamp(1_000_000);
        assert!(!presence.is_there(now));
        presence.saw(now);
        assert!(presence.is_there(Timestamp(now.0 + STILL_THERE - 1)));
        assert!(!presence.is_there(Timestamp(now.0 + STILL_THERE)));
        presence.saw(Timestamp(5));
        assert!(presence.is_there(now));
    }
}
