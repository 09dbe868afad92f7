//! The session logs of Claude Code: one JSON Lines file per session below `projects`, and one for
//! each sub-agent.

use countersign_json::Value;

use crate::session_log::{LogRecords, SessionLogFormat, no_index, says, text};

pub static FORMAT: SessionLogFormat = SessionLogFormat {
    folder: |scope| scope.folder("CLAUDE_CONFIG_DIR", ".claude").join("projects"),
    extensions: &["jsonl"],
    markers: &["\"tool_use\"", "\"tool_result\""],
    recognizes,
    read,
    is_index: no_index,
};

/// How the result of a call begins that the user rejected.
const REJECTED: [&str; 2] = [
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
];

fn recognizes(value: &Value<'_>) -> bool {
    let message = value.get("message");
    value.get("sessionId").is_some() && message.is_some_and(|m| m.get("content").is_some())
}

fn read(value: &Value<'_>, records: &mut LogRecords) {
    records.enter(text(value, "sessionId"), text(value, "cwd"));
    let content = value.get("message").and_then(|message| message.get("content"));
    for block in content.and_then(Value::as_array).unwrap_or_default() {
        match text(block, "type") {
            Some("tool_use") => {
                let input = block.get("input").unwrap_or(&Value::Null);
                records.add(text(block, "id"), text(block, "name").unwrap_or_default(), input);
            }
            Some("tool_result") if says(block.get("content"), &REJECTED) => {
                records.reject(text(block, "tool_use_id"));
            }
            _ => {}
        }
    }
}
