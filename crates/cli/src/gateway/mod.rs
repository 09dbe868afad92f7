//! The commands that stand between an agent and the gate.

pub mod args;
pub mod hook;
pub mod install;
pub mod mcp;
