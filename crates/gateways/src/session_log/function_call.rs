//! Function calls with their arguments as a JSON text, which several agents write into their logs.

use countersign_json::{Value, parse_within};

use super::{LogRecords, text};

/// The longest arguments that are read.
const MAX_ARGUMENTS: usize = 4 << 20;

/// Adds a call whose arguments are a JSON text, or an object.
pub fn function_call(
    id: Option<&str>,
    function: &Value<'_>,
    records: &mut LogRecords,
    rename: impl FnOnce(&str, Value<'_>) -> (String, Value<'static>),
) {
    let name = text(function, "name").unwrap_or_default();
    let arguments = match function.get("arguments") {
        Some(Value::String(written)) => match parse_within(written, MAX_ARGUMENTS) {
            Ok(arguments) => arguments,
            Err(_) => return records.unreadable += 1,
        },
        Some(other) => other.reborrow(),
        None => return records.unreadable += 1,
    };
    let (tool, arguments) = rename(name, arguments);
    records.add(id, &tool, &arguments);
}
