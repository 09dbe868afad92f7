//! OpenClaw, headless: one turn of its embedded agent, with the provider of its configuration.

use std::io;

use serde_json::json;

use super::{KEY, PROMPT, Proposal, Scratch, Start, Subject, words};

pub const SUBJECT: Subject =
    Subject { name: "openclaw", program: "openclaw", shell, furnish, start };

const MODEL: &str = "stand-in";

fn shell(command: &str) -> Proposal {
    Proposal::own("exec", json!({ "command": command }))
}

fn furnish(scratch: &Scratch) -> io::Result<()> {
    let known = json!({
        "models": { "mode": "replace", "providers": { MODEL: {
            "baseUrl": scratch.model(""), "apiKey": KEY, "api": "anthropic-messages",
            "models": [{
                "id": MODEL, "name": MODEL, "input": ["text"], "contextWindow": 200_000,
                "maxTokens": 8000,
            }],
        } } },
        "agents": { "defaults": {
            "model": { "primary": format!("{MODEL}/{MODEL}") },
            "workspace": scratch.project(),
            "skipBootstrap": true,
        } },
        "tools": { "exec": { "host": "gateway", "security": "full", "ask": "off" } },
    });
    scratch.write(".openclaw/openclaw.json", &known.to_string())
}

fn start(_: &Scratch) -> Start {
    Start {
        words: words(&["agent", "--local", "--agent", "main", "--message", PROMPT, "--json"]),
        variables: Vec::new(),
    }
}
