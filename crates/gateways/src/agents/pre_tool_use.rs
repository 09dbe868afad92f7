//! The hook protocol with the event `PreToolUse`, which several agents share.

use countersign_json::Value;
use serde_json::json;

use super::fields::{self, APPROVED_EDITED, NOT_A_BATCH, UNREADABLE_EDIT};
use super::protocol::{HookAnswer, HookEvent, HookInputError, HookReply};

pub fn parse(from: &Value<'_>) -> Result<HookEvent, HookInputError> {
    match fields::required_text(from, "hook_event_name")?.as_str() {
        "PreToolUse" => Ok(HookEvent::Before(fields::tool_call(from)?)),
        "PostToolUse" => Ok(HookEvent::After(fields::tool_result(from, false)?)),
        "PostToolUseFailure" => Ok(HookEvent::After(fields::tool_result(from, true)?)),
        "UserPromptSubmit" => Ok(HookEvent::Message {
            text: fields::required_text(from, "prompt")?,
            session: fields::optional_text(from, "session_id")?,
        }),
        other => Err(fields::unknown_event(other)),
    }
}

pub fn announce(tool: &str, session: &str) -> serde_json::Value {
    json!({
        "hook_event_name": "PreToolUse", "session_id": session, "tool_name": tool,
        "tool_input": {},
    })
}

/// The answer where an approval without edits is left to the agent's own rules.
pub fn reply(answer: &HookAnswer) -> HookReply {
    match answer {
        HookAnswer::Pass
        | HookAnswer::Approved { edited: None }
        | HookAnswer::Noted
        | HookAnswer::Card(_) => fields::no_decision(),
        HookAnswer::Approved { edited: Some(text) } => match fields::edited_arguments(text) {
            Some(input) => decision("allow", APPROVED_EDITED, Some(input)),
            None => decision("deny", UNREADABLE_EDIT, None),
        },
        HookAnswer::Denied(why) => decision("deny", why, None),
        HookAnswer::Planned { .. } => decision("deny", NOT_A_BATCH, None),
    }
}

/// A decision before a call, with the arguments to run instead if there are any.
pub fn decision(word: &str, reason: &str, input: Option<serde_json::Value>) -> HookReply {
    let mut specific = json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": word,
        "permissionDecisionReason": reason,
    });
    if let (Some(input), Some(members)) = (input, specific.as_object_mut()) {
        members.insert("updatedInput".to_owned(), input);
    }
    fields::json_reply(&json!({ "hookSpecificOutput": specific }))
}
