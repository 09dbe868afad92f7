//! OpenClaw, gated by our plugin.

use std::io;
use std::path::PathBuf;

use jsonc_parser::cst::CstArray;
use serde_json::{Value, json};

use super::descriptor::{AgentDescriptor, HookAgent, HookSetup};
use super::live_test::{Launch, LiveTest, MODEL_KEY, PROMPT, ScratchHome, StartupCost, words};
use super::plugin_protocol;
use super::tool_call::ModelToolCall;
use crate::install::json::{self as file, JsonDocument, JsonItem, JsonSyntax, object};
use crate::install::{
    FileEdit, HookCommand, InstallScope, Patch, PatchError, no_follow_up, plugin_files,
};

pub static HOOK: HookAgent = HookAgent {
    name: "openclaw",
    aliases: &[],
    title: "OpenClaw",
    host: "openclaw",
    project_variables: &[],
    hook: plugin_protocol::PROTOCOL,
    runs_in_plugin: true,
};

pub static AGENT: AgentDescriptor = AgentDescriptor {
    hook_agent: &HOOK,
    programs: &["openclaw"],
    plugin: Some(plugin_files::OPENCLAW),
    setup: HookSetup {
        folder,
        per_project: false,
        edits,
        follow_up: no_follow_up,
        faults,
        timeout_seconds: TIMEOUT_SECONDS,
    },
    restart_hint: "Restart OpenClaw; open sessions keep their old settings.",
    limits: &["OpenClaw waits ten minutes for an answer; then it blocks the call."],
    tested_version: Some("2026.9.6"),
    live: Some(LiveTest { shell_call, prepare_home, launch, cost: StartupCost::High }),
    mcp_clients: &[],
    mcp_call_id: None,
    session_log: None,
};

/// The plugin's id.
const ID: &str = "countersign";
/// The longest time that OpenClaw waits for a plugin.
const TIMEOUT_SECONDS: u32 = 600;

fn folder(scope: &InstallScope) -> PathBuf {
    scope.folder("OPENCLAW_STATE_DIR", ".openclaw")
}

fn config(scope: &InstallScope) -> PathBuf {
    let named = scope.variable("OPENCLAW_CONFIG_PATH").map(PathBuf::from);
    named.unwrap_or_else(|| folder(scope).join("openclaw.json"))
}

fn edits(scope: &InstallScope, command: &HookCommand) -> Vec<FileEdit> {
    let plugin = folder(scope).join("countersign-plugin");
    let mut edits = plugin_files::edits(plugin_files::OPENCLAW, &plugin, command);
    let path = plugin.to_string_lossy().into_owned();
    edits.push(FileEdit::part(config(scope), PluginEntry { path }));
    edits
}

/// The plugin's entry under `plugins`: its folder, that it is enabled, its timeout.
struct PluginEntry {
    path: String,
}

impl PluginEntry {
    fn item() -> JsonItem {
        let timeouts = object([("before_tool_call", (TIMEOUT_SECONDS * 1000).into())]);
        object([("enabled", true.into()), ("hooks", object([("timeouts", timeouts)]))])
    }

    fn is_complete(&self, document: &JsonDocument) -> bool {
        let entry = document.at(&["plugins", "entries", ID]);
        let paths = document.at(&["plugins", "load", "paths"]);
        let allow = document.at(&["plugins", "allow"]);
        let holds = |list: &Value, word: &str| {
            list.as_array().is_some_and(|items| items.iter().any(|item| item == word))
        };
        entry == Some(file::value_of(&PluginEntry::item()))
            && paths.is_some_and(|paths| holds(&paths, &self.path))
            && allow.is_none_or(|allow| holds(&allow, ID))
    }
}

