//! Between agents and the gate: hooks, the MCP proxy, installers and the proof that they block.
//!
//! Nothing in here decides anything. A call that is harmless by the judgement of `core` passes;
//! every other one is put to the daemon through `client`; whatever goes wrong on the way is a no.

pub mod agents;
pub mod hook;
pub mod install;
pub mod live;
pub mod machine_look;
pub mod mcp;
