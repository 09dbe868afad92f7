//! Everything that Countersign knows about one agent: each agent's file fills in one descriptor.

use std::ops::Deref;
use std::path::PathBuf;

use countersign_json::Value;

use super::live_test::LiveTest;
use super::protocol::{HookAnswer, HookEvent, HookInputError, HookReply};
use crate::install::{FileEdit, FollowUp, HookCommand, InstallError, InstallScope, McpClient};
use crate::session_log::SessionLogFormat;

/// The part of an agent that its hook needs. The small program is linked with this part only.
#[derive(Debug)]
pub struct HookAgent {
    /// The name on the command line, in rules and on the cards that people see.
    pub name: &'static str,
    /// Other names that the command line accepts.
    pub aliases: &'static [&'static str],
    /// The product's name.
    pub title: &'static str,
    /// Its name in the tables of tools that mean something only in this agent.
    pub host: &'static str,
    /// The variables in which it gives its hooks the project's folder, the best one first.
    pub project_variables: &'static [&'static str],
    /// How its hook receives calls and answers them.
    pub hook: HookProtocol,
    /// Whether a plugin inside the agent starts the hook, possibly in another directory.
    pub runs_in_plugin: bool,
}

impl HookAgent {
    /// Whether this is the agent's name or one of its aliases.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// One agent. Install, status, doctor, help and documentation read this and nothing else.
#[derive(Debug)]
pub struct AgentDescriptor {
    /// Its names and its hook.
    pub hook_agent: &'static HookAgent,
    /// The agent's programs, the one to start first.
    pub programs: &'static [&'static str],
    /// The files of our plugin, for an agent that loads code instead of starting a hook.
    pub plugin: Option<&'static [PluginFile]>,
    /// Which files the installer edits.
    pub setup: HookSetup,
    /// What the person has to do after an installation.
    pub restart_hint: &'static str,
    /// What the agent itself makes impossible; printed after an installation.
    pub limits: &'static [&'static str],
    /// The version that the live tests ran with; none if it was never run.
    pub tested_version: Option<&'static str>,
    /// How to start it without a network.
    pub live: Option<LiveTest>,
    /// Its files that list MCP servers, by client name.
    pub mcp_clients: &'static [McpClient],
    /// The key of its own call id in the `_meta` of MCP requests, if it sends one.
    pub mcp_call_id: Option<&'static str>,
    /// The logs that it keeps of its sessions, if they can be read.
    pub session_log: Option<&'static SessionLogFormat>,
}

/// A file of a plugin: its name and its text.
pub type PluginFile = (&'static str, &'static str);

/// The format that an agent and its hook use.
#[derive(Debug)]
pub struct HookProtocol {
    /// Reads the hook's standard input.
    pub parse: fn(&Value<'_>) -> Result<HookEvent, HookInputError>,
    /// Writes an answer in the format that the agent reads.
    pub reply: fn(&HookAnswer) -> HookReply,
    /// What the agent sends before a call without arguments, given its tool and its session.
    pub announce: fn(&str, &str) -> serde_json::Value,
}

/// Where and how the gate is installed. Pure, except for questions that only the agent can answer.
#[derive(Debug)]
pub struct HookSetup {
    /// The agent's own folder; if it exists, the agent is in use.
    pub folder: fn(&InstallScope) -> PathBuf,
    /// Whether a single project can have its own gate.
    pub per_project: bool,
    /// The edits that install the gate, in the order in which they are written.
    pub edits: fn(&InstallScope, &HookCommand) -> Vec<FileEdit>,
    /// Further edits that are known only after the first ones were written.
    pub follow_up: fn(&InstallScope, &HookCommand) -> FollowUp,
    /// Why an installed gate has no effect; empty if no reason is known.
    pub faults: fn(&InstallScope, &HookCommand) -> Vec<String>,
    /// How long the agent waits for an answer before a call, in seconds.
    pub timeout_seconds: u32,
}

impl Deref for AgentDescriptor {
    type Target = HookAgent;

    fn deref(&self) -> &HookAgent {
        self.hook_agent
    }
}

impl AgentDescriptor {
    /// The edits that install the gate in a scope.
    pub fn file_edits(
        &self,
        scope: &InstallScope,
        command: &HookCommand,
    ) -> Result<Vec<FileEdit>, InstallError> {
        let title = self.title;
        if scope.project().is_some() && !self.setup.per_project {
            let why = "can only be gated for your whole user account; run it without --project";
            return Err(InstallError::Unsupported(format!("{title} {why}")));
        }
        // Registering a plugin whose files are missing would break the agent or protect nothing.
        if self.plugin.is_some_and(<[PluginFile]>::is_empty) {
            let why = "this build does not contain the plugin for";
            return Err(InstallError::Unsupported(format!("{why} {title}")));
        }
        Ok((self.setup.edits)(scope, command))
    }
}
