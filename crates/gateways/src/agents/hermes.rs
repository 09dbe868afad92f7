//! Hermes, gated by our plugin.

mod session_log;

use std::io;
use std::path::PathBuf;

use serde_json::json;

use super::descriptor::{AgentDescriptor, HookAgent, HookSetup};
use super::live_test::{Launch, LiveTest, MODEL_KEY, PROMPT, ScratchHome, StartupCost, words};
use super::plugin_protocol;
use super::tool_call::ModelToolCall;
use crate::install::yaml::WordInList;
use crate::install::{
    FileEdit, GATE_TIMEOUT, HookCommand, InstallScope, no_follow_up, plugin_files,
};

pub static HOOK: HookAgent = HookAgent {
    name: "hermes",
    aliases: &[],
    title: "Hermes",
    host: "hermes",
    project_variables: &[],
    hook: plugin_protocol::PROTOCOL,
    runs_in_plugin: true,
};

pub static AGENT: AgentDescriptor = AgentDescriptor {
    hook_agent: &HOOK,
    programs: &["hermes"],
    plugin: Some(plugin_files::HERMES),
    setup: HookSetup {
        folder,
        per_project: false,
        edits,
        follow_up: no_follow_up,
        faults,
        timeout_seconds: GATE_TIMEOUT,
    },
    restart_hint: "Restart Hermes; open sessions keep their old settings.",
    limits: &["In safe mode Hermes loads no plugins, including ours."],
    tested_version: Some("0.19.0"),
    live: Some(LiveTest { shell_call, prepare_home, launch, cost: StartupCost::High }),
    mcp_clients: &[],
    mcp_call_id: None,
    session_log: Some(&session_log::FORMAT),
};

const ENABLED: WordInList = WordInList { top: "plugins", list: "enabled", word: "countersign" };
const DISABLED: WordInList = WordInList { top: "plugins", list: "disabled", word: "countersign" };

fn folder(scope: &InstallScope) -> PathBuf {
    scope.folder("HERMES_HOME", ".hermes")
}

fn edits(scope: &InstallScope, command: &HookCommand) -> Vec<FileEdit> {
    let plugin = folder(scope).join("plugins/countersign");
    let mut edits = plugin_files::edits(plugin_files::HERMES, &plugin, command);
    edits.push(FileEdit::whole(plugin.join("binary"), format!("{}\n", command.program)));
    if let Some(file) = &command.daemon_key {
        edits.push(FileEdit::whole(plugin.join("daemon_key"), format!("{file}\n")));
    }
    edits.push(FileEdit::part(folder(scope).join("config.yaml"), ENABLED));
    edits
}

fn faults(scope: &InstallScope, _: &HookCommand) -> Vec<String> {
    let config = folder(scope).join("config.yaml");
    let text = std::fs::read_to_string(&config).unwrap_or_default();
    let mut why = Vec::new();
    match DISABLED.words(&text) {
        Ok(words) if words.iter().any(|word| word == DISABLED.word) => {
            why.push(format!("`plugins.disabled` contains countersign in {}", config.display()));
        }
        Ok(_) => {}
        Err(error) => why.push(format!("{}: {error}", config.display())),
    }
    if scope.variable("HERMES_SAFE_MODE").is_some() {
        why.push("HERMES_SAFE_MODE is set here, so no plugin is loaded".to_owned());
    }
    why
}

fn shell_call(command: &str) -> ModelToolCall {
    ModelToolCall::built_in("terminal", json!({ "command": command }))
}

fn prepare_home(scratch: &ScratchHome) -> io::Result<()> {
    let model = scratch.model_url("/v1");
    let text = format!(
        "model:\n  provider: custom\n  default: stand-in\n  base_url: {model}\n  \
         api_key: {MODEL_KEY}\n  context_length: 128000\n\
         memory:\n  memory_enabled: false\n  user_profile_enabled: false\n"
    );
    scratch.write(".hermes/config.yaml", &text)
}

fn launch(scratch: &ScratchHome) -> Launch {
    Launch {
        arguments: words(&["chat", "-q", PROMPT, "-Q", "--yolo", "-t", "terminal"]),
        variables: vec![
            ("HERMES_HOME", scratch.home().join(".hermes").display().to_string()),
            ("TERMINAL_CWD", scratch.project().display().to_string()),
        ],
    }
}
