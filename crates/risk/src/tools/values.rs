//! The strings inside a JSON value.

use super::text;
use countersign_json::Value;

/// All items of an array, where they are strings.
pub(super) fn strings<'v>(value: &'v Value<'_>) -> Option<Vec<&'v str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// Whether every string in a value passes a test.
pub(super) fn each_text(value: &Value<'_>, test: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => test(text),
        Value::Array(list) => list.iter().all(|item| each_text(item, test)),
        Value::Object(members) => {
            members.iter().all(|(key, value)| test(key) && each_text(value, test))
        }
    }
}

/// Whether every string in a value is a plain word.
pub(super) fn is_plain(value: &Value<'_>) -> bool {
    each_text(value, &text::is_plain_word)
}
