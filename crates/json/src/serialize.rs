//! A value for any serde format.

use serde::ser::{Serialize, Serializer};

use crate::canonical;
use crate::value::Value;

/// For any serde format. A number that neither a 128-bit integer nor an `f64` represents exactly
/// becomes a string of its digits, so no digit is lost. `to_json` keeps it a number.
impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => out.serialize_unit(),
            Value::Bool(truth) => out.serialize_bool(*truth),
            Value::Number(digits) => number(digits, out),
            Value::String(text) => out.serialize_str(text),
            Value::Array(items) => out.collect_seq(items),
            Value::Object(members) => out.collect_map(members.iter().map(|(k, v)| (k, v))),
        }
    }
}

fn number<S: Serializer>(digits: &str, out: S) -> Result<S::Ok, S::Error> {
    if digits != "-0" {
        if let Ok(whole) = digits.parse::<i64>() {
            return out.serialize_i64(whole);
        }
        if let Ok(whole) = digits.parse::<i128>() {
            return out.serialize_i128(whole);
        }
    }
    match canonical::exact_f64(digits) {
        Some(double) => out.serialize_f64(double),
        None => out.serialize_str(digits),
    }
}
