//! Hermes, headless: speaks with the endpoint of its configuration.

use std::io;

use serde_json::json;

use super::{KEY, PROMPT, Proposal, Scratch, Start, Subject, words};

pub const SUBJECT: Subject = Subject { name: "hermes", program: "hermes", shell, furnish, start };

fn shell(command: &str) -> Proposal {
    Proposal::own("terminal", json!({ "command": command }))
}

fn furnish(scratch: &Scratch) -> io::Result<()> {
    let model = scratch.model("/v1");
    let text = format!(
        "model:\n  provider: custom\n  default: stand-in\n  base_url: {model}\n  \
         api_key: {KEY}\n  context_length: 128000\n\
         memory:\n  memory_enabled: false\n  user_profile_enabled: false\n"
    );
    scratch.write(".hermes/config.yaml", &text)
}

fn start(scratch: &Scratch) -> Start {
    Start {
        words: words(&["chat", "-q", PROMPT, "-Q", "--yolo", "-t", "terminal"]),
        variables: vec![
            ("HERMES_HOME", scratch.home().join(".hermes").display().to_string()),
            ("TERMINAL_CWD", scratch.project().display().to_string()),
        ],
    }
}
