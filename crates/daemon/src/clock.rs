//! The daemon's clock: time that never goes back, and that knows when the system clock did.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use countersign_types::time::{Clock, Moment, Timestamp};
use rustix::time::{ClockId, clock_gettime};

/// How far the system clock may be behind before nothing is approved, in milliseconds.
const TOLERATED: i64 = 5_000;

/// Time for the whole daemon. It follows the system clock forwards (that can only end things
/// sooner) and never backwards: then it counts on its own and reports that it is not settled.
#[derive(Debug)]
pub struct DaemonClock {
    /// The difference between the time since boot and the shown time.
    offset: AtomicI64,
    /// How far ahead tests pretend that the system clock is.
    #[cfg(test)]
    pretended: AtomicI64,
}

impl DaemonClock {
    /// Starts with the system clock.
    pub fn start() -> DaemonClock {
        DaemonClock {
            offset: AtomicI64::new(wall().saturating_sub(since_boot())),
            #[cfg(test)]
            pretended: AtomicI64::new(0),
        }
    }

    /// From now on the clock shows no time before this one, which is already in the store.
    pub fn not_before(&self, newest: Timestamp) {
        self.offset.fetch_max(newest.0.saturating_sub(since_boot()), Ordering::AcqRel);
    }

    /// Shows the system clock from now on, although that may be earlier: a person rebased it.
    pub fn rebase(&self) -> Timestamp {
        let wall = self.wall();
        self.offset.store(wall.saturating_sub(since_boot()), Ordering::Release);
        Timestamp(wall)
    }

    /// What the system clock says, which may be wrong.
    pub fn system_time(&self) -> Timestamp {
        Timestamp(self.wall())
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "a test pretends another time")]
    fn wall(&self) -> i64 {
        wall()
    }

    #[cfg(test)]
    fn wall(&self) -> i64 {
        wall() + self.pretended.load(Ordering::Acquire)
    }

    /// Pretends that the system clock is so many milliseconds ahead.
    #[cfg(test)]
    pub fn pretend(&self, ahead: i64) {
        self.pretended.store(ahead, Ordering::Release);
    }

    /// How far the system clock is behind, in milliseconds.
    pub fn behind(&self) -> i64 {
        self.now().at.0.saturating_sub(self.wall())
    }
}

impl Clock for DaemonClock {
    fn now(&self) -> Moment {
        let (since, wall) = (since_boot(), self.wall());
        let ahead = wall.saturating_sub(since);
        let offset = self.offset.fetch_max(ahead, Ordering::AcqRel).max(ahead);
        let at = since.saturating_add(offset);
        Moment { at: Timestamp(at), reliable: wall >= at.saturating_sub(TOLERATED) }
    }
}

/// The system clock, which a privileged user can set.
#[expect(
    clippy::disallowed_methods,
    reason = "the daemon's clock is the only reader of the system clock"
)]
fn wall() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A clock that cannot be set and that counts while the machine sleeps.
#[cfg(target_os = "linux")]
const SINCE_BOOT: ClockId = ClockId::Boottime;
/// A clock that cannot be set. On macOS it counts while the machine sleeps; elsewhere the system
/// clock, which is followed forwards, makes up for the sleep.
#[cfg(not(target_os = "linux"))]
const SINCE_BOOT: ClockId = ClockId::Monotonic;

/// Milliseconds since boot.
fn since_boot() -> i64 {
    let time = clock_gettime(SINCE_BOOT);
    time.tv_sec.saturating_mul(1000).saturating_add(time.tv_nsec / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_starts_after_stored_times_and_reports_it() {
        let future = wall() + 3_600_000;
        let clock = DaemonClock::start();
        clock.not_before(Timestamp(future));
        let now = clock.now();
        assert!(now.at.0 >= future && !now.reliable);
        assert!(clock.behind() > 3_500_000);
        let clock = DaemonClock::start();
        clock.not_before(Timestamp(0));
        assert!(clock.now().reliable);
    }

    #[test]
    fn the_clock_never_goes_back() {
        let clock = DaemonClock::start();
        let first = clock.now().at;
        clock.offset.fetch_add(10_000, Ordering::AcqRel);
        let jumped = clock.now();
        assert!(jumped.at.0 >= first.0 + 10_000 && !jumped.reliable);
        assert!(clock.now().at >= jumped.at);
    }
}
