//! GitHub Copilot CLI: `preToolUse` with its own member names; it names no call.

use std::path::PathBuf;

use countersign_json::Value;
use serde_json::json;

use super::shape::{self, UNREADABLE_EDIT};
use super::{Agent, Answer, Heard, Proposed, Ran, Reply, Unheard, claude};
use crate::install::json::{self as file, Kind, list, object};
use crate::install::nothing_then;
use crate::install::{HOST_WAITS, HOST_WAITS_BRIEFLY, Ours, Piece, Place, Setup};

pub const AGENT: Agent = Agent {
    name: "copilot",
    title: "GitHub Copilot CLI",
    read,
    reply,
    setup: Setup {
        programs: &["copilot"],
        folder,
        per_project: true,
        pieces,
        then: nothing_then,
        open,
        notes: &["Hooks of a project are passed over in a folder that Copilot does not trust."],
    },
};

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
        Answer::Pass | Answer::Noted | Answer::Card(_) => shape::leaves_it(),
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

fn folder(place: &Place) -> PathBuf {
    place.folder("COPILOT_HOME", ".copilot")
}

fn pieces(place: &Place, ours: &Ours) -> Vec<Piece> {
    let folder = place.project().map_or_else(|| folder(place), |project| project.join(".github"));
    let hook = |command: String, seconds: u32| {
        let members =
            [("type", "command".into()), ("bash", command.into()), ("timeoutSec", seconds.into())];
        list([object(members)])
    };
    let aside = || hook(ours.aside("copilot"), HOST_WAITS_BRIEFLY);
    let hooks = object([
        ("preToolUse", hook(ours.before("copilot"), HOST_WAITS)),
        ("postToolUse", aside()),
        ("userPromptSubmitted", aside()),
    ]);
    let whole = object([("version", 1_u32.into()), ("hooks", hooks)]);
    vec![Piece::whole(folder.join("hooks/countersign.json"), file::text_of(whole))]
}

fn open(place: &Place, _: &Ours) -> Vec<String> {
    let names = ["config.json", "settings.json"].map(|name| folder(place).join(name));
    let off = |path: &&PathBuf| {
        let value = file::look(path, Kind::Comments, &["disableAllHooks"]);
        value.is_some_and(|value| value == true)
    };
    let off = names.iter().filter(off);
    off.map(|path| format!("`disableAllHooks` is set in {}", path.display())).collect()
}
