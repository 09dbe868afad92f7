//! Tests that a gate blocks: a forbidden call through the installed command, or a real agent
//! against a stand-in model.
//!
//! Each agent runs in a scratch home with an empty environment and its own permission prompts
//! switched off, so that only the gate can stop the proposed call.

pub mod broken_hooks;
mod dialect;
mod http;
pub mod model;
pub mod probe;
pub mod probe_mcp;
mod process;
pub mod run;
