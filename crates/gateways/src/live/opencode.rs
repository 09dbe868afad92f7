//! OpenCode, headless: speaks with the provider of its configuration.

use std::io;

use serde_json::json;

use super::{KEY, PROMPT, Proposal, Scratch, Start, Subject, words};

pub const SUBJECT: Subject =
    Subject { name: "opencode", program: "opencode", shell, furnish, start };

const MODEL: &str = "stand-in";

fn shell(command: &str) -> Proposal {
    let arguments = json!({ "command": command, "description": "Does what has to be done" });
    Proposal::own("bash", arguments)
}

fn furnish(scratch: &Scratch) -> io::Result<()> {
    let known = json!({
        "autoupdate": false,
        "share": "disabled",
        "provider": { "anthropic": {
            "options": { "baseURL": scratch.model("/v1"), "apiKey": KEY },
            "models": { MODEL: { "name": MODEL, "tool_call": true } },
        } },
        "permission": { "*": "allow" },
    });
    scratch.write(".config/opencode/opencode.json", &known.to_string())?;
    // With a plugin it looks for a package of its own, offline again and again for over a minute.
    scratch.write(".npmrc", "fetch-retries=0\n")
}

fn start(_: &Scratch) -> Start {
    let model = format!("anthropic/{MODEL}");
    Start {
        words: words(&["run", "--model", &model, PROMPT]),
        variables: vec![
            ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
        ],
    }
}
