//! Outgoing connections: one HTTP client with TLS, proxies, checked addresses and deadlines.
//!
//! Channels, witnesses, span export and the MCP proxy's upstream all connect through this crate.
//! It knows nothing about requests, people or the store.

pub mod address;
mod client;
mod connect;
mod error;
mod proxy;
mod time_limit;
mod tls;
mod url;

pub use client::{Client, HttpReply, HttpRequest, MAX_BODY, Options};
pub use connect::connect_tcp;
pub use error::NetError;
pub use proxy::ProxyRules;
pub use tls::{connect_tls, trusted_roots};
pub use url::HttpUrl;
