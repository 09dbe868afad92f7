//! Cursor: `preToolUse`, and the shell and MCP events of older versions. Written from its papers.

use std::path::PathBuf;

use countersign_json::Value;
use serde_json::json;

use super::shape;
use super::{Agent, Answer, Heard, Proposed, Ran, Reply, Unheard};
use crate::install::hooks::HookLists;
use crate::install::json::{Kind, object};
use crate::install::nothing_then;
use crate::install::{HOST_WAITS, HOST_WAITS_BRIEFLY, Ours, Piece, Place, Setup};

pub const AGENT: Agent = Agent {
    name: "cursor",
    title: "Cursor",
    read,
    reply,
    setup: Setup {
        programs: &["cursor-agent", "cursor"],
        folder,
        per_project: true,
        pieces,
        then: nothing_then,
        open,
        notes: &["Written from Cursor's documents; it could not be run to prove it."],
    },
};

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

fn folder(place: &Place) -> PathBuf {
    place.home().join(".cursor")
}

fn pieces(place: &Place, ours: &Ours) -> Vec<Piece> {
    let folder = place.project().map_or_else(|| folder(place), |project| project.join(".cursor"));
    let before = object([
        ("command", ours.before("cursor").into()),
        ("timeout", HOST_WAITS.into()),
        ("failClosed", true.into()),
    ]);
    let aside = || {
        object([("command", ours.aside("cursor").into()), ("timeout", HOST_WAITS_BRIEFLY.into())])
    };
    let wanted = vec![
        ("preToolUse", before),
        ("postToolUse", aside()),
        ("postToolUseFailure", aside()),
        ("beforeSubmitPrompt", aside()),
    ];
    let lists = HookLists::new("cursor", Kind::Strict, wanted).of_version(1);
    vec![Piece::within(folder.join("hooks.json"), lists)]
}

fn open(_: &Place, _: &Ours) -> Vec<String> {
    Vec::new()
}
