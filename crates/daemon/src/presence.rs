//! Whether somebody sits at the inbox: told by the page and the terminal when a person moves there.

use std::sync::atomic::{AtomicI64, Ordering};

use countersign_types::time::Timestamp;

/// How long after the last movement somebody still counts as there, in milliseconds.
const STILL_THERE: i64 = 60_000;

/// When somebody was last seen at the inbox.
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
    /// Somebody moves.
    pub fn saw(&self, now: Timestamp) {
        self.seen.fetch_max(now.0, Ordering::Relaxed);
    }

    /// Whether somebody is there.
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
