//! Delays rejections: an agent that keeps retrying gets each one later, which saves resources.

use std::time::Duration;

use countersign_types::time::{Millis, Timestamp};

/// The number of rejections that are sent at once.
const AT_ONCE: u64 = 100;
/// After these, one is sent per this time.
const BETWEEN: Millis = Millis(1);
/// The maximum delay. An agent with so many connections that this is reached is bounded by the
/// listener's connection limit.
const LONGEST: Millis = Millis(10_000);

/// When the next rejection of one agent is sent.
#[derive(Debug, Default)]
pub(super) struct Pace {
    due: Option<Timestamp>,
}

impl Pace {
    /// The delay of one more rejection.
    pub fn wait(&mut self, now: Timestamp) -> Duration {
        let at_once = Timestamp(now.0.saturating_sub_unsigned(AT_ONCE * BETWEEN.0));
        let after = self.due.unwrap_or(at_once).max(at_once).plus(BETWEEN);
        let due = after.min(now.plus(LONGEST));
        self.due = Some(due);
        Duration::from_millis(now.until(due).0)
    }

    /// Whether it has no state worth keeping.
    pub fn is_idle(&self, now: Timestamp) -> bool {
        self.due.is_none_or(|due| due.plus(Millis(AT_ONCE * BETWEEN.0)) <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    #[test]
    fn the_first_refusals_are_immediate_and_later_ones_delayed() {
        let mut pace = Pace::default();
        let waits: Vec<u128> = (0..1_100).map(|_| pace.wait(NOW).as_millis()).collect();
        assert_eq!(waits.iter().filter(|wait| **wait == 0).count(), 100);
        assert_eq!(waits[1_099], 1_000);
        assert!(!pace.is_idle(NOW.plus(Millis(1_000))));
        assert!(pace.is_idle(NOW.plus(Millis(1_100))));
        assert_eq!(pace.wait(NOW.plus(Millis(5_000))), Duration::ZERO, "it is forgiven");
    }

    #[test]
    fn refusals_are_delayed_by_ten_seconds_at_most() {
        let mut pace = Pace::default();
        let longest = (0..1_000_000).map(|_| pace.wait(NOW)).max();
        assert_eq!(longest, Some(Duration::from_secs(10)));
    }
}
