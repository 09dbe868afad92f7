//! Between agents and the gate: hooks, the MCP proxy, installers and the proof that they block.
//!
//! Gateways decide only that a call that only reads may pass. The daemon decides every other call,
//! through `client`, and every error on the way is a denial.

pub mod agents;
mod daemon_markers;
pub mod hook;
pub mod install;
pub mod live;
pub mod log_reader;
pub mod machine_look;
pub mod mcp;
pub mod programs;
pub mod session_log;
pub mod status;
