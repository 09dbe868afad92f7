//! The project and the host of a call: where they come from, and what they change.

use std::process::Stdio;

use serde_json::{Value, json};

use super::fixture::{HookOutput, RISKY, TestHome, waiting};

const PROJECT: &str = "/workspaces/shop";

fn event(tool: &str, input: &Value) -> Value {
    json!({
        "hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/workspaces/shop/web/app",
        "tool_name": tool, "tool_use_id": "t1", "tool_input": input,
    })
}

/// What the hook says when it is started with these variables.
fn says(home: &TestHome, agent: &str, variables: &[(&str, &str)], input: &Value) -> HookOutput {
    let mut command = home.command(&["hook", agent, "--patience", "1"]);
    command.envs(variables.iter().copied()).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let written = serde_json::to_writer(child.stdin.take().unwrap(), input);
    written.unwrap();
    HookOutput::of(child)
}

#[test]
fn the_project_comes_from_the_agent_and_is_the_session_s_own_work() {
    let home = TestHome::new();
    let write =
        event("Write", &json!({ "file_path": "/workspaces/shop/src/a.rs", "content": "x" }));
    let project = [("CLAUDE_PROJECT_DIR", PROJECT)];
    assert_eq!(says(&home, "claude", &project, &write).claude().0, "nothing");
    assert_eq!(says(&home, "claude", &[], &write).claude().0, "deny");
    // A project is a folder of its own: the whole machine, a home or a system folder is none.
    let outside = event("Write", &json!({ "file_path": "/etc/hosts", "content": "x" }));
    let own = home.folder.path().to_str().unwrap();
    for folder in ["/", "/etc", "/home", own, "/usr", "relative", ""] {
        let project = [("CLAUDE_PROJECT_DIR", folder)];
        assert_eq!(says(&home, "claude", &project, &outside).claude().0, "deny", "{folder}");
    }
}

#[test]
fn the_host_is_the_installed_command_and_never_what_the_event_says() {
    let home = TestHome::new();
    let mut message = event("SendMessage", &json!({ "to": "reviewer", "message": "please look" }));
    assert_eq!(says(&home, "claude", &[], &message).claude().0, "nothing");
    message["host"] = json!("claude-code");
    message["agent"] = json!("claude-code");
    message["hook_event_name"] = json!("BeforeTool");
    let gemini = says(&home, "gemini", &[], &message).json();
    assert_eq!(gemini["decision"], "deny", "{gemini}");
}

#[test]
fn the_version_of_the_agent_is_a_label_on_the_request() {
    let home = TestHome::new();
    let input = event("Bash", &json!({ "command": RISKY }));
    let named = [("AI_AGENT", "claude-code_2-1-325_agent")];
    assert!(says(&home, "claude", &named, &input).denied().contains("has not decided yet"));
    let request = waiting(&home.person(), 1).remove(0);
    assert_eq!(request.agent_version.as_deref(), Some("2.1.325"));
    let label = request.asking_label();
    assert!(label.starts_with("claude-code 2.1.325 ("), "{label}");
}
