//! What the hosts' JSON has in common, read strictly: what is missing or of another kind is a no.

use countersign_json as json;
use countersign_json::Value;
use serde_json::json;

use super::{Proposed, Ran, Reply, Unheard};

/// A text that must be there.
pub fn text(from: &Value<'_>, key: &str) -> Result<String, Unheard> {
    let found = from.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    found.map(ToOwned::to_owned).ok_or_else(|| Unheard(format!("`{key}` is missing")))
}

/// A text that may be there.
pub fn optional(from: &Value<'_>, key: &str) -> Result<Option<String>, Unheard> {
    match from.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.to_string())),
        Some(_) => Err(Unheard(format!("`{key}` is no text"))),
    }
}

/// Arguments: an object, or the JSON text of one (some hosts send that), or nothing at all.
pub fn arguments(from: &Value<'_>, key: &str) -> Result<String, Unheard> {
    match from.get(key) {
        None | Some(Value::Null) => Ok("{}".to_owned()),
        Some(object @ Value::Object(_)) => Ok(object.to_json()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok("{}".to_owned()),
        Some(Value::String(text)) => match json::parse(text) {
            Ok(Value::Object(_)) => Ok(text.trim().to_owned()),
            _ => Err(Unheard(format!("`{key}` is no JSON object"))),
        },
        Some(_) => Err(Unheard(format!("`{key}` is no JSON object"))),
    }
}

/// A whole number that may be there; what is none is left out, since nothing hangs on it.
pub fn number<T: std::str::FromStr>(from: &Value<'_>, key: &str) -> Option<T> {
    from.get(key).and_then(Value::as_number).and_then(|digits| digits.parse().ok())
}

/// The members that Claude Code, Codex and Gemini CLI share.
pub fn usual(from: &Value<'_>) -> Result<Proposed, Unheard> {
    let tool = text(from, "tool_name")?;
    // The MCP proxy sees the same call and knows no folder: both must mean the same one.
    let is_mcp = tool.starts_with("mcp__");
    let cwd = if is_mcp { None } else { optional(from, "cwd")? };
    Ok(Proposed {
        arguments: arguments(from, "tool_input")?,
        session: optional(from, "session_id")?,
        call_id: optional(from, "tool_use_id")?,
        cwd,
        tool,
    })
}

/// What the same hosts say after a call.
pub fn ran(from: &Value<'_>, failed: bool) -> Result<Ran, Unheard> {
    let response = from.get("tool_response").or_else(|| from.get("error"));
    let told = |key: &str| response.and_then(|r| r.get(key)).and_then(Value::as_bool);
    let exit_code = response.and_then(|found| {
        let named = ["exit_code", "exitCode"];
        named.into_iter().find_map(|key| number::<i64>(found, key))
    });
    Ok(Ran {
        call: usual(from)?,
        failed: failed || told("is_error") == Some(true) || exit_code.is_some_and(|code| code != 0),
        exit_code,
        duration_ms: number(from, "duration_ms"),
        result: response.map(Value::to_json),
    })
}

/// A JSON object on standard output, and nothing else.
pub fn says(object: &serde_json::Value) -> Reply {
    Reply { out: object.to_string(), ..Reply::default() }
}

/// Says that there is nothing to say, which leaves the call to the host's own rules. Not silence: a
/// program that is broken is silent, too, and the installed command takes that for a no.
pub fn leaves_it() -> Reply {
    says(&json!({}))
}

/// The arguments that a person wrote, as JSON again. What cannot be read back must not run.
pub fn edited(text: &str) -> Option<serde_json::Value> {
    serde_json::from_str(text).ok().filter(serde_json::Value::is_object)
}

/// Claude's way to answer before a call, perhaps with other arguments to run with.
pub fn claude_decision(decision: &str, reason: &str, input: Option<serde_json::Value>) -> Reply {
    let mut specific = json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    });
    if let (Some(input), Some(members)) = (input, specific.as_object_mut()) {
        members.insert("updatedInput".to_owned(), input);
    }
    says(&json!({ "hookSpecificOutput": specific }))
}

/// Where an edited call cannot be put into words.
pub const UNREADABLE_EDIT: &str =
    "Countersign: a person approved this call with other arguments, which could not be read back.";
