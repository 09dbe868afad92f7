//! Points in time as the API writes them.

use std::fmt;

use countersign_types::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time, from RFC 3339 text in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(Timestamp);

impl Time {
    /// Milliseconds since 1970.
    pub const fn millis(self) -> i64 {
        self.0.0
    }

    /// From milliseconds since 1970.
    pub const fn from_millis(millis: i64) -> Time {
        Time(Timestamp(millis))
    }

    /// Reads `2026-11-14T23:59:59.999Z`, and only what is written so.
    pub fn parse(text: &str) -> Option<Time> {
        Timestamp::parse(text).map(Time)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Time, D::Error> {
        let text = String::deserialize(input)?;
        Time::parse(&text).ok_or_else(|| serde::de::Error::custom("this is no time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        for millis in [0, 951_782_400_123, 1_794_700_799_999, 4_107_542_400_000, -1] {
            let time = Time::from_millis(millis);
            assert_eq!(Time::parse(&time.to_string()), Some(time));
        }
        assert_eq!(Time::parse("1970-01-01T00:00:01Z"), Some(Time::from_millis(1000)));
        for bad in [
            "",
            "1970-01-01",
            "1970-13-01T00:00:00.000Z",
            "1970-02-30T00:00:00.000Z",
            "1970-01-01T00:00:00.000+01:00",
            "1970-01-01T24:00:00.000Z",
            "é970-01-01T00:00:00.000Z",
        ] {
            assert_eq!(Time::parse(bad), None, "{bad}");
        }
    }
}
