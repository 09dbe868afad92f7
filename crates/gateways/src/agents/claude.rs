//! Claude Code: `PreToolUse` and what goes with it.

use std::path::PathBuf;

use countersign_json::Value;
use serde_json::json;

use super::shape::{self, UNREADABLE_EDIT, claude_decision};
use super::{Agent, Answer, Heard, Reply, Unheard};
use crate::install::hooks::HookLists;
use crate::install::json::{self as file, Kind, list, object};
use crate::install::nothing_then;
use crate::install::{HOST_WAITS, HOST_WAITS_BRIEFLY, Ours, Piece, Place, Setup};

pub const AGENT: Agent = Agent {
    name: "claude",
    title: "Claude Code",
    read,
    reply,
    setup: Setup {
        programs: &["claude"],
        folder,
        per_project: true,
        pieces,
        then: nothing_then,
        open,
        notes: &["What you allowed inside Claude Code is still stopped where Countersign says no."],
    },
};

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
        // No decision leaves it to the permissions that the person gave Claude Code.
        Answer::Pass | Answer::Noted | Answer::Card(None) => shape::leaves_it(),
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

fn folder(place: &Place) -> PathBuf {
    place.folder("CLAUDE_CONFIG_DIR", ".claude")
}

fn pieces(place: &Place, ours: &Ours) -> Vec<Piece> {
    // Of a project, the file that is not shared: the program's path is this machine's.
    let file = match place.project() {
        Some(project) => project.join(".claude/settings.local.json"),
        None => folder(place).join("settings.json"),
    };
    let before = object([
        ("type", "command".into()),
        ("command", ours.before("claude").into()),
        ("timeout", HOST_WAITS.into()),
        ("onFailure", "block".into()),
        ("statusMessage", "Waiting for a person".into()),
    ]);
    let aside = || {
        object([
            ("type", "command".into()),
            ("command", ours.aside("claude").into()),
            ("timeout", HOST_WAITS_BRIEFLY.into()),
        ])
    };
    let every = |hook| object([("matcher", "*".into()), ("hooks", list([hook]))]);
    let wanted = vec![
        ("PreToolUse", every(before)),
        ("PostToolUse", every(aside())),
        ("PostToolUseFailure", every(aside())),
        ("UserPromptSubmit", object([("hooks", list([aside()]))])),
    ];
    vec![Piece::within(file, HookLists::new("claude", Kind::Strict, wanted))]
}

/// Where an administrator's settings lie: they stand above everybody's.
const MANAGED: [&str; 2] = [
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
];

fn open(place: &Place, _: &Ours) -> Vec<String> {
    let mut settings = MANAGED.map(PathBuf::from).to_vec();
    settings.push(folder(place).join("settings.json"));
    for name in ["settings.json", "settings.local.json"] {
        settings.extend(place.project().map(|project| project.join(".claude").join(name)));
    }
    let is_on = |path: &PathBuf, name| {
        file::look(path, Kind::Strict, &[name]).is_some_and(|value| value == true)
    };
    let off = settings.iter().filter(|path| is_on(path, "disableAllHooks"));
    let mut why: Vec<String> =
        off.map(|path| format!("`disableAllHooks` is set in {}", path.display())).collect();
    let others = MANAGED.iter().filter(|path| is_on(&PathBuf::from(path), "allowManagedHooksOnly"));
    why.extend(others.map(|path| format!("`allowManagedHooksOnly` is set in {path}")));
    why
}
