//! Gemini CLI: `BeforeTool` and `AfterTool`; it names no call.

use std::path::PathBuf;

use countersign_json::Value;
use serde_json::json;

use super::shape::{self, UNREADABLE_EDIT};
use super::{Agent, Answer, Heard, Reply, Unheard};
use crate::install::hooks::HookLists;
use crate::install::json::{self as file, Kind, list, object};
use crate::install::nothing_then;
use crate::install::{HOST_WAITS, HOST_WAITS_BRIEFLY, Ours, Piece, Place, Setup};

pub const AGENT: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    read,
    reply,
    setup: Setup {
        programs: &["gemini"],
        folder,
        per_project: true,
        pieces,
        then: nothing_then,
        open,
        notes: &[
            "In a folder that Gemini CLI does not trust it runs no hooks at all, ours neither.",
        ],
    },
};

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
        Answer::Pass | Answer::Noted | Answer::Card(None) => shape::leaves_it(),
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

fn folder(place: &Place) -> PathBuf {
    let home = place.variable("GEMINI_CLI_HOME").map(PathBuf::from);
    home.unwrap_or_else(|| place.home().to_owned()).join(".gemini")
}

fn settings(place: &Place) -> PathBuf {
    let folder = place.project().map_or_else(|| folder(place), |project| project.join(".gemini"));
    folder.join("settings.json")
}

fn pieces(place: &Place, ours: &Ours) -> Vec<Piece> {
    // It counts in milliseconds.
    let entry = |command: String, seconds: u32| {
        let hook = object([
            ("type", "command".into()),
            ("name", NAME.into()),
            ("command", command.into()),
            ("timeout", (u64::from(seconds) * 1000).into()),
        ]);
        object([("matcher", ".*".into()), ("hooks", list([hook]))])
    };
    let aside = || entry(ours.aside("gemini"), HOST_WAITS_BRIEFLY);
    let wanted = vec![
        ("BeforeTool", entry(ours.before("gemini"), HOST_WAITS)),
        ("AfterTool", aside()),
        ("BeforeAgent", aside()),
    ];
    vec![Piece::within(settings(place), HookLists::new("gemini", Kind::Comments, wanted))]
}

/// What it calls our hooks.
const NAME: &str = "countersign";

fn open(place: &Place, ours: &Ours) -> Vec<String> {
    let system = PathBuf::from("/etc/gemini-cli/settings.json");
    let mut why = Vec::new();
    for path in [system, folder(place).join("settings.json"), settings(place)] {
        let shown = path.display();
        if file::look(&path, Kind::Comments, &["hooksConfig", "enabled"])
            .is_some_and(|value| value == false)
        {
            why.push(format!("`hooksConfig.enabled` is off in {shown}"));
        }
        let off = file::look(&path, Kind::Comments, &["hooksConfig", "disabled"]);
        let names = off.as_ref().and_then(|value| value.as_array()).into_iter().flatten();
        let is_ours = |name: &&serde_json::Value| **name == NAME || **name == ours.before("gemini");
        if names.clone().any(|name| is_ours(&name)) {
            why.push(format!("`hooksConfig.disabled` names our hook in {shown}"));
        }
    }
    why.dedup();
    why
}
