//! The commands that stand between an agent and the gate.

pub mod args;
pub mod args_mcp;
pub mod hook;
pub mod install;
pub mod mcp;
mod mcp_install;
