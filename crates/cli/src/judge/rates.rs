//! Rates with their intervals, as lines for people.

use countersign_judge::Proportion;

/// "2.0 % (0.6 to 7.0 %), 2 of 100".
pub fn in_words(found: Proportion) -> String {
    let (low, high) = found.interval();
    let rate = found.rate().map_or("no rows".to_owned(), |rate| format!("{:.1} %", rate * 100.0));
    let interval = format!("{:.1} to {:.1} %", low * 100.0, high * 100.0);
    format!("{rate} ({interval}), {} of {}", found.hits, found.of)
}

/// The same as JSON.
pub fn as_json(found: Proportion) -> serde_json::Value {
    let (low, high) = found.interval();
    serde_json::json!({
        "hits": found.hits, "of": found.of, "rate": found.rate(), "low": low, "high": high,
    })
}
