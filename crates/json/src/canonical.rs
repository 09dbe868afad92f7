//! Canonical JSON (RFC 8785) and the digests a decision is bound to.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::value::Value;
use crate::write::write_string;

mod decimal;
mod digest;

#[cfg(test)]
mod tests;

pub use digest::{CallDigest, Digest, DigestError};

/// Canonical text, and whether it contains numbers that no `f64` represents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical {
    /// RFC 8785, except for the numbers that `exact` describes.
    pub text: String,
    /// Some number has no exact `f64` and is written with all its digits.
    pub exact: bool,
}

/// The canonical form of a value: no white space, keys in the order of their UTF-16 code units,
/// numbers as ECMAScript writes them.
///
/// A number is *exact* when the shortest text of its nearest `f64` has the same decimal value as
/// the source text: `0.1`, `1e2` and `-0` (which becomes `0`) are; `9007199254740993`, `1e400` and
/// `0.30000000000000001` are not. Such a number is written with all its digits, as an integer
/// without zeros at either end, then `e` and a power of ten unless that is 0 (`1e400`,
/// `12345678901234567890123456789e1`). Equal texts then always mean equal values. A program that
/// reads the number as an `f64` may still see another value, so the bytes as received must match as
/// well: `exact` is set.
pub fn canonical(value: &Value<'_>) -> Canonical {
    let mut out = Canonical { text: String::new(), exact: false };
    write(value, &mut out);
    out
}

/// The `f64` that represents a JSON number exactly, if there is one.
pub fn exact_f64(digits: &str) -> Option<f64> {
    let double: f64 = digits.parse().ok().filter(|d: &f64| d.is_finite())?;
    let mut buffer = ryu_js::Buffer::new();
    decimal::same(digits, buffer.format_finite(double)).then_some(double)
}

/// Appends the canonical form of a value.
pub fn write(value: &Value<'_>, out: &mut Canonical) {
    match value {
        Value::Null => out.text.push_str("null"),
        Value::Bool(true) => out.text.push_str("true"),
        Value::Bool(false) => out.text.push_str("false"),
        Value::Number(digits) => write_number(digits, out),
        Value::String(text) => write_string(text, &mut out.text),
        Value::Array(items) => {
            out.text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.text.push(',');
                }
                write(item, out);
            }
            out.text.push(']');
        }
        Value::Object(members) => write_members(members, out),
    }
}

/// Appends the canonical form of an object, given by its members.
pub fn write_members(members: &[(Cow<'_, str>, Value<'_>)], out: &mut Canonical) {
    // Canonical input is sorted already and needs no copy.
    if members.is_sorted_by(|(a, _), (b, _)| utf16_order(a, b).is_le()) {
        write_ordered(members.iter(), out);
    } else {
        let mut sorted: Vec<_> = members.iter().collect();
        sorted.sort_unstable_by(|(a, _), (b, _)| utf16_order(a, b));
        write_ordered(sorted.into_iter(), out);
    }
}

fn write_ordered<'a, 'b: 'a>(
    members: impl Iterator<Item = &'a (Cow<'b, str>, Value<'b>)>,
    out: &mut Canonical,
) {
    out.text.push('{');
    for (index, (key, member)) in members.enumerate() {
        if index > 0 {
            out.text.push(',');
        }
        write_string(key, &mut out.text);
        out.text.push(':');
        write(member, out);
    }
    out.text.push('}');
}

fn write_number(digits: &str, out: &mut Canonical) {
    if let Some(double) = exact_f64(digits) {
        out.text.push_str(ryu_js::Buffer::new().format_finite(double));
    } else {
        decimal::write_exact(digits, &mut out.text);
        out.exact = true;
    }
}

/// Code points order like UTF-16, except those above U+FFFF, whose surrogates sort before U+E000.
fn utf16_order(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() {
        return a.cmp(b);
    }
    a.encode_utf16().cmp(b.encode_utf16())
}