impl Patch for PluginEntry {
    fn apply(&self, text: &str) -> Result<String, PatchError> {
        let document = JsonDocument::open(text, JsonSyntax::Json5)?;
        if self.is_complete(&document) {
            return Ok(text.to_owned());
        }
        let plugins = file::object_in(&document.top, "plugins")?;
        let load = file::object_in(&plugins, "load")?;
        let paths = file::list_in(&load, "paths")?;
        let contains = |item: &str, list: &CstArray| {
            list.elements().iter().any(|node| node.to_serde_value() == Some(Value::from(item)))
        };
        if !contains(&self.path, &paths) {
            paths.append(self.path.as_str().into());
        }
        let entries = file::object_in(&plugins, "entries")?;
        match entries.get(ID) {
            Some(entry) => entry.set_value(PluginEntry::item()),
            None => drop(entries.append(ID, PluginEntry::item())),
        }
        // If there is a list of allowed plugins, OpenClaw loads no other one.
        if plugins.get("allow").is_some() {
            let allow = file::list_in(&plugins, "allow")?;
            if !contains(ID, &allow) {
                allow.append(ID.into());
            }
        }
        Ok(document.text())
    }

    fn remove(&self, text: &str) -> Result<String, PatchError> {
        let document = JsonDocument::open(text, JsonSyntax::Json5)?;
        let Some(plugins) = document.top.object_value("plugins") else {
            return Ok(text.to_owned());
        };
        let load = plugins.object_value("load");
        let paths = load.as_ref().and_then(|load| load.array_value("paths"));
        let lists = [(paths, self.path.as_str()), (plugins.array_value("allow"), ID)];
        for (list, word) in lists {
            for node in list.iter().flat_map(CstArray::elements) {
                if node.to_serde_value() == Some(Value::from(word)) {
                    node.remove();
                }
            }
        }
        if let Some(entries) = plugins.object_value("entries") {
            if let Some(entry) = entries.get(ID) {
                entry.remove();
            }
            file::prune(&plugins, "entries");
        }
        if let Some(load) = load {
            file::prune(&load, "paths");
            file::prune(&plugins, "load");
        }
        file::prune(&document.top, "plugins");
        Ok(document.text())
    }

    fn is_blank(&self, text: &str) -> bool {
        let names =
            JsonDocument::open(text, JsonSyntax::Json5).map(|document| document.top.properties());
        names.is_ok_and(|names| names.is_empty()) && !text.contains("//") && !text.contains("/*")
    }
}

fn faults(scope: &InstallScope, _: &HookCommand) -> Vec<String> {
    let config = config(scope);
    let value = |name| file::value_in(&config, JsonSyntax::Json5, &["plugins", name]);
    let mut why = Vec::new();
    if value("enabled").is_some_and(|value| value == false) {
        why.push(format!("`plugins.enabled` is false in {}", config.display()));
    }
    let denied = value("deny").and_then(|value| value.as_array().cloned()).unwrap_or_default();
    if denied.iter().any(|name| name == ID) {
        why.push(format!("`plugins.deny` contains {ID} in {}", config.display()));
    }
    why
}

const MODEL: &str = "stand-in";

fn shell_call(command: &str) -> ModelToolCall {
    ModelToolCall::built_in("exec", json!({ "command": command }))
}

fn prepare_home(scratch: &ScratchHome) -> io::Result<()> {
    let known = json!({
        "models": { "mode": "replace", "providers": { MODEL: {
            "baseUrl": scratch.model_url(""), "apiKey": MODEL_KEY, "api": "anthropic-messages",
            "models": [{
                "id": MODEL, "name": MODEL, "input": ["text"], "contextWindow": 200_000,
                "maxTokens": 8000,
            }],
        } } },
        "agents": { "defaults": {
            "model": { "primary": format!("{MODEL}/{MODEL}") },
            "workspace": scratch.project(),
            "skipBootstrap": true,
        } },
        "tools": { "exec": { "host": "gateway", "security": "full", "ask": "off" } },
    });
    scratch.write(".openclaw/openclaw.json", &known.to_string())
}

fn launch(_: &ScratchHome) -> Launch {
    Launch {
        arguments: words(&["agent", "--local", "--agent", "main", "--message", PROMPT, "--json"]),
        variables: Vec::new(),
    }
}
