//! Points in time. The pure crates receive the time as an argument and never read a clock.

use std::fmt;

use serde::{Serialize, Serializer};

/// Milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This much later; saturates.
    #[must_use]
    pub const fn plus(self, span: Millis) -> Timestamp {
        Timestamp(self.0.saturating_add_unsigned(span.0))
    }

    /// The time until `later`; zero if `later` has passed.
    pub const fn until(self, later: Timestamp) -> Millis {
        if later.0 <= self.0 { Millis(0) } else { Millis(later.0.abs_diff(self.0)) }
    }

    /// Parses `2026-11-14T23:59:59.999Z`, with or without milliseconds. Other forms of RFC 3339 are
    /// rejected.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let millis = if text.len() == 24 { number(20, 23)? } else { 0 };
        let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
        let time = Timestamp(seconds * 1000 + millis);
        let written = time.to_string();
        let short = || written.strip_suffix(".000Z").and_then(|head| text.strip_prefix(head));
        (written == text || short() == Some("Z")).then_some(time)
    }

    /// Whole seconds since 1970, rounded down.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }
}

/// Days since 1970 (proleptic Gregorian calendar).
const fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin on 1 March, so that leap days come last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let month = (month + 9).rem_euclid(12);
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A duration in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Millis {
    /// Whole seconds.
    pub const fn from_seconds(seconds: u32) -> Millis {
        Millis(seconds as u64 * 1000)
    }
}

/// The current time, and whether it can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The time; it never decreases.
    pub at: Timestamp,
    /// Whether the system clock agrees with recorded times. While the clock is behind a time that
    /// was already recorded, nothing is approved: an approval could extend a deadline.
    pub reliable: bool,
}

impl Moment {
    /// A moment whose clock is reliable.
    pub const fn reliable(at: Timestamp) -> Moment {
        Moment { at, reliable: true }
    }
}

/// A source of the current time. The daemon implements it with the system clock, tests with their
/// own.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Moment;
}

impl fmt::Display for Timestamp {
    /// RFC 3339 with milliseconds, UTC.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.0.div_euclid(86_400_000);
        let rest = self.0.rem_euclid(86_400_000);
        let (year, month, day) = civil(days);
        let (seconds, millis) = (rest / 1000, rest % 1000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

/// Year, month and day of a day number since 1970 (proleptic Gregorian calendar).
const fn civil(days: i64) -> (i64, i64, i64) {
    // Counted in eras of 400 years that begin on 1 March, so that leap days come last.
    let shifted = days.saturating_add(719_468);
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_the_calendar_has_them() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (1_794_700_799_999, "2026-11-14T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Timestamp(millis).to_string(), text);
        }
    }

    #[test]
    fn spans_stay_on_the_scale() {
        assert_eq!(Timestamp(i64::MAX).plus(Millis(5)), Timestamp(i64::MAX));
        assert_eq!(Timestamp(5).until(Timestamp(3)), Millis(0));
        assert_eq!(Timestamp(-5).until(Timestamp(3)), Millis(8));
        let _ = Timestamp(i64::MAX).to_string();
        let _ = Timestamp(i64::MIN).to_string();
    }
}
