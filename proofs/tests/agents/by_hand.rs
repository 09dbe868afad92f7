//! Hooks written by hand: the bare hosts, to know what each of them does when a hook fails.

use countersign_gateways::live::Scratch;
use serde_json::json;

/// Puts a command before each call, as the agent's documents say; no more than that.
pub fn put_up(agent: &str, scratch: &mut Scratch, command: &str, seconds: u64) {
    if agent == "codex" {
        scratch.words.push("--dangerously-bypass-hook-trust".to_owned());
    }
    let (path, text) = match agent {
        "claude" => (
            ".claude/settings.json",
            json!({ "hooks": { "PreToolUse": [{ "matcher": "*", "hooks": [
                { "type": "command", "command": command, "timeout": seconds },
            ] }] } }),
        ),
        "codex" => (
            ".codex/hooks.json",
            json!({ "hooks": { "PreToolUse": [{ "matcher": ".*", "hooks": [
                { "type": "command", "command": command, "timeout": seconds },
            ] }] } }),
        ),
        "gemini" => (".gemini/settings.json", gemini(scratch, command, seconds)),
        "copilot" => (
            ".copilot/hooks/countersign.json",
            json!({ "version": 1, "hooks": { "preToolUse": [
                { "type": "command", "bash": command, "timeoutSec": seconds },
            ] } }),
        ),
        other => panic!("{other} takes no hook"),
    };
    scratch.write(path, &text.to_string()).unwrap();
}

fn gemini(scratch: &Scratch, command: &str, seconds: u64) -> serde_json::Value {
    let path = scratch.home().join(".gemini/settings.json");
    let mut all: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    all["hooks"] = json!({ "BeforeTool": [{ "matcher": ".*", "hooks": [
        { "type": "command", "name": "gate", "command": command, "timeout": seconds * 1000 },
    ] }] });
    all
}

/// A no, in the agent's words.
pub fn denial(agent: &str, why: &str) -> String {
    let said = match agent {
        "gemini" => json!({ "decision": "deny", "reason": why }),
        "copilot" => json!({ "permissionDecision": "deny", "permissionDecisionReason": why }),
        _ => json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": why,
        } }),
    };
    said.to_string()
}
