//! Decimal numbers compared and written by value, without rounding.

/// A number as sign, digits without zeros at either end, and a power of ten.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    /// Empty for zero.
    digits: String,
    /// `None` if the exponent is too large to compute with.
    power: Option<i64>,
}

/// Exponents with more digits than this are not computed with.
const MAX_EXPONENT_DIGITS: usize = 17;

/// Whether two JSON numbers have the same value; `-0` is `0`.
pub(super) fn same(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let (a, b) = (read(a), read(b));
    a == b && a.power.is_some()
}

/// Writes the normal form of a number that no `f64` represents exactly.
///
/// A number whose exponent is too large stays as written: such texts are equal only to themselves.
pub(super) fn write_exact(text: &str, out: &mut String) {
    let decimal = read(text);
    let Some(power) = decimal.power else {
        out.push_str(text);
        return;
    };
    if decimal.negative {
        out.push('-');
    }
    out.push_str(&decimal.digits);
    if power != 0 {
        out.push('e');
        out.push_str(&power.to_string());
    }
}

fn read(text: &str) -> Decimal {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut digits = String::with_capacity(number.len());
    digits.push_str(whole.trim_start_matches('0'));
    digits.push_str(fraction);
    let kept = digits.trim_end_matches('0').len();
    let dropped = digits.len() - kept;
    digits.truncate(kept);
    let leading = digits.len() - digits.trim_start_matches('0').len();
    digits.drain(..leading);
    if digits.is_empty() {
        return Decimal { negative: false, digits, power: Some(0) };
    }
    let shift = i64::try_from(dropped).ok().zip(i64::try_from(fraction.len()).ok());
    let power = count(exponent).zip(shift).map(|(power, (up, down))| power + up - down);
    Decimal { negative, digits, power }
}

fn count(exponent: &str) -> Option<i64> {
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, exponent.strip_prefix('+').unwrap_or(exponent)),
    };
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    if digits.len() > MAX_EXPONENT_DIGITS {
        return None;
    }
    digits.parse::<i64>().ok().map(|n| sign * n)
}
