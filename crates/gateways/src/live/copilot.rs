//! GitHub Copilot CLI, headless and offline: speaks with a provider of its environment.

use std::io;

use serde_json::json;

use super::{KEY, PROMPT, Proposal, Scratch, Start, Subject, words};

pub const SUBJECT: Subject = Subject { name: "copilot", program: "copilot", shell, furnish, start };

fn shell(command: &str) -> Proposal {
    let arguments = json!({ "command": command, "description": "Does what has to be done" });
    Proposal::own("bash", arguments)
}

fn furnish(scratch: &Scratch) -> io::Result<()> {
    let project = scratch.project().display().to_string();
    let known = json!({ "trusted_folders": [project], "trustedFolders": [project] });
    scratch.write(".copilot/config.json", &known.to_string())
}

fn start(scratch: &Scratch) -> Start {
    Start {
        words: words(&["-p", PROMPT, "--allow-all-tools", "--no-auto-update"]),
        variables: vec![
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("COPILOT_PROVIDER_BASE_URL", scratch.model("")),
            ("COPILOT_PROVIDER_TYPE", "anthropic".to_owned()),
            ("COPILOT_PROVIDER_API_KEY", KEY.to_owned()),
            ("COPILOT_MODEL", "claude-sonnet-4.5".to_owned()),
        ],
    }
}
