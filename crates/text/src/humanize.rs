//! Times and amounts as people write them, the same in every interface.

use countersign_types::time::Timestamp;

/// "3 min ago", "in 40 s".
pub fn relative_time(time: Timestamp, now: Timestamp) -> String {
    let seconds = time.0.saturating_sub(now.0) / 1000;
    let span = duration(seconds.unsigned_abs());
    match seconds {
        0 => "now".to_owned(),
        1.. => format!("in {span}"),
        _ => format!("{span} ago"),
    }
}

/// "40 s", "3 min".
pub fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A number with thousands separators: 3,120.
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
    fn times_are_relative_and_rounded() {
        let at = |seconds: i64| Timestamp(seconds * 1000);
        assert_eq!(relative_time(at(40), at(0)), "in 40 s");
        assert_eq!(relative_time(at(0), at(200)), "3 min ago");
        assert_eq!(relative_time(at(0), at(7300)), "2 h ago");
        assert_eq!(relative_time(at(0), at(400_000)), "4 days ago");
        assert_eq!(relative_time(at(5), at(5)), "now");
    }

    #[test]
    fn thousands_are_separated() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
