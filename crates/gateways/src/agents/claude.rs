//! Claude Code: `PreToolUse` and what goes with it.

use countersign_core::json::Value;
use serde_json::json;

use super::shape::{self, UNREADABLE_EDIT, claude_decision};
use super::{Agent, Answer, Heard, Reply, Unheard};

pub const AGENT: Agent = Agent { name: "claude", title: "Claude Code", read, reply };

pub(super) fn read(from: &Value<'_>) -> Result<Heard, Unheard> {
    match shape::text(from, "hook_event_name")?.as_str() {
        "PreToolUse" => Ok(Heard::Before(shape::usual(from)?)),
        "PostToolUse" => Ok(Heard::After(shape::ran(from, false)?)),
        "PostToolUseFailure" => Ok(Heard::After(shape::ran(from, true)?)),
        "UserPromptSubmit" => Ok(Heard::Message {
            text: shape::text(from, "prompt")?,
            session: shape::optional(from, "session_id")?,
        }),
        other => Err(Unheard(format!("`{other}` is not for this hook"))),
    }
}

fn reply(answer: &Answer) -> Reply {
    match answer {
        // Silence leaves it to the permissions that the person gave Claude Code.
        Answer::Pass | Answer::Noted | Answer::Card(None) => shape::silent(),
        Answer::Approved { edited: None } => {
            claude_decision("allow", "Countersign: a person approved this call.", None)
        }
        Answer::Approved { edited: Some(text) } => match shape::edited(text) {
            Some(input) => {
                let words = "Countersign: a person changed this call and approved it.";
                claude_decision("allow", words, Some(input))
            }
            None => claude_decision("deny", UNREADABLE_EDIT, None),
        },
        Answer::Denied(why) => claude_decision("deny", why, None),
        Answer::Card(Some(card)) => shape::says(&json!({
            "systemMessage": card,
            "hookSpecificOutput": {
                "hookEventName": "UserPromptSubmit",
                "additionalContext": "The person was just shown this card; stay kind and present:\n"
                    .to_owned() + card,
            },
        })),
        Answer::Planned { .. } => claude_decision("deny", "Countersign: this is no batch.", None),
    }
}
