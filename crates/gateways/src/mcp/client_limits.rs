//! How long each client waits for a call, by its own name. Nothing else depends on that name.

use std::time::Duration;

/// How long an unknown client waits: less than the usual minute.
const DEFAULT_LIMIT: Duration = Duration::from_secs(55);

/// The start of a client's name, and how long it waits in seconds.
const LIMITS: [(&str, u64); 5] = [
    // It gives up after half an hour without a message; over HTTP after five minutes.
    ("claude-code", 1740),
    // `tool_timeout_sec`, which `countersign mcp install` raises.
    ("codex", 290),
    ("gemini-cli", 590),
    ("opencode", 55),
    ("github-copilot", 55),
];

/// The longest deadline of a question, in seconds.
const MAX_DEADLINE: u32 = 24 * 3600;

/// How long the client of this name waits.
pub fn time_limit(name: Option<&str>) -> Duration {
    let name = name.unwrap_or_default().to_ascii_lowercase();
    let known = LIMITS.iter().find(|(start, _)| name.starts_with(start));
    known.map_or(DEFAULT_LIMIT, |(_, seconds)| Duration::from_secs(*seconds))
}

/// How long people have to answer, in seconds; nothing for the default, which is the least: a
/// client that gives up sooner can repeat its call.
pub fn deadline(time_limit: Duration) -> Option<u32> {
    let seconds = u32::try_from(time_limit.as_secs()).unwrap_or(MAX_DEADLINE).min(MAX_DEADLINE);
    (seconds > 300).then_some(seconds)
}
