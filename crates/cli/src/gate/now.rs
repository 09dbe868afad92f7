//! The time, for "3 min ago" and for permits; nothing is approved by it.

use std::time::{SystemTime, UNIX_EPOCH};

use countersign_client::Time;

use crate::core_api;

/// Now, by this machine's clock.
#[expect(clippy::disallowed_methods, reason = "only to say how long ago something was")]
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// "3 min ago", "in 40 s".
pub fn apart(time: Time, now: Time) -> String {
    core_api::apart(time.millis(), now.millis())
}
