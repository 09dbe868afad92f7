//! Codex CLI: Claude Code's shape, but a bare "allow" is an invalid answer there and fails open,
//! and a hook that it was not told to trust is passed over in silence.

mod trust;

use std::path::PathBuf;

use super::shape::{self, UNREADABLE_EDIT, claude_decision};
use super::{Agent, Answer, Reply, claude};
use crate::install::hooks::HookLists;
use crate::install::json::{Kind, list, object};
use crate::install::{HOST_WAITS, HOST_WAITS_BRIEFLY, Ours, Piece, Place, Setup, Then};
use trust::{Trusted, ask};

pub const AGENT: Agent = Agent {
    name: "codex",
    title: "Codex CLI",
    read: claude::read,
    reply,
    setup: Setup {
        programs: &["codex"],
        folder,
        per_project: true,
        pieces,
        then,
        open,
        notes: &["Every change of the hook ends Codex's trust in it: install again then."],
    },
};

fn reply(answer: &Answer) -> Reply {
    match answer {
        Answer::Pass | Answer::Approved { edited: None } | Answer::Noted | Answer::Card(_) => {
            shape::leaves_it()
        }
        Answer::Approved { edited: Some(text) } => match shape::edited(text) {
            Some(input) => {
                let words = "Countersign: a person changed this call and approved it.";
                claude_decision("allow", words, Some(input))
            }
            None => claude_decision("deny", UNREADABLE_EDIT, None),
        },
        Answer::Denied(why) => claude_decision("deny", why, None),
        Answer::Planned { .. } => claude_decision("deny", "Countersign: this is no batch.", None),
    }
}

fn folder(place: &Place) -> PathBuf {
    place.folder("CODEX_HOME", ".codex")
}

fn hooks_file(place: &Place) -> PathBuf {
    let folder = place.project().map_or_else(|| folder(place), |project| project.join(".codex"));
    folder.join("hooks.json")
}

fn lists(ours: &Ours) -> HookLists {
    let hook = |command: String, seconds: u32| {
        object([
            ("type", "command".into()),
            ("command", command.into()),
            ("timeout", seconds.into()),
        ])
    };
    let aside = || hook(ours.aside("codex"), HOST_WAITS_BRIEFLY);
    let every = |hook| object([("matcher", "*".into()), ("hooks", list([hook]))]);
    let wanted = vec![
        ("PreToolUse", every(hook(ours.before("codex"), HOST_WAITS))),
        ("PostToolUse", every(aside())),
        ("UserPromptSubmit", object([("hooks", list([aside()]))])),
    ];
    HookLists::new("codex", Kind::Strict, wanted)
}

fn pieces(place: &Place, ours: &Ours) -> Vec<Piece> {
    let file = hooks_file(place);
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    let places = lists(ours).places(&there).unwrap_or_default();
    let trusted = Trusted::to_take_out(&file, &places);
    let config = folder(place).join("config.toml");
    vec![Piece::within(file, lists(ours)), Piece::within(config, trusted)]
}

/// What the person does where Codex cannot be asked.
const BY_HAND: &str = "Codex does not trust the hook yet, and passes over it until it does: start \
                       codex, write /hooks and accept it.";

/// Codex itself says what it would have to trust.
fn then(place: &Place, ours: &Ours) -> Then {
    let hooks = match place.program(AGENT.setup.programs) {
        None => return Then { say: vec![BY_HAND.to_owned()], ..Then::default() },
        Some(program) => ask(&program, &folder(place), place.project().unwrap_or(place.home())),
    };
    let hooks = match hooks {
        Ok(hooks) => hooks,
        Err(why) => {
            return Then { say: vec![why, BY_HAND.to_owned()], ..Then::default() };
        }
    };
    let file = hooks_file(place);
    let mine: Vec<_> = hooks.into_iter().filter(|hook| hook.is_ours(&file, ours)).collect();
    if mine.is_empty() {
        let why = why_unseen(place);
        return Then { say: vec![why], ..Then::default() };
    }
    let config = folder(place).join("config.toml");
    let trusted = Trusted::to_put_in(mine.into_iter().map(|hook| (hook.key, hook.hash)).collect());
    Then { pieces: vec![Piece::within(config, trusted)], say: Vec::new() }
}

fn why_unseen(place: &Place) -> String {
    match place.project() {
        Some(project) => format!(
            "Codex does not see the hook: it reads a project's hooks only where the project is \
             trusted. Start codex in {} and trust it, then install again.",
            project.display()
        ),
        None => "Codex does not see the hook: its hooks are turned off (`features.hooks`, or an \
                 administrator's rules)."
            .to_owned(),
    }
}

fn open(place: &Place, ours: &Ours) -> Vec<String> {
    let file = hooks_file(place);
    let Some(program) = place.program(AGENT.setup.programs) else {
        return trust::as_written(&folder(place).join("config.toml"), &file, &lists(ours));
    };
    let hooks = match ask(&program, &folder(place), place.project().unwrap_or(place.home())) {
        Ok(hooks) => hooks,
        Err(why) => return vec![why],
    };
    let mine: Vec<_> = hooks.into_iter().filter(|hook| hook.is_ours(&file, ours)).collect();
    if mine.is_empty() {
        return vec![why_unseen(place)];
    }
    let faults = mine.iter().filter_map(|hook| match (hook.trusted, hook.enabled) {
        (_, false) => Some(format!("Codex has turned off {}", hook.key)),
        (false, _) => Some(format!("Codex does not trust {}", hook.key)),
        (true, true) => None,
    });
    faults.collect()
}
