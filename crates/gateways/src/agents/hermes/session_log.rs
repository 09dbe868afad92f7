//! The sessions of Hermes: a JSON document or JSON Lines per session below `sessions`, and the
//! JSON Lines that `hermes sessions export` writes, one session each.

use countersign_json::Value;

use crate::session_log::{LogRecords, SessionLogFormat, function_call, no_index, says, text};

pub static FORMAT: SessionLogFormat = SessionLogFormat {
    folder: |scope| scope.folder("HERMES_HOME", ".hermes").join("sessions"),
    extensions: &["json", "jsonl"],
    markers: &["\"tool_calls\"", "\"session_meta\"", "\"tool\""],
    recognizes,
    read,
    is_index: no_index,
};

/// The result of a call that the user denied.
const REJECTED: [&str; 1] = ["BLOCKED: User denied"];

fn recognizes(value: &Value<'_>) -> bool {
    let is_session = value.get("messages").and_then(Value::as_array).is_some();
    is_session && (value.get("session_id").is_some() || value.get("id").is_some())
        || text(value, "role").is_some()
}

fn read(value: &Value<'_>, records: &mut LogRecords) {
    let Some(messages) = value.get("messages").and_then(Value::as_array) else {
        return message(value, records);
    };
    let session = text(value, "session_id").or_else(|| text(value, "id"));
    records.enter(session, text(value, "cwd"));
    for found in messages {
        message(found, records);
    }
}

fn message(value: &Value<'_>, records: &mut LogRecords) {
    for call in value.get("tool_calls").and_then(Value::as_array).unwrap_or_default() {
        let function = call.get("function").unwrap_or(call);
        let keep = |name: &str, arguments: Value<'_>| (name.to_owned(), arguments.into_owned());
        function_call(text(call, "id"), function, records, keep);
    }
    if text(value, "role") == Some("tool") && says(value.get("content"), &REJECTED) {
        records.reject(text(value, "tool_call_id"));
    }
}
