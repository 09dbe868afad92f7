//! Claude Code, headless: speaks with the model that `ANTHROPIC_BASE_URL` names.

use std::io;

use serde_json::json;

use super::{KEY, PROMPT, Proposal, Scratch, Start, Subject, words};

pub const SUBJECT: Subject = Subject { name: "claude", program: "claude", shell, furnish, start };

fn shell(command: &str) -> Proposal {
    let arguments = json!({ "command": command, "description": "Does what has to be done" });
    Proposal::own("Bash", arguments)
}

fn furnish(scratch: &Scratch) -> io::Result<()> {
    let project = scratch.project().display().to_string();
    let known = json!({
        "hasCompletedOnboarding": true,
        "projects": { project: { "hasTrustDialogAccepted": true } },
    });
    scratch.write(".claude.json", &known.to_string())
}

fn start(scratch: &Scratch) -> Start {
    Start {
        words: words(&["-p", PROMPT, "--output-format", "json", "--dangerously-skip-permissions"]),
        variables: vec![
            ("ANTHROPIC_BASE_URL", scratch.model("")),
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            // It refuses to run as root without its permissions unless it is told so.
            ("IS_SANDBOX", "1".to_owned()),
        ],
    }
}
