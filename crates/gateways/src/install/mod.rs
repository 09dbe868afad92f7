//! Installs the gate in an agent's own files and removes it again.
//!
//! An agent's descriptor says which edits it needs; everything else is the same for all agents:
//! the plan that people see first, backups, atomic writes, the record of what was written.

pub mod command;
mod edit;
pub(crate) mod files;
mod follow_up;
pub mod hooks;
pub mod json;
mod mcp_client;
pub mod plan;
pub mod plugin_files;
pub mod record;
mod scope;
pub mod yaml;

pub use command::{GATE_TIMEOUT, HookCommand, MAX_PATIENCE, NOTIFY_TIMEOUT};
pub use edit::{FileEdit, Ownership, Patch, PatchError};
pub use files::InstallError;
pub use follow_up::{FollowUp, no_follow_up};
pub use mcp_client::{McpClient, McpFileFormat, McpTimeoutField};
pub use scope::{InstallScope, is_program};

#[cfg(test)]
mod tests;
