//! How long each client waits for a call, by its own name. People see that name as a label of the
//! agent; nothing else depends on it.

use std::time::Duration;

use crate::agents;
use crate::install::McpClient;

/// The longest deadline that the daemon knows, in seconds: seven days.
const MAX_DEADLINE: u32 = 7 * 24 * 3600;

/// How long the client of this name waits.
pub fn time_limit(name: Option<&str>) -> Duration {
    let name = name.unwrap_or_default().to_ascii_lowercase();
    let is_known =
        |client: &&McpClient| client.protocol_name.is_some_and(|start| name.starts_with(start));
    let known = agents::mcp_clients().find(is_known);
    Duration::from_secs(known.map_or(McpClient::DEFAULT_PATIENCE, |known| known.patience_seconds))
}

/// Whether a client's name can be the label of an agent; the daemon shows no other ones.
pub fn is_label(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=32).contains(&name.len()) && name.chars().all(fits)
}

/// How long people have to answer, in seconds: as long as the operator allows, because a client
/// that gives up sooner can repeat its call.
pub const fn deadline() -> u32 {
    MAX_DEADLINE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_plain_names_are_labels() {
        for name in ["codex-mcp-client", "claude-code", "a.b_c"] {
            assert!(is_label(name), "{name}");
        }
        for name in ["", "a client", "x\u{202e}y", "a\nb", "a@b", &"n".repeat(33)] {
            assert!(!is_label(name), "{name}");
        }
    }
}
