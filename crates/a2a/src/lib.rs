//! Delegation between agents: A2A over mutual TLS, through the gate.
//!
//! A peer is whom its certificate names, never what a message says. Every task is stored before it
//! is answered, passes the gate like any other call, runs at most once, and belongs to its sender.

mod artifact;
mod boot;
mod card;
mod card_signature;
mod chain;
mod client;
mod clock;
mod descriptors;
mod dialect;
mod drive;
mod endpoint;
mod error;
mod executor;
mod fleet_files;
mod further;
mod gate;
mod handlers;
mod http;
mod http_answer;
mod http_binding;
mod http_push;
mod list_params;
mod listener;
mod mcp_tool;
mod methods;
mod node;
mod node_report;
mod object;
mod parts;
mod peer;
mod policy;
mod program;
mod push;
mod push_config;
mod push_sender;
mod registry;
mod render;
mod routes;
mod run;
mod server;
mod state;
mod stream;
mod task;
mod task_call;
mod task_changes;
mod task_list;
mod turns;
mod write_timeout;

pub use card::CardSettings;
pub use card_signature::{CardProof, sign_card, verify_card};
pub use client::{DelegationError, OutgoingTask, RemoteAgent, TaskResponse};
pub use endpoint::TaskEndpoint;
pub use executor::TaskExecutor;
pub use fleet_files::{FleetFiles, FleetFilesError};
pub use gate::NodeGate;
pub use http::AgentUrl;
pub use mcp_tool::McpTool;
pub use node::{A2aNode, NodeSettings};
pub use policy::{PeerLimits, PeerPolicies, PeerPolicy, PeerPolicyError};
pub use program::{CHAIN_VARIABLE, TaskProgram};
pub use registry::{KnownAgent, RegistryError, read_registry, resolve_agent, url_variable};
pub use server::{NodeServer, ServeError};
pub use state::TaskState;
