//! How long each client waits for a call, by the name it sends. No decision depends on it.

use std::time::Duration;

use crate::agents;
use crate::install::McpClient;

/// The longest deadline that is requested.
const MAX_DEADLINE: u32 = 24 * 3600;

/// How long the client with this name waits.
pub fn patience(name: Option<&str>) -> Duration {
    let name = name.unwrap_or_default().to_ascii_lowercase();
    let is_known =
        |client: &&McpClient| client.protocol_name.is_some_and(|start| name.starts_with(start));
    let known = agents::mcp_clients().find(is_known);
    Duration::from_secs(known.map_or(McpClient::DEFAULT_PATIENCE, |known| known.patience_seconds))
}

/// How long people have to answer: never less than the usual time, because a call can be repeated.
pub fn deadline(patience: Duration) -> Option<u32> {
    let seconds = u32::try_from(patience.as_secs()).unwrap_or(MAX_DEADLINE).min(MAX_DEADLINE);
    (seconds > 300).then_some(seconds)
}
