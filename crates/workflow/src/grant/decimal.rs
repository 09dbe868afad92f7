//! Decimal numbers without floating point: what a limit or an amount says is exactly what counts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The most digits before the point.
const WHOLE: usize = 18;
/// The most digits after the point.
const FRACTION: usize = 9;
const UNIT: u128 = 1_000_000_000;

/// A number of at least zero: digits, and at most nine more after a point. It has no sign, no
/// exponent, no currency sign and no zeros in front, because tools read such texts differently.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PlainDecimal {
    billionths: u128,
}

impl PlainDecimal {
    /// The largest number.
    pub const MAX: PlainDecimal = PlainDecimal { billionths: 1_000_000_000_000_000_000 * UNIT - 1 };

    /// Reads a number; none if the text is anything else.
    pub fn parse(text: &str) -> Option<PlainDecimal> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (text, None),
        };
        let digits = |part: &str, most: usize| {
            (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        let is_number = digits(whole, WHOLE)
            && fraction.is_none_or(|part| digits(part, FRACTION))
            && (whole == "0" || !whole.starts_with('0'));
        if !is_number {
            return None;
        }
        let padded = format!("{:0<FRACTION$}", fraction.unwrap_or_default());
        let whole = whole.parse::<u128>().ok()?.checked_mul(UNIT)?;
        Some(PlainDecimal { billionths: whole.checked_add(padded.parse().ok()?)? })
    }

    /// The sum; none if it is too large to be written.
    pub fn checked_add(self, other: PlainDecimal) -> Option<PlainDecimal> {
        let sum = PlainDecimal { billionths: self.billionths.checked_add(other.billionths)? };
        PlainDecimal::parse(&sum.to_string())
    }
}

impl fmt::Display for PlainDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.billionths / UNIT)?;
        match self.billionths % UNIT {
            0 => Ok(()),
            rest => {
                let digits = format!("{rest:0>FRACTION$}");
                write!(f, ".{}", digits.trim_end_matches('0'))
            }
        }
    }
}

impl TryFrom<String> for PlainDecimal {
    type Error = String;

    fn try_from(text: String) -> Result<PlainDecimal, String> {
        PlainDecimal::parse(&text).ok_or_else(|| format!("`{text}` is not a plain number"))
    }
}

impl From<PlainDecimal> for String {
    fn from(number: PlainDecimal) -> String {
        number.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_digits_are_numbers() {
        for (text, shown) in [
            ("0", "0"),
            ("20", "20"),
            ("20.00", "20"),
            ("0.1", "0.1"),
            ("999999999999999999.999999999", "999999999999999999.999999999"),
        ] {
            assert_eq!(PlainDecimal::parse(text).unwrap().to_string(), shown);
        }
        for text in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e3",
            "1E3",
            "1,000",
            " 1",
            "1 ",
            "$1",
            "010",
            "0x10",
            "1_000",
            "NaN",
            "inf",
            "1.0000000001",
            "1000000000000000000",
            "１",
        ] {
            assert_eq!(PlainDecimal::parse(text), None, "{text}");
        }
    }

    #[test]
    fn sums_are_exact_and_bounded() {
        let number = |text| PlainDecimal::parse(text).unwrap();
        assert_eq!(number("0.1").checked_add(number("0.2")), Some(number("0.3")));
        assert!(number("0.3") > number("0.299999999"));
        let most = number("999999999999999999.999999999");
        assert_eq!(most.checked_add(number("0.000000001")), None);
    }
}
