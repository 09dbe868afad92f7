//! JSON Lines of no particular agent: calls as `assess --batch` takes them, and the records that a
//! logging hook writes.

use countersign_json::Value;

use crate::session_log::{LogRecords, text};

/// Whether a record names a command or a tool.
pub fn recognizes(value: &Value<'_>) -> bool {
    ["command", "tool", "tool_name"].iter().any(|name| text(value, name).is_some())
}

/// Adds the call of a record. A record without one is counted as unreadable.
pub fn read(value: &Value<'_>, records: &mut LogRecords) {
    let first = |names: &[&str]| names.iter().find_map(|name| text(value, name)).map(str::to_owned);
    let session = first(&["session", "session_id", "sessionId"]);
    let cwd = first(&["cwd", "workdir", "directory"]);
    // Records of several sessions may follow each other in any order.
    records.session = None;
    records.cwd = None;
    records.enter(session.as_deref(), cwd.as_deref());
    let id = first(&["id", "tool_use_id", "call_id"]);
    let before = records.calls.len();
    match (text(value, "command"), first(&["tool", "tool_name"])) {
        (Some(command), None) => {
            let arguments = Value::Object(vec![("command".into(), Value::String(command.into()))]);
            records.add(id.as_deref(), "shell", &arguments);
        }
        (_, Some(tool)) => {
            let given =
                ["arguments", "tool_input", "input"].iter().find_map(|name| value.get(name));
            records.add(id.as_deref(), &tool, given.unwrap_or(&Value::Object(Vec::new())));
        }
        (None, None) => records.unreadable += 1,
    }
    let decision = first(&["decision", "state"]);
    let denied = matches!(decision.as_deref(), Some("denied" | "deny" | "rejected"));
    if let Some(call) = records.calls.get_mut(before) {
        call.project = first(&["project"]);
        call.host = first(&["host", "agent"]);
        call.rejected = denied;
    }
}
