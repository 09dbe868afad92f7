//! Gemini CLI: `BeforeTool` and `AfterTool`; it names no call.

use countersign_core::json::Value;
use serde_json::json;

use super::shape::{self, UNREADABLE_EDIT};
use super::{Agent, Answer, Heard, Reply, Unheard};

pub const AGENT: Agent = Agent { name: "gemini", title: "Gemini CLI", read, reply };

fn read(from: &Value<'_>) -> Result<Heard, Unheard> {
    match shape::text(from, "hook_event_name")?.as_str() {
        "BeforeTool" => Ok(Heard::Before(shape::usual(from)?)),
        "AfterTool" => Ok(Heard::After(shape::ran(from, false)?)),
        "BeforeAgent" => Ok(Heard::Message {
            text: shape::text(from, "prompt")?,
            session: shape::optional(from, "session_id")?,
        }),
        other => Err(Unheard(format!("`{other}` is not for this hook"))),
    }
}

fn reply(answer: &Answer) -> Reply {
    match answer {
        Answer::Pass | Answer::Noted | Answer::Card(None) => shape::silent(),
        Answer::Approved { edited: None } => shape::says(&json!({ "decision": "allow" })),
        Answer::Approved { edited: Some(text) } => match shape::edited(text) {
            Some(input) => shape::says(&json!({
                "decision": "allow",
                "hookSpecificOutput": { "hookEventName": "BeforeTool", "tool_input": input },
            })),
            None => denied(UNREADABLE_EDIT),
        },
        Answer::Denied(why) => denied(why),
        Answer::Card(Some(card)) => shape::says(&json!({ "systemMessage": card })),
        Answer::Planned { .. } => denied("Countersign: this is no batch."),
    }
}

fn denied(why: &str) -> Reply {
    shape::says(&json!({ "decision": "deny", "reason": why }))
}
