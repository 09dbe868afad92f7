//! The catalogue entry of a tool, by the names that hosts and servers give it.

use super::name;
use super::table::{self, Entry};
use crate::name_lists::HOST_TOOL_FAMILIES;
use countersign_json::Value;
use countersign_types::tier::Tier;

/// The entry of a name, and whether it is surely that tool.
pub(super) fn find_entry(
    host: Option<&str>,
    name: &str,
    arguments: &Value<'_>,
) -> Option<(&'static Entry, bool)> {
    if let Some(host) = host
        && let Some(entry) = table::host_tool(host, name, arguments)
    {
        return Some((entry, true));
    }
    // Most names are plain small words already.
    if name.bytes().all(|b| b.is_ascii_lowercase())
        && let Some((entry, _)) = table::tool(name, arguments)
    {
        return Some((entry, true));
    }
    let whole = name::compact(name);
    let bare = whole.strip_prefix("mcp").unwrap_or(&whole);
    let parts = name::parts(name);
    if let Some((entry, served)) =
        table::tool(&whole, arguments).or_else(|| table::tool(bare, arguments))
    {
        return Some((entry, served || parts.server.is_empty()));
    }
    if parts.tool.len() == name.len() {
        return None;
    }
    let own = name::compact(parts.tool);
    if let Some((entry, _)) = table::tool(&format!("{}{own}", parts.server), arguments) {
        return Some((entry, true));
    }
    table::tool(&own, arguments)
        .filter(|(entry, _)| parts.server.is_empty() || !is_of_the_host(entry))
        .map(|(entry, _)| (entry, parts.server.is_empty()))
}

/// Whether a tool only changes the state of its agent (`submit`, `finish`). A server's tool of that
/// name does something else.
fn is_of_the_host(entry: &Entry) -> bool {
    let family = entry.code.split('.').nth(1).unwrap_or_default();
    let is_host = HOST_TOOL_FAMILIES.contains(&family);
    is_host && entry.tier == Tier::Safe && entry.args.is_empty()
}
