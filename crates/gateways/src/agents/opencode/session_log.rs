//! The sessions of OpenCode: one JSON file for each part of a message below `storage`, and the
//! document that `opencode export` writes. Versions that keep sessions in a database are read
//! through the export.

use std::path::Path;

use countersign_json::Value;

use crate::session_log::{LogRecords, SessionLogFormat, text};

pub static FORMAT: SessionLogFormat = SessionLogFormat {
    folder: |scope| scope.folder("XDG_DATA_HOME", ".local/share").join("opencode/storage"),
    extensions: &["json"],
    markers: &["\"tool\"", "\"directory\""],
    recognizes,
    read,
    is_index,
};

/// The error of a call that the user rejected.
const REJECTED: &str = "The user rejected permission to use this specific tool call";

fn recognizes(value: &Value<'_>) -> bool {
    let is_export = value.get("info").is_some_and(|info| info.get("id").is_some())
        && value.get("messages").and_then(Value::as_array).is_some();
    is_export || is_part(value) || is_session(value)
}

fn is_part(value: &Value<'_>) -> bool {
    value.get("messageID").is_some() && value.get("sessionID").is_some()
}

fn is_session(value: &Value<'_>) -> bool {
    value.get("projectID").is_some() && value.get("directory").is_some()
}

/// The files of sessions say which folder they belong to.
fn is_index(path: &Path) -> bool {
    let has = |name: &str| path.components().any(|part| part.as_os_str() == name);
    has("session") && !has("part") && !has("message")
}

fn read(value: &Value<'_>, records: &mut LogRecords) {
    if is_part(value) {
        records.cwd = None;
        return part(value, records);
    }
    let info = value.get("info").unwrap_or(value);
    if let (Some(session), Some(folder)) = (text(info, "id"), text(info, "directory")) {
        records.note_folder(session, folder);
    }
    for message in value.get("messages").and_then(Value::as_array).unwrap_or_default() {
        for found in message.get("parts").and_then(Value::as_array).unwrap_or_default() {
            part(found, records);
        }
    }
}

fn part(value: &Value<'_>, records: &mut LogRecords) {
    if text(value, "type") != Some("tool") {
        return;
    }
    records.enter(text(value, "sessionID"), None);
    let state = value.get("state").unwrap_or(&Value::Null);
    let id = text(value, "callID");
    let input = state.get("input").unwrap_or(&Value::Null);
    records.add(id, text(value, "tool").unwrap_or_default(), input);
    if text(state, "error").is_some_and(|error| error.contains(REJECTED)) {
        records.reject(id);
    }
}
