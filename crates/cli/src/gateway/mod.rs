//! The commands that connect an agent to the gate.

pub mod a2a;
mod a2a_serve;
pub mod args;
pub mod args_a2a;
pub mod args_mcp;
mod edit_view;
mod fleet;
pub mod hook;
pub mod install;
pub mod mcp;
mod mcp_install;
pub mod pki;
mod scopes;
pub mod status;
