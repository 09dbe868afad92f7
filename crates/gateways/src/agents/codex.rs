//! Codex CLI. A bare "allow" is an invalid answer for it, and then it runs the call; it silently
//! ignores a hook that it does not trust.

mod session_log;
mod trust;

use std::io;
use std::path::PathBuf;

use serde_json::json;

use super::descriptor::{AgentDescriptor, HookAgent, HookProtocol, HookSetup};
use super::live_test::{Launch, LiveTest, MODEL_KEY, PROMPT, ScratchHome, StartupCost, words};
use super::pre_tool_use;
use super::tool_call::ModelToolCall;
use crate::install::hooks::HookLists;
use crate::install::json::{JsonSyntax, list, object};
use crate::install::{
    FileEdit, FollowUp, GATE_TIMEOUT, HookCommand, InstallScope, McpClient, McpFileFormat,
    NOTIFY_TIMEOUT,
};
use trust::{HookTrust, list_hooks};

pub static HOOK: HookAgent = HookAgent {
    name: "codex",
    aliases: &["codex-cli"],
    title: "Codex CLI",
    host: "codex",
    project_variables: &[],
    hook: HookProtocol {
        parse: pre_tool_use::parse,
        reply: pre_tool_use::reply,
        announce: pre_tool_use::announce,
    },
    runs_in_plugin: false,
};

pub static AGENT: AgentDescriptor = AgentDescriptor {
    hook_agent: &HOOK,
    programs: PROGRAMS,
    plugin: None,
    setup: HookSetup {
        folder,
        per_project: true,
        edits,
        follow_up,
        faults,
        timeout_seconds: GATE_TIMEOUT,
    },
    restart_hint: "Restart Codex; open sessions keep their old settings.",
    limits: &["Codex ignores the hook after any change to it, until you install it again."],
    tested_version: Some("0.166.0"),
    live: Some(LiveTest { shell_call, prepare_home, launch, cost: StartupCost::Low }),
    mcp_clients: &[McpClient {
        name: "codex",
        title: "Codex CLI",
        home: &[".codex/config.toml"],
        project: &[".codex/config.toml"],
        format: McpFileFormat::Toml,
        protocol_name: Some("codex"),
        // `tool_timeout_sec`, which `countersign mcp install` raises.
        patience_seconds: 290,
    }],
    mcp_call_id: None,
    session_log: Some(&session_log::FORMAT),
};

const PROGRAMS: &[&str] = &["codex"];

fn folder(scope: &InstallScope) -> PathBuf {
    scope.folder("CODEX_HOME", ".codex")
}

fn config(scope: &InstallScope) -> PathBuf {
    folder(scope).join("config.toml")
}

fn hooks_file(scope: &InstallScope) -> PathBuf {
    let folder = scope.project().map_or_else(|| folder(scope), |project| project.join(".codex"));
    folder.join("hooks.json")
}

fn hook_lists(command: &HookCommand) -> HookLists {
    let hook = |command: String, seconds: u32| {
        object([
            ("type", "command".into()),
            ("command", command.into()),
            ("timeout", seconds.into()),
        ])
    };
    let notify = || hook(command.notify("codex"), NOTIFY_TIMEOUT);
    let every_tool = |hook| object([("matcher", "*".into()), ("hooks", list([hook]))]);
    let wanted = vec![
        ("PreToolUse", every_tool(hook(command.gate("codex"), GATE_TIMEOUT))),
        ("PostToolUse", every_tool(notify())),
        ("UserPromptSubmit", object([("hooks", list([notify()]))])),
    ];
    HookLists::new("codex", JsonSyntax::Strict, wanted)
}

fn edits(scope: &InstallScope, command: &HookCommand) -> Vec<FileEdit> {
    let file = hooks_file(scope);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let positions = hook_lists(command).positions(&text).unwrap_or_default();
    let trust = HookTrust::to_revoke(&file, &positions);
    vec![FileEdit::part(file, hook_lists(command)), FileEdit::part(config(scope), trust)]
}

/// What the person does if Codex cannot be asked.
const BY_HAND: &str = "Codex does not trust the hook yet and ignores it: start codex, enter /hooks \
                       and accept it.";

/// Codex itself says which hooks it would have to trust.
fn follow_up(scope: &InstallScope, command: &HookCommand) -> FollowUp {
    let tell = |messages| FollowUp { messages, ..FollowUp::default() };
    let hooks = match scope.program(PROGRAMS) {
        None => return tell(vec![BY_HAND.to_owned()]),
        Some(program) => list_hooks(&program, &folder(scope), scope.working_folder()),
    };
    let hooks = match hooks {
        Ok(hooks) => hooks,
        Err(why) => return tell(vec![why, BY_HAND.to_owned()]),
    };
    let file = hooks_file(scope);
    let ours: Vec<_> = hooks.into_iter().filter(|hook| hook.is_ours(&file, command)).collect();
    if ours.is_empty() {
        return tell(vec![why_not_loaded(scope)]);
    }
    let trust = HookTrust::to_grant(ours.into_iter().map(|hook| (hook.key, hook.hash)).collect());
    FollowUp { edits: vec![FileEdit::part(config(scope), trust)], messages: Vec::new() }
}

fn why_not_loaded(scope: &InstallScope) -> String {
    match scope.project() {
        Some(project) => format!(
            "Codex does not load the hook: it reads a project's hooks only in a trusted project. \
             Start codex in {}, trust the project and install again.",
            project.display()
        ),
        None => "Codex does not load the hook: its hooks are turned off (`features.hooks`, or an \
                 administrator's rules)."
            .to_owned(),
    }
}

fn faults(scope: &InstallScope, command: &HookCommand) -> Vec<String> {
    let file = hooks_file(scope);
    let Some(program) = scope.program(PROGRAMS) else {
        return trust::faults_in_config(&config(scope), &file, &hook_lists(command));
    };
    let hooks = match list_hooks(&program, &folder(scope), scope.working_folder()) {
        Ok(hooks) => hooks,
        Err(why) => return vec![why],
    };
    let ours: Vec<_> = hooks.into_iter().filter(|hook| hook.is_ours(&file, command)).collect();
    if ours.is_empty() {
        return vec![why_not_loaded(scope)];
    }
    let faults = ours.iter().filter_map(|hook| match (hook.trusted, hook.enabled) {
        (_, false) => Some(format!("Codex has turned off {}", hook.key)),
        (false, _) => Some(format!("Codex does not trust {}", hook.key)),
        (true, true) => None,
    });
    faults.collect()
}

fn shell_call(command: &str) -> ModelToolCall {
    ModelToolCall::built_in("exec_command", json!({ "cmd": command }))
}

fn prepare_home(scratch: &ScratchHome) -> io::Result<()> {
    let model = scratch.model_url("/v1");
    let text = format!(
        "model = \"gpt-5\"\nmodel_provider = \"stand-in\"\n\n[model_providers.stand-in]\n\
         name = \"stand-in\"\nbase_url = \"{model}\"\nwire_api = \"responses\"\n\
         env_key = \"STAND_IN_KEY\"\n"
    );
    scratch.write(".codex/config.toml", &text)
}

fn launch(_: &ScratchHome) -> Launch {
    let bypass = "--dangerously-bypass-approvals-and-sandbox";
    Launch {
        arguments: words(&["exec", "--json", "--skip-git-repo-check", bypass, PROMPT]),
        variables: vec![("STAND_IN_KEY", MODEL_KEY.to_owned())],
    }
}
