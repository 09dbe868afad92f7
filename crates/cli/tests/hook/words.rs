//! Every agent is answered in its own words, and nothing but those.

use serde_json::{Value, json};

use super::setting::{Home, RISKY};

/// How each agent says that a shell command is about to run.
fn before(agent: &str, command: &str) -> Value {
    let input = json!({ "command": command });
    match agent {
        "claude" | "codex" => json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/srv",
            "tool_name": "Bash", "tool_input": input, "tool_use_id": "call_1",
        }),
        "gemini" => json!({
            "hook_event_name": "BeforeTool", "session_id": "s", "cwd": "/srv",
            "tool_name": "run_shell_command", "tool_input": input, "timestamp": "2026",
        }),
        "copilot" => json!({
            "sessionId": "s", "timestamp": 1, "cwd": "/srv", "toolName": "bash",
            "toolArgs": input,
        }),
        "cursor" => json!({
            "hook_event_name": "preToolUse", "conversation_id": "s", "tool_name": "Shell",
            "tool_input": input.to_string(), "workspace_roots": ["/srv"],
        }),
        _ => json!({
            "event": "before", "tool": "bash", "arguments": input, "session": "s", "cwd": "/srv",
            "call_id": "1",
        }),
    }
}

/// Where each agent looks for the word and the reason.
fn places(agent: &str) -> (&'static str, &'static str) {
    match agent {
        "claude" | "codex" => (
            "/hookSpecificOutput/permissionDecision",
            "/hookSpecificOutput/permissionDecisionReason",
        ),
        "copilot" => ("/permissionDecision", "/permissionDecisionReason"),
        "cursor" => ("/permission", "/agent_message"),
        _ => ("/decision", "/reason"),
    }
}

const AGENTS: [&str; 8] =
    ["claude", "codex", "gemini", "copilot", "cursor", "opencode", "openclaw", "hermes"];

#[test]
fn without_a_daemon_reads_pass_and_the_rest_is_denied_in_the_agent_s_words() {
    let home = Home::empty();
    for agent in AGENTS {
        let said = home.says(&[agent], &before(agent, "ls -la"));
        assert_eq!(said.code, Some(0), "{agent}: {said:?}");
        match agent {
            "claude" | "codex" | "gemini" | "copilot" | "cursor" => {
                assert_eq!(said.json(), json!({}), "{agent}");
            }
            _ => assert_eq!(said.json(), json!({ "decision": "allow" })),
        }
        let said = home.says(&[agent], &before(agent, RISKY)).json();
        let (word, reason) = places(agent);
        assert_eq!(said.pointer(word).unwrap(), "deny", "{agent}: {said}");
        let reason = said.pointer(reason).unwrap().as_str().unwrap();
        assert!(reason.contains("nobody could be asked"), "{agent}: {reason}");
        assert!(reason.contains("not a person's no"), "{agent}: {reason}");
    }
}

#[test]
fn what_is_no_call_is_denied_and_never_ends_with_one() {
    let home = Home::empty();
    let nonsense = [
        json!(null),
        json!([]),
        json!({}),
        json!("PreToolUse"),
        json!({ "hook_event_name": "PreToolUse" }),
        json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": "ls" }),
        json!({ "hook_event_name": "PreToolUse", "tool_name": 7, "tool_input": {} }),
        json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": [] }),
        json!({ "event": "before", "tool": "bash", "arguments": 7 }),
        json!({ "toolName": "bash", "toolArgs": "rm -rf /" }),
    ];
    for agent in AGENTS {
        for input in &nonsense {
            let said = home.says(&[agent], input).json();
            let word = said.pointer(places(agent).0);
            assert_eq!(word, Some(&json!("deny")), "{agent}: {input}: {said}");
        }
    }
    for words in [&["nobody"][..], &[], &["claude", "--patience", "soon"], &["plugin"]] {
        let said = home.says(words, &before("claude", RISKY));
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{words:?}");
        assert!(!said.err.is_empty(), "{words:?}");
    }
}

#[test]
fn what_hides_in_json_is_not_passed_on() {
    let home = Home::empty();
    // A host that reads the first of two members, or the last: neither may be the one we judged.
    let twice = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash",
        "tool_input":{"command":"ls","command":"rm -rf /"}}"#;
    let mut command = home.command(&["hook", "claude"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), twice.as_bytes()).unwrap();
    let said = super::setting::Said::of(child);
    assert!(said.denied().contains("no JSON"), "{said:?}");
}

#[test]
fn a_person_in_crisis_is_shown_help_even_without_a_daemon() {
    let home = Home::empty();
    let prompt = json!({
        "hook_event_name": "UserPromptSubmit", "session_id": "s",
        "prompt": "I want to kill myself tonight, I have the pills here",
    });
    let said = home.says(&["claude"], &prompt).json();
    let card = said["systemMessage"].as_str().unwrap();
    assert!(card.len() > 100, "{card}");
    let message = json!({ "event": "message", "text": prompt["prompt"], "session": "s" });
    let said = home.says(&["plugin", "--agent", "hermes"], &message).json();
    assert_eq!(said["card"], card);
    let calm = json!({ "event": "message", "text": "kill the process please" });
    assert_eq!(home.says(&["hermes"], &calm).json(), json!({ "card": null }));
}
