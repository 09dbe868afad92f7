//! OpenCode, gated by our plugin.

mod session_log;

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;

use super::descriptor::{AgentDescriptor, HookAgent, HookSetup};
use super::live_test::{Launch, LiveTest, MODEL_KEY, PROMPT, ScratchHome, StartupCost, words};
use super::plugin_protocol;
use super::tool_call::ModelToolCall;
use crate::install::{
    FileEdit, GATE_TIMEOUT, HookCommand, InstallScope, McpClient, McpFileFormat, no_follow_up,
    plugin_files,
};

pub static HOOK: HookAgent = HookAgent {
    name: "opencode",
    aliases: &[],
    title: "OpenCode",
    host: "opencode",
    project_variables: &[],
    hook: plugin_protocol::PROTOCOL,
    runs_in_plugin: true,
};

pub static AGENT: AgentDescriptor = AgentDescriptor {
    hook_agent: &HOOK,
    programs: &["opencode"],
    plugin: Some(plugin_files::OPENCODE),
    setup: HookSetup {
        folder,
        per_project: true,
        edits,
        follow_up: no_follow_up,
        faults,
        timeout_seconds: GATE_TIMEOUT,
    },
    restart_hint: "Restart OpenCode; open sessions keep their old settings.",
    limits: &["OpenCode ignores a plugin that it cannot load, and then calls run unchecked."],
    tested_version: Some("1.18.33"),
    live: Some(LiveTest { shell_call, prepare_home, launch, cost: StartupCost::Medium }),
    mcp_clients: &[McpClient {
        name: "opencode",
        title: "OpenCode",
        home: &[".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"],
        project: &["opencode.json", "opencode.jsonc"],
        format: McpFileFormat::CommandList,
        protocol_name: Some("opencode"),
        patience_seconds: McpClient::DEFAULT_PATIENCE,
    }],
    mcp_call_id: None,
    session_log: Some(&session_log::FORMAT),
};

fn folder(scope: &InstallScope) -> PathBuf {
    scope.folder("XDG_CONFIG_HOME", ".config").join("opencode")
}

/// The folder from which it loads plugins.
fn plugin_folder(scope: &InstallScope) -> PathBuf {
    let folder = scope.project().map_or_else(|| folder(scope), |project| project.join(".opencode"));
    folder.join("plugin")
}

fn edits(scope: &InstallScope, command: &HookCommand) -> Vec<FileEdit> {
    plugin_files::edits(plugin_files::OPENCODE, &plugin_folder(scope), command)
}

/// Loads a file as a module, whatever its folder says, with nothing but Node itself.
const LOAD: &str = "import('data:text/javascript,' + encodeURIComponent(require('fs')\
                    .readFileSync(process.argv[1], 'utf8')))";

/// Loads the plugin with Node, if Node is installed. The file is known to be our own text: status
/// compares it before it asks for other faults.
fn faults(scope: &InstallScope, _: &HookCommand) -> Vec<String> {
    let Some(node) = scope.program(&["node"]) else { return Vec::new() };
    let file = plugin_folder(scope).join("countersign.js");
    let mut command = Command::new(node);
    command.args(["-e", LOAD]).arg(&file);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if !status.success() => {
            vec![format!("{} cannot be loaded as JavaScript", file.display())]
        }
        _ => Vec::new(),
    }
}

const MODEL: &str = "stand-in";

fn shell_call(command: &str) -> ModelToolCall {
    let arguments = json!({ "command": command, "description": "Runs the command" });
    ModelToolCall::built_in("bash", arguments)
}

fn prepare_home(scratch: &ScratchHome) -> io::Result<()> {
    let known = json!({
        "autoupdate": false,
        "share": "disabled",
        "provider": { "anthropic": {
            "options": { "baseURL": scratch.model_url("/v1"), "apiKey": MODEL_KEY },
            "models": { MODEL: { "name": MODEL, "tool_call": true } },
        } },
        "permission": { "*": "allow" },
    });
    scratch.write(".config/opencode/opencode.json", &known.to_string())?;
    // With a plugin it looks for a package of its own; offline, npm retries for over a minute.
    scratch.write(".npmrc", "fetch-retries=0\n")
}

fn launch(_: &ScratchHome) -> Launch {
    let model = format!("anthropic/{MODEL}");
    Launch {
        arguments: words(&["run", "--model", &model, PROMPT]),
        variables: vec![
            ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
        ],
    }
}
