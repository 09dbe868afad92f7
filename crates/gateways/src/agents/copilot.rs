//! GitHub Copilot CLI. Its events have no name and its calls have no id.

use std::io;
use std::path::PathBuf;

use countersign_json::Value;
use serde_json::json;

use super::descriptor::{AgentDescriptor, HookAgent, HookProtocol, HookSetup};
use super::fields::{self, APPROVED, APPROVED_EDITED, NOT_A_BATCH, UNREADABLE_EDIT};
use super::live_test::{Launch, LiveTest, MODEL_KEY, PROMPT, ScratchHome, StartupCost, words};
use super::pre_tool_use;
use super::protocol::{
    CompletedCall, HookAnswer, HookEvent, HookInputError, HookReply, ProposedCall,
};
use super::tool_call::ModelToolCall;
use crate::install::json::{self as file, JsonSyntax, list, object};
use crate::install::{
    FileEdit, GATE_TIMEOUT, HookCommand, InstallScope, McpClient, McpFileFormat, NOTIFY_TIMEOUT,
    no_follow_up,
};

pub static HOOK: HookAgent = HookAgent {
    name: "copilot",
    aliases: &["copilot-cli", "github-copilot"],
    title: "GitHub Copilot CLI",
    host: "copilot-cli",
    project_variables: &[],
    hook: HookProtocol { parse, reply, announce },
    runs_in_plugin: false,
};

pub static AGENT: AgentDescriptor = AgentDescriptor {
    hook_agent: &HOOK,
    programs: &["copilot"],
    plugin: None,
    setup: HookSetup {
        folder,
        per_project: true,
        edits,
        follow_up: no_follow_up,
        faults,
        timeout_seconds: GATE_TIMEOUT,
    },
    restart_hint: "Restart Copilot CLI; open sessions keep their old settings.",
    limits: &["Copilot CLI ignores a project's hooks in a folder that it does not trust."],
    tested_version: Some("1.0.102"),
    live: Some(LiveTest { shell_call, prepare_home, launch, cost: StartupCost::Medium }),
    mcp_clients: &[McpClient {
        name: "copilot",
        title: "GitHub Copilot CLI",
        home: &[".copilot/mcp-config.json"],
        project: &[],
        format: McpFileFormat::STRICT_JSON,
        protocol_name: Some("github-copilot"),
        patience_seconds: McpClient::DEFAULT_PATIENCE,
    }],
    mcp_call_id: None,
    session_log: None,
};

fn parse(from: &Value<'_>) -> Result<HookEvent, HookInputError> {
    // It also reads hooks in another agent's format; those events have a name.
    if from.get("hook_event_name").is_some() {
        return pre_tool_use::parse(from);
    }
    if from.get("toolName").is_none() {
        return match from.get("prompt").and_then(Value::as_str) {
            Some(prompt) => Ok(HookEvent::Message {
                text: prompt.to_owned(),
                session: fields::optional_text(from, "sessionId")?,
            }),
            None => Err(HookInputError("`toolName` is missing".to_owned())),
        };
    }
    let call = ProposedCall {
        tool: fields::required_text(from, "toolName")?,
        arguments: fields::arguments(from, "toolArgs")?,
        session: fields::optional_text(from, "sessionId")?,
        cwd: fields::optional_text(from, "cwd")?,
        ..ProposedCall::default()
    };
    let Some(result) = from.get("toolResult") else { return Ok(HookEvent::Before(call)) };
    let kind = result.get("resultType").and_then(Value::as_str);
    let failed = kind.is_some_and(|kind| kind != "success");
    let result = Some(result.to_json());
    Ok(HookEvent::After(CompletedCall { call, failed, result, ..CompletedCall::default() }))
}

fn reply(answer: &HookAnswer) -> HookReply {
    match answer {
        HookAnswer::Pass | HookAnswer::Noted | HookAnswer::Card(_) => fields::no_decision(),
        HookAnswer::Approved { edited: None } => decision("allow", APPROVED, None),
        HookAnswer::Approved { edited: Some(text) } => match fields::edited_arguments(text) {
            Some(input) => decision("allow", APPROVED_EDITED, Some(input)),
            None => decision("deny", UNREADABLE_EDIT, None),
        },
        HookAnswer::Denied(why) => decision("deny", why, None),
        HookAnswer::Planned { .. } => decision("deny", NOT_A_BATCH, None),
    }
}

fn decision(word: &str, why: &str, arguments: Option<serde_json::Value>) -> HookReply {
    let mut answer = json!({ "permissionDecision": word, "permissionDecisionReason": why });
    if let (Some(arguments), Some(members)) = (arguments, answer.as_object_mut()) {
        members.insert("modifiedArgs".to_owned(), arguments);
    }
    fields::json_reply(&answer)
}

fn announce(tool: &str, session: &str) -> serde_json::Value {
    json!({ "sessionId": session, "toolName": tool, "toolArgs": {} })
}

fn folder(scope: &InstallScope) -> PathBuf {
    scope.folder("COPILOT_HOME", ".copilot")
}

fn edits(scope: &InstallScope, command: &HookCommand) -> Vec<FileEdit> {
    let folder = scope.project().map_or_else(|| folder(scope), |project| project.join(".github"));
    let hook = |command: String, seconds: u32| {
        let members =
            [("type", "command".into()), ("bash", command.into()), ("timeoutSec", seconds.into())];
        list([object(members)])
    };
    let notify = || hook(command.notify("copilot"), NOTIFY_TIMEOUT);
    let hooks = object([
        ("preToolUse", hook(command.gate("copilot"), GATE_TIMEOUT)),
        ("postToolUse", notify()),
        ("userPromptSubmitted", notify()),
    ]);
    let whole = object([("version", 1_u32.into()), ("hooks", hooks)]);
    vec![FileEdit::whole(folder.join("hooks/countersign.json"), file::text_of(whole))]
}

fn faults(scope: &InstallScope, _: &HookCommand) -> Vec<String> {
    let names = ["config.json", "settings.json"].map(|name| folder(scope).join(name));
    let off = |path: &&PathBuf| {
        let value = file::value_in(path, JsonSyntax::Comments, &["disableAllHooks"]);
        value.is_some_and(|value| value == true)
    };
    let off = names.iter().filter(off);
    off.map(|path| format!("`disableAllHooks` is set in {}", path.display())).collect()
}

fn shell_call(command: &str) -> ModelToolCall {
    let arguments = json!({ "command": command, "description": "Runs the command" });
    ModelToolCall::built_in("bash", arguments)
}

fn prepare_home(scratch: &ScratchHome) -> io::Result<()> {
    let project = scratch.project().display().to_string();
    let known = json!({ "trusted_folders": [project], "trustedFolders": [project] });
    scratch.write(".copilot/config.json", &known.to_string())
}

fn launch(scratch: &ScratchHome) -> Launch {
    Launch {
        arguments: words(&["-p", PROMPT, "--allow-all-tools", "--no-auto-update"]),
        variables: vec![
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("COPILOT_PROVIDER_BASE_URL", scratch.model_url("")),
            ("COPILOT_PROVIDER_TYPE", "anthropic".to_owned()),
            ("COPILOT_PROVIDER_API_KEY", MODEL_KEY.to_owned()),
            ("COPILOT_MODEL", "stand-in-model".to_owned()),
        ],
    }
}
