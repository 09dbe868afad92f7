//! Every agent is answered in its own format.

use countersign_gateways::agents::AGENTS;
use serde_json::{Value, json};

use super::fixture::{RISKY, TestHome};

/// The recorded fixture of an agent.
fn fixture(agent: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../gateways/fixtures/agents");
    let text = std::fs::read_to_string(format!("{folder}/{agent}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The event before a shell command, as the agent sends it.
fn before(agent: &str, command: &str) -> Value {
    let event = fixture(agent)["events"]["before"].to_string();
    serde_json::from_str(&event.replace("COMMAND", command)).unwrap()
}

/// Whether an answer is a denial in the agent's format; if so, its reason.
fn denial(agent: &str, answer: &Value) -> Option<String> {
    let denied = &fixture(agent)["answers"]["denied"];
    let mut reason = None;
    is_like(denied, answer, &mut reason).then_some(reason).flatten()
}

/// Whether both are equal, where the recorded reason stands for any text.
fn is_like(recorded: &Value, got: &Value, reason: &mut Option<String>) -> bool {
    match (recorded, got) {
        (Value::String(recorded), Value::String(got)) if recorded == "No." => {
            *reason = Some(got.clone());
            true
        }
        (Value::Object(recorded), Value::Object(got)) => {
            recorded.len() == got.len()
                && recorded.iter().all(|(name, value)| {
                    got.get(name).is_some_and(|got| is_like(value, got, reason))
                })
        }
        _ => recorded == got,
    }
}

#[test]
fn without_a_daemon_reads_pass_and_the_rest_is_denied_in_the_agent_s_format() {
    let home = TestHome::empty();
    for agent in AGENTS.map(|agent| agent.name) {
        let said = home.says(&[agent], &before(agent, "ls -la"));
        assert_eq!(said.code, Some(0), "{agent}: {said:?}");
        assert_eq!(said.json(), fixture(agent)["answers"]["pass"], "{agent}");
        let said = home.says(&[agent], &before(agent, RISKY)).json();
        let reason = denial(agent, &said).unwrap_or_else(|| panic!("{agent}: {said}"));
        assert!(reason.contains("no person could be asked"), "{agent}: {reason}");
        assert!(reason.contains("No person denied it"), "{agent}: {reason}");
    }
}

#[test]
fn what_is_no_call_is_denied_and_never_ends_with_one() {
    let home = TestHome::empty();
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
    for agent in AGENTS.map(|agent| agent.name) {
        for input in &nonsense {
            let said = home.says(&[agent], input).json();
            assert!(denial(agent, &said).is_some(), "{agent}: {input}: {said}");
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
    let home = TestHome::empty();
    // A host that reads the first of two members, or the last: neither may be the one we assessed.
    let twice = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash",
        "tool_input":{"command":"ls","command":"rm -rf /"}}"#;
    let mut command = home.command(&["hook", "claude"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), twice.as_bytes()).unwrap();
    let said = super::fixture::HookOutput::of(child);
    assert!(said.denied().contains("not valid JSON"), "{said:?}");
}

#[test]
fn a_person_in_crisis_is_shown_help_even_without_a_daemon() {
    let home = TestHome::empty();
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
