//! Gemini CLI: `BeforeTool` and `AfterTool`. Its calls have no id.

use std::io;
use std::path::PathBuf;

use countersign_json::Value;
use serde_json::json;

use super::descriptor::{AgentDescriptor, HookAgent, HookProtocol, HookSetup};
use super::fields::{self, NOT_A_BATCH, UNREADABLE_EDIT};
use super::live_test::{Launch, LiveTest, MODEL_KEY, PROMPT, ScratchHome, StartupCost, words};
use super::protocol::{HookAnswer, HookEvent, HookInputError, HookReply};
use super::tool_call::ModelToolCall;
use crate::install::hooks::HookLists;
use crate::install::json::{self as file, JsonSyntax, list, object};
use crate::install::{
    FileEdit, GATE_TIMEOUT, HookCommand, InstallScope, McpClient, McpFileFormat, NOTIFY_TIMEOUT,
    no_follow_up,
};

pub static HOOK: HookAgent = HookAgent {
    name: "gemini",
    aliases: &["gemini-cli"],
    title: "Gemini CLI",
    host: "gemini-cli",
    project_variables: &["GEMINI_PROJECT_DIR"],
    hook: HookProtocol { parse, reply, announce },
    runs_in_plugin: false,
};

pub static AGENT: AgentDescriptor = AgentDescriptor {
    hook_agent: &HOOK,
    programs: &["gemini"],
    plugin: None,
    setup: HookSetup {
        folder,
        per_project: true,
        edits,
        follow_up: no_follow_up,
        faults,
        timeout_seconds: GATE_TIMEOUT,
    },
    restart_hint: "Restart Gemini CLI; open sessions keep their old settings.",
    limits: &["Gemini CLI runs no hooks, including ours, in a folder that it does not trust."],
    tested_version: Some("0.61.0"),
    live: Some(LiveTest { shell_call, prepare_home, launch, cost: StartupCost::Medium }),
    mcp_clients: &[McpClient {
        name: "gemini",
        title: "Gemini CLI",
        home: &[".gemini/settings.json"],
        project: &[".gemini/settings.json"],
        format: McpFileFormat::JSON_WITH_TIMEOUT,
        protocol_name: Some("gemini-cli"),
        patience_seconds: 590,
    }],
    mcp_call_id: None,
    session_log: None,
};

fn parse(from: &Value<'_>) -> Result<HookEvent, HookInputError> {
    match fields::required_text(from, "hook_event_name")?.as_str() {
        "BeforeTool" => Ok(HookEvent::Before(fields::tool_call(from)?)),
        "AfterTool" => Ok(HookEvent::After(fields::tool_result(from, false)?)),
        "BeforeAgent" => Ok(HookEvent::Message {
            text: fields::required_text(from, "prompt")?,
            session: fields::optional_text(from, "session_id")?,
        }),
        other => Err(fields::unknown_event(other)),
    }
}

fn reply(answer: &HookAnswer) -> HookReply {
    match answer {
        HookAnswer::Pass | HookAnswer::Noted | HookAnswer::Card(None) => fields::no_decision(),
        HookAnswer::Approved { edited: None } => {
            fields::json_reply(&json!({ "decision": "allow" }))
        }
        HookAnswer::Approved { edited: Some(text) } => match fields::edited_arguments(text) {
            Some(input) => fields::json_reply(&json!({
                "decision": "allow",
                "hookSpecificOutput": { "hookEventName": "BeforeTool", "tool_input": input },
            })),
            None => denied(UNREADABLE_EDIT),
        },
        HookAnswer::Denied(why) => denied(why),
        HookAnswer::Card(Some(card)) => fields::json_reply(&json!({ "systemMessage": card })),
        HookAnswer::Planned { .. } => denied(NOT_A_BATCH),
    }
}

fn denied(why: &str) -> HookReply {
    fields::json_reply(&json!({ "decision": "deny", "reason": why }))
}

fn announce(tool: &str, session: &str) -> serde_json::Value {
    json!({
        "hook_event_name": "BeforeTool", "session_id": session, "tool_name": tool,
        "tool_input": {},
    })
}

fn folder(scope: &InstallScope) -> PathBuf {
    let home = scope.variable("GEMINI_CLI_HOME").map(PathBuf::from);
    home.unwrap_or_else(|| scope.home().to_owned()).join(".gemini")
}

fn settings(scope: &InstallScope) -> PathBuf {
    let folder = scope.project().map_or_else(|| folder(scope), |project| project.join(".gemini"));
    folder.join("settings.json")
}

fn edits(scope: &InstallScope, command: &HookCommand) -> Vec<FileEdit> {
    // Its timeouts are in milliseconds.
    let entry = |command: String, seconds: u32| {
        let hook = object([
            ("type", "command".into()),
            ("name", HOOK_NAME.into()),
            ("command", command.into()),
            ("timeout", (u64::from(seconds) * 1000).into()),
        ]);
        object([("matcher", ".*".into()), ("hooks", list([hook]))])
    };
    let notify = || entry(command.notify("gemini"), NOTIFY_TIMEOUT);
    let wanted = vec![
        ("BeforeTool", entry(command.gate("gemini"), GATE_TIMEOUT)),
        ("AfterTool", notify()),
        ("BeforeAgent", notify()),
    ];
    let lists = HookLists::new("gemini", JsonSyntax::Comments, wanted);
    vec![FileEdit::part(settings(scope), lists)]
}

/// The name of our hooks in its settings.
const HOOK_NAME: &str = "countersign";

fn faults(scope: &InstallScope, command: &HookCommand) -> Vec<String> {
    let system = PathBuf::from("/etc/gemini-cli/settings.json");
    let mut why = Vec::new();
    for path in [system, folder(scope).join("settings.json"), settings(scope)] {
        let value = |name| file::value_in(&path, JsonSyntax::Comments, &["hooksConfig", name]);
        if value("enabled").is_some_and(|value| value == false) {
            why.push(format!("`hooksConfig.enabled` is false in {}", path.display()));
        }
        let disabled = value("disabled");
        let mut names = disabled.as_ref().and_then(|value| value.as_array()).into_iter().flatten();
        if names.any(|name| *name == HOOK_NAME || *name == command.gate("gemini")) {
            why.push(format!("`hooksConfig.disabled` contains our hook in {}", path.display()));
        }
    }
    why.dedup();
    why
}

fn shell_call(command: &str) -> ModelToolCall {
    ModelToolCall::built_in("run_shell_command", json!({ "command": command }))
}

fn prepare_home(scratch: &ScratchHome) -> io::Result<()> {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "general": { "disableAutoUpdate": true, "disableUpdateNag": true },
        "privacy": { "usageStatisticsEnabled": false },
    });
    scratch.write(".gemini/settings.json", &settings.to_string())
}

fn launch(scratch: &ScratchHome) -> Launch {
    Launch {
        arguments: words(&["-p", PROMPT, "--yolo", "--skip-trust", "-m", "gemini-2.5-flash"]),
        variables: vec![
            ("GOOGLE_GEMINI_BASE_URL", scratch.model_url("")),
            ("GEMINI_API_KEY", MODEL_KEY.to_owned()),
        ],
    }
}
