//! The MCP proxy: between any MCP client and any MCP server. It forwards every message byte for
//! byte; a `tools/call` waits until the daemon has allowed it.
//!
//! `engine` owns the flow of messages. `stdio` and `http` carry them: each is a
//! `engine::transport::Transport`. `pending_calls` holds the calls that wait for a decision.

mod approval;
mod batch;
mod client_limits;
mod continuation;
mod engine;
mod http;
pub mod install;
mod known_tools;
mod line_reader;
mod message;
mod pending_calls;
mod pins;
mod plan;
mod raw_json;
mod read_request;
mod replies;
mod reporter;
mod resume_token;
mod rewrite;
mod server_message;
mod settings;
mod stdio;
mod task;
mod threads;
mod tool_labels;
mod trust;
mod used_ids;

pub use http::run_http;
pub use settings::{McpError, ProxySettings, server_name_from_command, server_name_from_url};
pub use stdio::run_stdio;
pub use trust::trust;
