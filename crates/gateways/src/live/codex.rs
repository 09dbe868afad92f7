//! Codex CLI, headless: speaks with the model provider of its configuration.

use std::io;

use serde_json::json;

use super::{KEY, PROMPT, Proposal, Scratch, Start, Subject, words};

pub const SUBJECT: Subject = Subject { name: "codex", program: "codex", shell, furnish, start };

fn shell(command: &str) -> Proposal {
    Proposal::own("exec_command", json!({ "cmd": command }))
}

fn furnish(scratch: &Scratch) -> io::Result<()> {
    let model = scratch.model("/v1");
    let text = format!(
        "model = \"gpt-5\"\nmodel_provider = \"stand-in\"\n\n[model_providers.stand-in]\n\
         name = \"stand-in\"\nbase_url = \"{model}\"\nwire_api = \"responses\"\n\
         env_key = \"STAND_IN_KEY\"\n"
    );
    scratch.write(".codex/config.toml", &text)
}

fn start(_: &Scratch) -> Start {
    let bypass = "--dangerously-bypass-approvals-and-sandbox";
    Start {
        words: words(&["exec", "--json", "--skip-git-repo-check", bypass, PROMPT]),
        variables: vec![("STAND_IN_KEY", KEY.to_owned())],
    }
}
