//! The current time for relative times and permits; no approval depends on it.

use std::time::{SystemTime, UNIX_EPOCH};

use countersign_client::Time;

use crate::engine;

/// Now, by the system clock.
#[expect(clippy::disallowed_methods, reason = "only for relative times")]
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// "3 min ago", "in 40 s".
pub fn relative_time(time: Time, now: Time) -> String {
    engine::relative_time(time.millis(), now.millis())
}
