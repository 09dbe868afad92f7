//! Cursor: `preToolUse`, and the shell and MCP events of older versions. Written from its
//! documentation; it was never run.

use std::path::PathBuf;

use countersign_json::Value;
use serde_json::json;

use super::descriptor::{AgentDescriptor, HookAgent, HookProtocol, HookSetup};
use super::fields::{self, NOT_A_BATCH};
use super::protocol::{
    CompletedCall, HookAnswer, HookEvent, HookInputError, HookReply, ProposedCall,
};
use crate::install::hooks::HookLists;
use crate::install::json::{JsonSyntax, object};
use crate::install::{
    FileEdit, GATE_TIMEOUT, HookCommand, InstallScope, McpClient, McpFileFormat, NOTIFY_TIMEOUT,
    no_follow_up,
};

pub static HOOK: HookAgent = HookAgent {
    name: "cursor",
    aliases: &["cursor-agent"],
    title: "Cursor",
    host: "cursor",
    project_variables: &["CURSOR_PROJECT_DIR"],
    hook: HookProtocol { parse, reply, announce },
    runs_in_plugin: false,
};

pub static AGENT: AgentDescriptor = AgentDescriptor {
    hook_agent: &HOOK,
    programs: &["cursor-agent", "cursor"],
    plugin: None,
    setup: HookSetup {
        folder,
        per_project: true,
        edits,
        follow_up: no_follow_up,
        faults: |_, _| Vec::new(),
        timeout_seconds: GATE_TIMEOUT,
    },
    restart_hint: "Restart Cursor; open sessions keep their old settings.",
    limits: &["This is written from Cursor's documentation; Cursor itself was never run with it."],
    tested_version: None,
    live: None,
    mcp_clients: &[McpClient {
        name: "cursor",
        title: "Cursor",
        home: &[".cursor/mcp.json"],
        project: &[".cursor/mcp.json"],
        format: McpFileFormat::JSON_WITH_COMMENTS,
        protocol_name: None,
        patience_seconds: McpClient::DEFAULT_PATIENCE,
    }],
    mcp_call_id: None,
    session_log: None,
};

fn parse(from: &Value<'_>) -> Result<HookEvent, HookInputError> {
    match fields::required_text(from, "hook_event_name")?.as_str() {
        "preToolUse" | "beforeMCPExecution" => Ok(HookEvent::Before(tool_call(from)?)),
        "beforeShellExecution" => {
            let command = fields::required_text(from, "command")?;
            let arguments = json!({ "command": command }).to_string();
            let tool = "Shell".to_owned();
            Ok(HookEvent::Before(ProposedCall { tool, arguments, ..session_and_folder(from)? }))
        }
        "postToolUse" => Ok(HookEvent::After(completed(from, false)?)),
        "postToolUseFailure" => Ok(HookEvent::After(completed(from, true)?)),
        "beforeSubmitPrompt" => Ok(HookEvent::Message {
            text: fields::required_text(from, "prompt")?,
            session: fields::optional_text(from, "conversation_id")?,
        }),
        other => Err(fields::unknown_event(other)),
    }
}

fn tool_call(from: &Value<'_>) -> Result<ProposedCall, HookInputError> {
    let tool = fields::required_text(from, "tool_name")?;
    let arguments = fields::arguments(from, "tool_input")?;
    let call_id = fields::optional_text(from, "tool_use_id")?;
    Ok(ProposedCall { tool, arguments, call_id, ..session_and_folder(from)? })
}

fn session_and_folder(from: &Value<'_>) -> Result<ProposedCall, HookInputError> {
    let roots = from.get("workspace_roots").and_then(Value::as_array).unwrap_or_default();
    let root = roots.first().and_then(Value::as_str).map(ToOwned::to_owned);
    Ok(ProposedCall {
        session: fields::optional_text(from, "conversation_id")?,
        cwd: fields::optional_text(from, "cwd")?.or_else(|| root.clone()),
        project: root,
        host_version: from.get("cursor_version").and_then(Value::as_str).map(ToOwned::to_owned),
        ..ProposedCall::default()
    })
}

fn completed(from: &Value<'_>, failed: bool) -> Result<CompletedCall, HookInputError> {
    let result = from.get("tool_output").map(Value::to_json);
    let duration_ms = fields::number(from, "duration");
    let call = tool_call(from)?;
    Ok(CompletedCall { call, failed, duration_ms, result, ..CompletedCall::default() })
}

fn reply(answer: &HookAnswer) -> HookReply {
    match answer {
        // It always expects JSON; an object without a permission leaves the call to its own rules.
        HookAnswer::Pass | HookAnswer::Noted => fields::no_decision(),
        HookAnswer::Approved { edited: None } => {
            fields::json_reply(&json!({ "permission": "allow" }))
        }
        HookAnswer::Approved { edited: Some(_) } => denied(
            "Countersign: a person approved this call with other arguments, which Cursor cannot \
             use, so the call was not run. Ask the person what to run.",
        ),
        HookAnswer::Denied(why) => denied(why),
        HookAnswer::Card(None) => fields::json_reply(&json!({ "continue": true })),
        HookAnswer::Card(Some(card)) => {
            fields::json_reply(&json!({ "continue": true, "user_message": card }))
        }
        HookAnswer::Planned { .. } => denied(NOT_A_BATCH),
    }
}

fn denied(why: &str) -> HookReply {
    fields::json_reply(&json!({ "permission": "deny", "user_message": why, "agent_message": why }))
}

fn announce(tool: &str, session: &str) -> serde_json::Value {
    json!({
        "hook_event_name": "preToolUse", "conversation_id": session, "tool_name": tool,
        "tool_input": {},
    })
}

fn folder(scope: &InstallScope) -> PathBuf {
    scope.home().join(".cursor")
}

fn edits(scope: &InstallScope, command: &HookCommand) -> Vec<FileEdit> {
    let folder = scope.project().map_or_else(|| folder(scope), |project| project.join(".cursor"));
    let gate = object([
        ("command", command.gate("cursor").into()),
        ("timeout", GATE_TIMEOUT.into()),
        ("failClosed", true.into()),
    ]);
    let notify = || {
        object([("command", command.notify("cursor").into()), ("timeout", NOTIFY_TIMEOUT.into())])
    };
    let wanted = vec![
        ("preToolUse", gate),
        ("postToolUse", notify()),
        ("postToolUseFailure", notify()),
        ("beforeSubmitPrompt", notify()),
    ];
    let lists = HookLists::new("cursor", JsonSyntax::Strict, wanted).with_version(1);
    vec![FileEdit::part(folder.join("hooks.json"), lists)]
}
