//! Cursor: `preToolUse`, and the shell and MCP events of older versions. Written from its documents.

use countersign_core::json::Value;
use serde_json::json;

use super::shape;
use super::{Agent, Answer, Heard, Proposed, Ran, Reply, Unheard};

pub const AGENT: Agent = Agent { name: "cursor", title: "Cursor", read, reply };

fn read(from: &Value<'_>) -> Result<Heard, Unheard> {
    match shape::text(from, "hook_event_name")?.as_str() {
        "preToolUse" | "beforeMCPExecution" => Ok(Heard::Before(tool(from)?)),
        "beforeShellExecution" => {
            let command = shape::text(from, "command")?;
            let arguments = json!({ "command": command }).to_string();
            Ok(Heard::Before(Proposed { tool: "Shell".to_owned(), arguments, ..place(from)? }))
        }
        "postToolUse" => Ok(Heard::After(ran(from, false)?)),
        "postToolUseFailure" => Ok(Heard::After(ran(from, true)?)),
        "beforeSubmitPrompt" => Ok(Heard::Message {
            text: shape::text(from, "prompt")?,
            session: shape::optional(from, "conversation_id")?,
        }),
        other => Err(Unheard(format!("`{other}` is not for this hook"))),
    }
}

fn tool(from: &Value<'_>) -> Result<Proposed, Unheard> {
    let tool = shape::text(from, "tool_name")?;
    let arguments = shape::arguments(from, "tool_input")?;
    let call_id = shape::optional(from, "tool_use_id")?;
    Ok(Proposed { tool, arguments, call_id, ..place(from)? })
}

fn place(from: &Value<'_>) -> Result<Proposed, Unheard> {
    let roots = from.get("workspace_roots").and_then(Value::as_array).unwrap_or_default();
    let root = roots.first().and_then(Value::as_str).map(ToOwned::to_owned);
    Ok(Proposed {
        session: shape::optional(from, "conversation_id")?,
        cwd: shape::optional(from, "cwd")?.or(root),
        ..Proposed::default()
    })
}

fn ran(from: &Value<'_>, failed: bool) -> Result<Ran, Unheard> {
    let result = from.get("tool_output").map(Value::to_json);
    let duration_ms = shape::number(from, "duration");
    Ok(Ran { call: tool(from)?, failed, duration_ms, result, ..Ran::default() })
}

fn reply(answer: &Answer) -> Reply {
    match answer {
        // It wants JSON always; an object without a permission leaves the call to its own rules.
        Answer::Pass | Answer::Noted => shape::says(&json!({})),
        Answer::Approved { edited: None } => shape::says(&json!({ "permission": "allow" })),
        Answer::Approved { edited: Some(_) } => denied(
            "Countersign: a person approved this call with other arguments only, which Cursor \
             cannot take over. Ask the person what to run.",
        ),
        Answer::Denied(why) => denied(why),
        Answer::Card(None) => shape::says(&json!({ "continue": true })),
        Answer::Card(Some(card)) => shape::says(&json!({ "continue": true, "user_message": card })),
        Answer::Planned { .. } => denied("Countersign: this is no batch."),
    }
}

fn denied(why: &str) -> Reply {
    shape::says(&json!({ "permission": "deny", "user_message": why, "agent_message": why }))
}
