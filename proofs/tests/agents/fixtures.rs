//! What a live test needs beside the descriptor: a bare hook and an MCP server in an agent's files.

use std::fs;
use std::path::Path;

use countersign_gateways::agents::HookAnswer;
use countersign_gateways::agents::live_test::ScratchHome;
use countersign_gateways::live::run::live_agents;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::agent_run::{HARM, alone, one_of, run_agent};
use crate::installed::{countersign, install, replace};

/// The parts of `crates/gateways/fixtures/agents/NAME.json` that live tests use. Strings such as
/// `{command}` are placeholders.
#[derive(Deserialize)]
pub struct LiveFixture {
    /// A hook as the agent's documentation describes it, without our safeguards.
    pub bare_hook: Option<SettingsFile>,
    /// An MCP server in the agent's files.
    pub mcp_server: Option<McpServer>,
    /// Whether `./test` does not install the agent.
    #[serde(default)]
    pub optional: bool,
    /// The Node version that the agent needs.
    pub minimum_node: Option<u32>,
}

/// Settings to add to a file below the home folder.
#[derive(Deserialize)]
pub struct SettingsFile {
    file: String,
    /// Members that are added to a JSON object.
    #[serde(default)]
    settings: Map<String, Value>,
    /// Text that is appended to the file.
    #[serde(default)]
    append: String,
    /// Further arguments for the agent.
    #[serde(default)]
    arguments: Vec<String>,
    /// Further variables for the agent.
    #[serde(default)]
    variables: Map<String, Value>,
}

/// An MCP server and the call of its tool.
#[derive(Deserialize)]
pub struct McpServer {
    /// The settings.
    #[serde(flatten)]
    pub settings: SettingsFile,
    /// The call as the agent's model proposes it.
    pub call: McpCall,
}

/// The name of a tool in the request to a model.
#[derive(Deserialize)]
pub struct McpCall {
    /// The tool.
    pub tool: String,
    /// Its namespace.
    pub namespace: Option<String>,
}

/// The fixture of an agent.
pub fn live_fixture(agent: &str) -> LiveFixture {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/gateways/fixtures/agents");
    let text = fs::read_to_string(folder.join(format!("{agent}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

impl SettingsFile {
    /// Adds the settings, with these values for the placeholders.
    pub fn add(&self, scratch: &mut ScratchHome, values: &[(&str, Value)]) {
        scratch.arguments.extend(self.arguments.iter().cloned());
        let variable = |(name, value): (&String, &Value)| {
            (name.clone(), value.as_str().unwrap_or_default().to_owned())
        };
        scratch.variables.extend(self.variables.iter().map(variable));
        let text = fs::read_to_string(scratch.home().join(&self.file)).unwrap_or_default();
        let text = if self.append.is_empty() {
            let mut all: Map<String, Value> =
                if text.is_empty() { Map::new() } else { serde_json::from_str(&text).unwrap() };
            let added = self.settings.iter().map(|(k, v)| (k.clone(), filled(v.clone(), values)));
            all.extend(added);
            Value::Object(all).to_string()
        } else {
            let mut added = self.append.clone();
            for (name, value) in values {
                added = added.replace(name, value.as_str().unwrap_or_default());
            }
            text + &added
        };
        scratch.write(&self.file, &text).unwrap();
    }
}

/// A value with its placeholders filled in.
fn filled(value: Value, values: &[(&str, Value)]) -> Value {
    match value {
        Value::String(text) => {
            let found = values.iter().find(|(name, _)| *name == text);
            found.map_or(Value::String(text), |(_, value)| value.clone())
        }
        Value::Array(items) => items.into_iter().map(|item| filled(item, values)).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, filled(value, values))).collect()
        }
        other => other,
    }
}

/// Prints what each agent sends to its hook, as the source of `events` in a new fixture. Session,
/// folder and command are replaced by `s`, `/srv` and `COMMAND` there.
#[test]
#[ignore = "records fixtures: cargo test -p proofs --test agents record -- --ignored --nocapture"]
fn record_events() {
    let _alone = alone();
    let Some(program) = countersign() else { return };
    for live in live_agents().filter(|live| one_of("AGENT", live.agent.name)) {
        let log = tempfile::NamedTempFile::new().unwrap();
        let allow = (live.agent.hook.reply)(&HookAnswer::Pass).out;
        let script = format!(
            "#!/bin/sh\n{{ cat; echo; }} >>{}\nprintf %s '{allow}'\n",
            log.path().display()
        );
        let set_up = |scratch: &mut _| {
            install(live, scratch, &program);
            replace(scratch, Some(&script));
        };
        if run_agent(live, HARM, None, set_up).is_some() {
            let events = fs::read_to_string(log.path()).unwrap();
            println!("{} {:?}:\n{events}", live.agent.name, live.agent.tested_version);
        }
    }
}
