//! The time left until the deadline, as a line and in words.

use countersign_client::{RequestRecord, Time};

use crate::engine;

/// The time left as a line of cells: the remaining and the elapsed part.
pub fn thread(request: &RequestRecord, now: Time, cells: usize) -> (String, String) {
    let whole = request.deadline.millis().saturating_sub(request.created.millis()).max(1);
    let left = request.deadline.millis().saturating_sub(now.millis()).clamp(0, whole);
    let cells_wide = i128::try_from(cells).unwrap_or(0);
    // Rounded up: the last cell disappears at the deadline.
    let full = (i128::from(left) * cells_wide + i128::from(whole) - 1) / i128::from(whole);
    let full = usize::try_from(full).unwrap_or(0).min(cells);
    ("━".repeat(full), "─".repeat(cells - full))
}

/// The time left in words that do not jump.
pub fn in_words(request: &RequestRecord, now: Time) -> String {
    let seconds = request.deadline.millis().saturating_sub(now.millis()) / 1000;
    match u64::try_from(seconds) {
        Err(_) => "now".to_owned(),
        Ok(seconds) if seconds < 120 => format!("in {} s", (seconds / 10 + 1) * 10),
        Ok(seconds) => format!("in {}", engine::duration(seconds)),
    }
}
