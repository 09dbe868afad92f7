//! The time, for "3 min ago" and for permits; nothing is approved by it.

use std::time::{SystemTime, UNIX_EPOCH};

use countersign_client::Time;

/// Now, by this machine's clock.
#[expect(clippy::disallowed_methods, reason = "only to say how long ago something was")]
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// "3 min ago", "in 40 s".
pub fn apart(time: Time, now: Time) -> String {
    let seconds = (time.millis() - now.millis()) / 1000;
    let span = length(seconds.unsigned_abs());
    match seconds {
        0 => "now".to_owned(),
        1.. => format!("in {span}"),
        _ => format!("{span} ago"),
    }
}

/// "40 s", "3 min".
pub fn length(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        let at = |seconds: i64| Time::from_millis(seconds * 1000);
        assert_eq!(apart(at(40), at(0)), "in 40 s");
        assert_eq!(apart(at(0), at(200)), "3 min ago");
        assert_eq!(apart(at(0), at(7300)), "2 h ago");
        assert_eq!(apart(at(0), at(400_000)), "4 days ago");
        assert_eq!(apart(at(5), at(5)), "now");
    }
}
