//! Claude Code, and the MCP servers of Claude Desktop.

mod session_log;

use std::io;
use std::path::PathBuf;

use serde_json::json;

use super::descriptor::{AgentDescriptor, HookAgent, HookProtocol, HookSetup};
use super::fields::{self, APPROVED, APPROVED_EDITED, NOT_A_BATCH, UNREADABLE_EDIT};
use super::live_test::{Launch, LiveTest, MODEL_KEY, PROMPT, ScratchHome, StartupCost, words};
use super::pre_tool_use::{self, decision};
use super::protocol::{HookAnswer, HookReply};
use super::tool_call::ModelToolCall;
use crate::install::hooks::HookLists;
use crate::install::json::{self as file, JsonSyntax, list, object};
use crate::install::{
    FileEdit, GATE_TIMEOUT, HookCommand, InstallScope, McpClient, McpFileFormat, NOTIFY_TIMEOUT,
    no_follow_up,
};

pub static HOOK: HookAgent = HookAgent {
    name: "claude",
    aliases: &["claude-code"],
    title: "Claude Code",
    host: "claude-code",
    project_variables: &["CLAUDE_PROJECT_DIR"],
    hook: HookProtocol { parse: pre_tool_use::parse, reply, announce: pre_tool_use::announce },
    runs_in_plugin: false,
};

pub static AGENT: AgentDescriptor = AgentDescriptor {
    hook_agent: &HOOK,
    programs: &["claude"],
    plugin: None,
    setup: HookSetup {
        folder,
        per_project: true,
        edits,
        follow_up: no_follow_up,
        faults,
        timeout_seconds: GATE_TIMEOUT,
    },
    restart_hint: "Restart Claude Code; open sessions keep their old settings.",
    limits: &["A call that you allowed inside Claude Code is still blocked if it is denied here."],
    tested_version: Some("2.1.325"),
    live: Some(LiveTest { shell_call, prepare_home, launch, cost: StartupCost::Low }),
    mcp_clients: &[
        McpClient {
            name: "claude",
            title: "Claude Code",
            home: &[".claude.json"],
            project: &[".mcp.json"],
            format: McpFileFormat::STRICT_JSON,
            protocol_name: Some("claude-code"),
            // It gives up after half an hour without a message; over HTTP after five minutes.
            patience_seconds: 1740,
        },
        McpClient {
            name: "claude-desktop",
            title: "Claude Desktop",
            home: &[
                ".config/Claude/claude_desktop_config.json",
                "Library/Application Support/Claude/claude_desktop_config.json",
            ],
            project: &[],
            format: McpFileFormat::STRICT_JSON,
            protocol_name: None,
            patience_seconds: McpClient::DEFAULT_PATIENCE,
        },
    ],
    mcp_call_id: Some("claudecode/toolUseId"),
    session_log: Some(&session_log::FORMAT),
};

fn reply(answer: &HookAnswer) -> HookReply {
    match answer {
        // Without a decision the permissions that the person gave Claude Code apply.
        HookAnswer::Pass | HookAnswer::Noted | HookAnswer::Card(None) => fields::no_decision(),
        HookAnswer::Approved { edited: None } => decision("allow", APPROVED, None),
        HookAnswer::Approved { edited: Some(text) } => match fields::edited_arguments(text) {
            Some(input) => decision("allow", APPROVED_EDITED, Some(input)),
            None => decision("deny", UNREADABLE_EDIT, None),
        },
        HookAnswer::Denied(why) => decision("deny", why, None),
        HookAnswer::Card(Some(card)) => fields::json_reply(&json!({
            "systemMessage": card,
            "hookSpecificOutput": {
                "hookEventName": "UserPromptSubmit",
                "additionalContext": "The person was just shown this card; stay kind and present:\n"
                    .to_owned() + card,
            },
        })),
        HookAnswer::Planned { .. } => decision("deny", NOT_A_BATCH, None),
    }
}

fn folder(scope: &InstallScope) -> PathBuf {
    scope.folder("CLAUDE_CONFIG_DIR", ".claude")
}

fn edits(scope: &InstallScope, command: &HookCommand) -> Vec<FileEdit> {
    // In a project, the file that is not shared: the program's path is valid on this machine only.
    let file = match scope.project() {
        Some(project) => project.join(".claude/settings.local.json"),
        None => folder(scope).join("settings.json"),
    };
    let gate = object([
        ("type", "command".into()),
        ("command", command.gate("claude").into()),
        ("timeout", GATE_TIMEOUT.into()),
        ("onFailure", "block".into()),
        ("statusMessage", "Waiting for a person".into()),
    ]);
    let notify = || {
        object([
            ("type", "command".into()),
            ("command", command.notify("claude").into()),
            ("timeout", NOTIFY_TIMEOUT.into()),
        ])
    };
    let every_tool = |hook| object([("matcher", "*".into()), ("hooks", list([hook]))]);
    let wanted = vec![
        ("PreToolUse", every_tool(gate)),
        ("PostToolUse", every_tool(notify())),
        ("PostToolUseFailure", every_tool(notify())),
        ("UserPromptSubmit", object([("hooks", list([notify()]))])),
    ];
    vec![FileEdit::part(file, HookLists::new("claude", JsonSyntax::Strict, wanted))]
}

/// Settings of an administrator, which override those of the user.
const MANAGED: [&str; 2] = [
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
];

fn faults(scope: &InstallScope, _: &HookCommand) -> Vec<String> {
    let mut settings = MANAGED.map(PathBuf::from).to_vec();
    settings.push(folder(scope).join("settings.json"));
    for name in ["settings.json", "settings.local.json"] {
        settings.extend(scope.project().map(|project| project.join(".claude").join(name)));
    }
    let is_on = |path: &PathBuf, name| {
        file::value_in(path, JsonSyntax::Strict, &[name]).is_some_and(|value| value == true)
    };
    let off = settings.iter().filter(|path| is_on(path, "disableAllHooks"));
    let mut why: Vec<String> =
        off.map(|path| format!("`disableAllHooks` is set in {}", path.display())).collect();
    let managed = MANAGED.iter().filter(|path| is_on(&path.into(), "allowManagedHooksOnly"));
    why.extend(managed.map(|path| format!("`allowManagedHooksOnly` is set in {path}")));
    why
}

fn shell_call(command: &str) -> ModelToolCall {
    let arguments = json!({ "command": command, "description": "Runs the command" });
    ModelToolCall::built_in("Bash", arguments)
}

fn prepare_home(scratch: &ScratchHome) -> io::Result<()> {
    let project = scratch.project().display().to_string();
    let known = json!({
        "hasCompletedOnboarding": true,
        "projects": { project: { "hasTrustDialogAccepted": true } },
    });
    scratch.write(".claude.json", &known.to_string())
}

fn launch(scratch: &ScratchHome) -> Launch {
    Launch {
        arguments: words(&[
            "-p",
            PROMPT,
            "--output-format",
            "json",
            "--dangerously-skip-permissions",
        ]),
        variables: vec![
            ("ANTHROPIC_BASE_URL", scratch.model_url("")),
            ("ANTHROPIC_API_KEY", MODEL_KEY.to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            // Without this it refuses to run as root with its permissions switched off.
            ("IS_SANDBOX", "1".to_owned()),
        ],
    }
}
