//! Delegation between agents: A2A over mutual TLS, through the gate.
//!
//! A peer is whom its certificate names, never what a message says. Every task is stored before it
//! is answered, passes the gate like any other call, runs at most once, and belongs to its sender.

mod card;
mod chain;
mod client;
mod drive;
mod error;
mod executor;
mod fleet_files;
mod gate;
mod handlers;
mod http;
mod http_binding;
mod listener;
mod methods;
mod node;
mod object;
mod peer;
mod policy;
mod registry;
mod render;
mod routes;
mod server;
mod state;
mod stream;
mod task;

pub use card::CardSettings;
pub use client::{DelegationError, OutgoingTask, RemoteAgent};
pub use executor::{CHAIN_VARIABLE, TaskProgram};
pub use fleet_files::{FleetFiles, FleetFilesError};
pub use gate::NodeGate;
pub use http::AgentUrl;
pub use node::{A2aNode, NodeSettings};
pub use policy::{PeerLimits, PeerPolicies, PeerPolicy, PeerPolicyError};
pub use registry::{KnownAgent, RegistryError, read_registry, resolve_agent, url_variable};
pub use server::{NodeServer, ServeError};
pub use state::TaskState;
