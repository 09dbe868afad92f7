//! How long each client waits for a call, by the name it gives itself. Nothing else hangs on it.

use std::time::Duration;

/// What a client waits that is not known: less than the usual minute.
const UNKNOWN: Duration = Duration::from_secs(55);

/// The start of a client's name, and what it waits in seconds.
const KNOWN: [(&str, u64); 5] = [
    // It gives up after half an hour without a word; over HTTP after five minutes.
    ("claude-code", 1740),
    // `tool_timeout_sec`, which `countersign mcp install` raises.
    ("codex", 290),
    ("gemini-cli", 590),
    ("opencode", 55),
    ("github-copilot", 55),
];

/// The longest deadline that is asked for.
const LONGEST: u32 = 24 * 3600;

/// How long the client of this name waits.
pub fn patience(name: Option<&str>) -> Duration {
    let name = name.unwrap_or_default().to_ascii_lowercase();
    let known = KNOWN.iter().find(|(start, _)| name.starts_with(start));
    known.map_or(UNKNOWN, |(_, seconds)| Duration::from_secs(*seconds))
}

/// How long people have to answer: never less than the usual, since a call can be repeated.
pub fn deadline(patience: Duration) -> Option<u32> {
    let seconds = u32::try_from(patience.as_secs()).unwrap_or(LONGEST).min(LONGEST);
    (seconds > 300).then_some(seconds)
}
