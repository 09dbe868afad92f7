//! Gemini CLI, headless: speaks with the model that `GOOGLE_GEMINI_BASE_URL` names.

use std::io;

use serde_json::json;

use super::{KEY, PROMPT, Proposal, Scratch, Start, Subject, words};

pub const SUBJECT: Subject = Subject { name: "gemini", program: "gemini", shell, furnish, start };

fn shell(command: &str) -> Proposal {
    Proposal::own("run_shell_command", json!({ "command": command }))
}

fn furnish(scratch: &Scratch) -> io::Result<()> {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "general": { "disableAutoUpdate": true, "disableUpdateNag": true },
        "privacy": { "usageStatisticsEnabled": false },
    });
    scratch.write(".gemini/settings.json", &settings.to_string())
}

fn start(scratch: &Scratch) -> Start {
    Start {
        words: words(&["-p", PROMPT, "--yolo", "--skip-trust", "-m", "gemini-2.5-flash"]),
        variables: vec![
            ("GOOGLE_GEMINI_BASE_URL", scratch.model("")),
            ("GEMINI_API_KEY", KEY.to_owned()),
        ],
    }
}
