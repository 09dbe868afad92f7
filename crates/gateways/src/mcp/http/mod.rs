//! The proxy before an MCP server that speaks Streamable HTTP; for clients on this machine.

mod client;
mod event_stream;
mod headers;
mod relay;
mod response_body;
mod server;
mod transport;
mod upstream;

pub use server::run_http;
