//! Our own plugins' way to speak, where a host takes code instead of a program's answer.

use countersign_json::Value;
use serde_json::json;

use super::shape;
use super::{Answer, Heard, Proposed, Ran, Reply, Unheard};

pub fn read(from: &Value<'_>) -> Result<Heard, Unheard> {
    match shape::text(from, "event")?.as_str() {
        "before" => Ok(Heard::Before(call(from)?)),
        "after" => {
            let status = shape::text(from, "status")?;
            let result = from.get("result").map(Value::to_json);
            Ok(Heard::After(Ran {
                call: call(from)?,
                failed: status != "ok",
                exit_code: shape::number(from, "exit_code"),
                duration_ms: shape::number(from, "duration_ms"),
                result,
            }))
        }
        "batch" => {
            let around = place(from)?;
            let calls = from.get("calls").and_then(Value::as_array);
            let calls = calls.ok_or_else(|| Unheard("`calls` is no list".to_owned()))?;
            let read = |one: &Value<'_>| {
                let found = call(one)?;
                Ok(Proposed {
                    session: found.session.or_else(|| around.session.clone()),
                    cwd: found.cwd.or_else(|| around.cwd.clone()),
                    ..found
                })
            };
            Ok(Heard::Batch(calls.iter().map(read).collect::<Result<_, Unheard>>()?))
        }
        "message" => Ok(Heard::Message {
            text: shape::text(from, "text")?,
            session: shape::optional(from, "session")?,
        }),
        other => Err(Unheard(format!("`{other}` is no event"))),
    }
}

fn call(from: &Value<'_>) -> Result<Proposed, Unheard> {
    let tool = shape::text(from, "tool")?;
    let arguments = shape::arguments(from, "arguments")?;
    let call_id = shape::optional(from, "call_id")?;
    Ok(Proposed { tool, arguments, call_id, ..place(from)? })
}

fn place(from: &Value<'_>) -> Result<Proposed, Unheard> {
    Ok(Proposed {
        session: shape::optional(from, "session")?,
        cwd: shape::optional(from, "cwd")?,
        ..Proposed::default()
    })
}

pub fn reply(answer: &Answer) -> Reply {
    shape::says(&said(answer))
}

fn said(answer: &Answer) -> serde_json::Value {
    match answer {
        Answer::Pass | Answer::Approved { edited: None } => json!({ "decision": "allow" }),
        Answer::Approved { edited: Some(text) } => match shape::edited(text) {
            Some(arguments) => json!({ "decision": "allow", "arguments": arguments }),
            None => json!({ "decision": "deny", "reason": shape::UNREADABLE_EDIT }),
        },
        Answer::Denied(why) => json!({ "decision": "deny", "reason": why }),
        Answer::Planned { stages, answers } => {
            let decisions: Vec<_> = answers.iter().map(said).collect();
            json!({ "stages": stages, "decisions": decisions })
        }
        Answer::Card(card) => json!({ "card": card }),
        Answer::Noted => json!({}),
    }
}
