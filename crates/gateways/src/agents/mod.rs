//! The agents that can be gated. One file per agent; everything else iterates over the list.

mod descriptor;
mod fields;
pub mod live_test;
mod plugin_protocol;
mod pre_tool_use;
mod protocol;
pub mod tool_call;
mod vscode;
mod windsurf;

use crate::install::McpClient;

pub use descriptor::{AgentDescriptor, HookAgent, HookProtocol, HookSetup, PluginFile};
pub use protocol::{CompletedCall, HookAnswer, HookEvent, HookInputError, HookReply, ProposedCall};

/// Declares the modules of the agents, the list of their descriptors and that of their hooks.
macro_rules! agents {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*

        /// Every agent, in the order of lists and tables.
        pub const AGENTS: [&AgentDescriptor; [$(stringify!($module)),*].len()] =
            [$(&$module::AGENT),*];

        const HOOK_AGENTS: [&HookAgent; AGENTS.len()] = [$(&$module::HOOK),*];
    };
}

agents! {
    claude,
    codex,
    gemini,
    cursor,
    copilot,
    opencode,
    openclaw,
    hermes,
}

/// Programs that use MCP servers and have no hook.
const MCP_CLIENTS: [&McpClient; 2] = [&vscode::MCP_CLIENT, &windsurf::MCP_CLIENT];

/// The agent with this name or alias.
pub fn named(name: &str) -> Option<&'static AgentDescriptor> {
    AGENTS.into_iter().find(|agent| agent.is_named(name))
}

/// The same for its hook alone.
pub fn hook_named(name: &str) -> Option<&'static HookAgent> {
    HOOK_AGENTS.into_iter().find(|agent| agent.is_named(name))
}

/// The name of the agent in examples.
pub fn first_agent() -> &'static str {
    AGENTS.first().map_or("", |agent| agent.name)
}

/// The names of all agents, with this text before the last one.
pub fn names(last: &str) -> String {
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
    match names.split_last() {
        Some((end, rest)) => format!("{}{last}{end}", rest.join(", ")),
        None => String::new(),
    }
}

/// Every program whose list of MCP servers is known.
pub fn mcp_clients() -> impl Iterator<Item = &'static McpClient> {
    AGENTS.into_iter().flat_map(|agent| agent.mcp_clients).chain(MCP_CLIENTS)
}

/// The MCP client with this name.
pub fn mcp_client(name: &str) -> Option<&'static McpClient> {
    mcp_clients().find(|client| client.name == name)
}

#[cfg(test)]
pub(crate) mod tests;
