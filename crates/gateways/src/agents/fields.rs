//! Strict readers for the JSON of hooks, and answers that several agents share.

use countersign_json::{self as json, Value};
use serde_json::json;

use super::protocol::{CompletedCall, HookInputError, HookReply, ProposedCall};

/// A string that must be present and not empty.
pub fn required_text(from: &Value<'_>, key: &str) -> Result<String, HookInputError> {
    let found = from.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    found.map(ToOwned::to_owned).ok_or_else(|| HookInputError(format!("`{key}` is missing")))
}

/// A string that may be missing, null or empty.
pub fn optional_text(from: &Value<'_>, key: &str) -> Result<Option<String>, HookInputError> {
    match from.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.to_string())),
        Some(_) => Err(HookInputError(format!("`{key}` is not a string"))),
    }
}

/// Arguments: an object, the JSON text of an object (some agents send that), or nothing.
pub fn arguments(from: &Value<'_>, key: &str) -> Result<String, HookInputError> {
    let wrong = || Err(HookInputError(format!("`{key}` is not a JSON object")));
    match from.get(key) {
        None | Some(Value::Null) => Ok("{}".to_owned()),
        Some(object @ Value::Object(_)) => Ok(object.to_json()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok("{}".to_owned()),
        Some(Value::String(text)) => match json::parse(text) {
            Ok(Value::Object(_)) => Ok(text.trim().to_owned()),
            _ => wrong(),
        },
        Some(_) => wrong(),
    }
}

/// A whole number that may be missing. Other values are ignored, because no decision uses it.
pub fn number<T: std::str::FromStr>(from: &Value<'_>, key: &str) -> Option<T> {
    from.get(key).and_then(Value::as_number).and_then(|digits| digits.parse().ok())
}

/// A call under the names `tool_name`, `tool_input`, `session_id`, `tool_use_id` and `cwd`.
pub fn tool_call(from: &Value<'_>) -> Result<ProposedCall, HookInputError> {
    let tool = required_text(from, "tool_name")?;
    // The MCP proxy sees the same call without a folder; both reports must have the same digest.
    let is_mcp = tool.starts_with("mcp__");
    let cwd = if is_mcp { None } else { optional_text(from, "cwd")? };
    Ok(ProposedCall {
        arguments: arguments(from, "tool_input")?,
        session: optional_text(from, "session_id")?,
        call_id: optional_text(from, "tool_use_id")?,
        cwd,
        tool,
        ..ProposedCall::default()
    })
}

/// The outcome of such a call, under `tool_response` or `error`.
pub fn tool_result(from: &Value<'_>, failed: bool) -> Result<CompletedCall, HookInputError> {
    let response = from.get("tool_response").or_else(|| from.get("error"));
    let flag = |key: &str| response.and_then(|r| r.get(key)).and_then(Value::as_bool);
    let exit_code = response.and_then(|found| {
        let named = ["exit_code", "exitCode"];
        named.into_iter().find_map(|key| number::<i64>(found, key))
    });
    Ok(CompletedCall {
        call: tool_call(from)?,
        failed: failed || flag("is_error") == Some(true) || exit_code.is_some_and(|code| code != 0),
        exit_code,
        duration_ms: number(from, "duration_ms"),
        result: response.map(Value::to_json),
    })
}

/// The error for an event that the hook is not installed for.
pub fn unknown_event(name: &str) -> HookInputError {
    HookInputError(format!("the event `{name}` is not supported"))
}

/// A JSON object on standard output, and nothing else.
pub fn json_reply(object: &serde_json::Value) -> HookReply {
    HookReply { out: object.to_string(), ..HookReply::default() }
}

/// No decision: the agent's own rules apply. Not silence, because a broken program is silent too
/// and the installed command treats silence as a denial.
pub fn no_decision() -> HookReply {
    json_reply(&json!({}))
}

/// The arguments that a person wrote. Text that is not a JSON object must not run.
pub fn edited_arguments(text: &str) -> Option<serde_json::Value> {
    serde_json::from_str(text).ok().filter(serde_json::Value::is_object)
}

/// The reason given with an approval.
pub const APPROVED: &str = "Countersign: a person approved this call.";

/// The reason given with an approval of edited arguments.
pub const APPROVED_EDITED: &str = "Countersign: a person changed this call and approved it.";

/// The denial for edited arguments that cannot be read.
pub const UNREADABLE_EDIT: &str = "Countersign: a person approved this call with other arguments, \
                                   but they are not a JSON object, so the call was not run.";

/// The denial for an answer to several calls where the agent asked about one.
pub const NOT_A_BATCH: &str = "Countersign: the answer was for several calls, but the agent asked \
                               about one, so the call was not run. Please report this bug.";
