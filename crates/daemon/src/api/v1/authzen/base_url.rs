//! The base URL that the endpoints of this API are named with.

use axum::http::{HeaderMap, header};

use crate::api::Api;

/// The base URL as the caller used it; the host was checked before.
pub fn base_url(api: &Api, headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let scheme = if api.agent_hosts.is_https(headers) { "https" } else { "http" };
    format!("{scheme}://{}", host.unwrap_or("127.0.0.1:6000"))
}
