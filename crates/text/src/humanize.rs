//! Times and amounts as people say them, the same on every surface.

use countersign_types::time::Timestamp;

/// "3 min ago", "in 40 s".
pub fn apart(time: Timestamp, now: Timestamp) -> String {
    let seconds = time.0.saturating_sub(now.0) / 1000;
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

/// A number with its thousands apart: 3,120.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        let at = |seconds: i64| Timestamp(seconds * 1000);
        assert_eq!(apart(at(40), at(0)), "in 40 s");
        assert_eq!(apart(at(0), at(200)), "3 min ago");
        assert_eq!(apart(at(0), at(7300)), "2 h ago");
        assert_eq!(apart(at(0), at(400_000)), "4 days ago");
        assert_eq!(apart(at(5), at(5)), "now");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
