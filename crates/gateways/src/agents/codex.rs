//! Codex CLI: Claude Code's shape, but a bare "allow" is an invalid answer there and fails open.

use super::shape::{self, UNREADABLE_EDIT, claude_decision};
use super::{Agent, Answer, Reply, claude};

pub const AGENT: Agent = Agent { name: "codex", title: "Codex CLI", read: claude::read, reply };

fn reply(answer: &Answer) -> Reply {
    match answer {
        Answer::Pass | Answer::Approved { edited: None } | Answer::Noted | Answer::Card(_) => {
            shape::silent()
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
