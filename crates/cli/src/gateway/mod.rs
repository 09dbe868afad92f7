//! The commands that connect an agent to the gate.

pub mod args;
pub mod args_mcp;
mod edit_view;
pub mod hook;
pub mod install;
pub mod mcp;
mod mcp_install;
mod scopes;
pub mod status;
