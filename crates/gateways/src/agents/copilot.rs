//! GitHub Copilot CLI: `preToolUse` with its own member names; it names no call.

use countersign_core::json::Value;
use serde_json::json;

use super::shape::{self, UNREADABLE_EDIT};
use super::{Agent, Answer, Heard, Proposed, Ran, Reply, Unheard, claude};

pub const AGENT: Agent = Agent { name: "copilot", title: "GitHub Copilot CLI", read, reply };

fn read(from: &Value<'_>) -> Result<Heard, Unheard> {
    // Its hooks do not say which event they are for: what is there decides.
    if from.get("hook_event_name").is_some() {
        return claude::read(from);
    }
    if from.get("toolName").is_none() {
        return match from.get("prompt").and_then(Value::as_str) {
            Some(prompt) => Ok(Heard::Message {
                text: prompt.to_owned(),
                session: shape::optional(from, "sessionId")?,
            }),
            None => Err(Unheard("`toolName` is missing".to_owned())),
        };
    }
    let call = Proposed {
        tool: shape::text(from, "toolName")?,
        arguments: shape::arguments(from, "toolArgs")?,
        session: shape::optional(from, "sessionId")?,
        cwd: shape::optional(from, "cwd")?,
        call_id: None,
    };
    let Some(result) = from.get("toolResult") else { return Ok(Heard::Before(call)) };
    let kind = result.get("resultType").and_then(Value::as_str);
    let failed = kind.is_some_and(|kind| kind != "success");
    let result = Some(result.to_json());
    Ok(Heard::After(Ran { call, failed, result, ..Ran::default() }))
}

fn reply(answer: &Answer) -> Reply {
    match answer {
        Answer::Pass | Answer::Noted | Answer::Card(_) => shape::silent(),
        Answer::Approved { edited: None } => {
            decision("allow", "Countersign: a person approved this call.", None)
        }
        Answer::Approved { edited: Some(text) } => match shape::edited(text) {
            Some(input) => {
                let words = "Countersign: a person changed this call and approved it.";
                decision("allow", words, Some(input))
            }
            None => decision("deny", UNREADABLE_EDIT, None),
        },
        Answer::Denied(why) => decision("deny", why, None),
        Answer::Planned { .. } => decision("deny", "Countersign: this is no batch.", None),
    }
}

fn decision(word: &str, why: &str, arguments: Option<serde_json::Value>) -> Reply {
    let mut said = json!({ "permissionDecision": word, "permissionDecisionReason": why });
    if let (Some(arguments), Some(members)) = (arguments, said.as_object_mut()) {
        members.insert("modifiedArgs".to_owned(), arguments);
    }
    shape::says(&said)
}
