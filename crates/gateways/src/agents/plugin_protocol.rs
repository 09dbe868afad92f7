//! The protocol between our own plugins and the hook, for agents that load code.

use countersign_json::Value;
use serde_json::json;

use super::descriptor::HookProtocol;
use super::fields;
use super::protocol::{
    CompletedCall, HookAnswer, HookEvent, HookInputError, HookReply, ProposedCall,
};

pub const PROTOCOL: HookProtocol = HookProtocol { parse, reply, announce };

fn parse(from: &Value<'_>) -> Result<HookEvent, HookInputError> {
    match fields::required_text(from, "event")?.as_str() {
        "before" => Ok(HookEvent::Before(call(from)?)),
        "after" => {
            let status = fields::required_text(from, "status")?;
            let result = from.get("result").map(Value::to_json);
            Ok(HookEvent::After(CompletedCall {
                call: call(from)?,
                failed: status != "ok",
                exit_code: fields::number(from, "exit_code"),
                duration_ms: fields::number(from, "duration_ms"),
                result,
            }))
        }
        "batch" => {
            let defaults = session_and_folder(from)?;
            let calls = from.get("calls").and_then(Value::as_array);
            let calls =
                calls.ok_or_else(|| HookInputError("`calls` is not an array".to_owned()))?;
            let read = |one: &Value<'_>| {
                let found = call(one)?;
                Ok(ProposedCall {
                    session: found.session.or_else(|| defaults.session.clone()),
                    cwd: found.cwd.or_else(|| defaults.cwd.clone()),
                    project: found.project.or_else(|| defaults.project.clone()),
                    ..found
                })
            };
            Ok(HookEvent::Batch(calls.iter().map(read).collect::<Result<_, HookInputError>>()?))
        }
        "message" => Ok(HookEvent::Message {
            text: fields::required_text(from, "text")?,
            session: fields::optional_text(from, "session")?,
        }),
        other => Err(fields::unknown_event(other)),
    }
}

fn call(from: &Value<'_>) -> Result<ProposedCall, HookInputError> {
    let tool = fields::required_text(from, "tool")?;
    let arguments = fields::arguments(from, "arguments")?;
    let call_id = fields::optional_text(from, "call_id")?;
    Ok(ProposedCall { tool, arguments, call_id, ..session_and_folder(from)? })
}

fn session_and_folder(from: &Value<'_>) -> Result<ProposedCall, HookInputError> {
    Ok(ProposedCall {
        session: fields::optional_text(from, "session")?,
        cwd: fields::optional_text(from, "cwd")?,
        project: fields::optional_text(from, "project")?,
        ..ProposedCall::default()
    })
}

fn reply(answer: &HookAnswer) -> HookReply {
    fields::json_reply(&to_json(answer))
}

fn to_json(answer: &HookAnswer) -> serde_json::Value {
    match answer {
        HookAnswer::Pass | HookAnswer::Approved { edited: None } => json!({ "decision": "allow" }),
        HookAnswer::Approved { edited: Some(text) } => match fields::edited_arguments(text) {
            Some(arguments) => json!({ "decision": "allow", "arguments": arguments }),
            None => json!({ "decision": "deny", "reason": fields::UNREADABLE_EDIT }),
        },
        HookAnswer::Denied(why) => json!({ "decision": "deny", "reason": why }),
        HookAnswer::Planned { stages, answers } => {
            let decisions: Vec<_> = answers.iter().map(to_json).collect();
            json!({ "stages": stages, "decisions": decisions })
        }
        HookAnswer::Card(card) => json!({ "card": card }),
        HookAnswer::Noted => json!({}),
    }
}

fn announce(tool: &str, session: &str) -> serde_json::Value {
    json!({ "event": "before", "session": session, "tool": tool, "arguments": {} })
}
