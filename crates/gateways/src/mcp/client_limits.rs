//! How long each client waits for a call, by its own name. Nothing else depends on that name.

use std::time::Duration;

use crate::agents;
use crate::install::McpClient;

/// The longest deadline of a question, in seconds.
const MAX_DEADLINE: u32 = 24 * 3600;

/// How long the client of this name waits.
pub fn time_limit(name: Option<&str>) -> Duration {
    let name = name.unwrap_or_default().to_ascii_lowercase();
    let is_known =
        |client: &&McpClient| client.protocol_name.is_some_and(|start| name.starts_with(start));
    let known = agents::mcp_clients().find(is_known);
    Duration::from_secs(known.map_or(McpClient::DEFAULT_PATIENCE, |known| known.patience_seconds))
}

/// How long people have to answer, in seconds; nothing for the default, which is the least: a
/// client that gives up sooner can repeat its call.
pub fn deadline(time_limit: Duration) -> Option<u32> {
    let seconds = u32::try_from(time_limit.as_secs()).unwrap_or(MAX_DEADLINE).min(MAX_DEADLINE);
    (seconds > 300).then_some(seconds)
}
