//! A snapshot as a row of the list, and errors in one line.

use std::path::PathBuf;

use countersign_snapshot::{PathChange, SnapshotError, SnapshotRecord, changes, encode_path};
use serde_json::json;

use crate::failure::Failure;

/// The longest name or summary that is shown.
pub const LONGEST: usize = 160;

/// The files that a call changed; the paths that it names where its end was not recorded.
pub fn files(record: &SnapshotRecord) -> Vec<PathBuf> {
    match &record.after {
        Some(after) => changes(&record.before, &after.tree)
            .into_iter()
            .filter(PathChange::is_visible)
            .map(|change| change.path)
            .collect(),
        None => record.root_paths(),
    }
}

/// A snapshot as JSON, without contents.
pub fn row(record: &SnapshotRecord) -> serde_json::Value {
    let files: Vec<String> = files(record).iter().map(|path| encode_path(path)).collect();
    json!({
        "id": record.id,
        "at_ms": record.at_ms,
        "agent": record.label.agent,
        "session": record.label.session,
        "tool": record.label.tool,
        "summary": record.label.summary,
        "files": files,
        "end_recorded": record.after.is_some(),
        "undo_of": record.label.undo_of,
        "undone_at_ms": record.undone_at_ms,
    })
}

/// The error in one line.
pub fn failure(error: &SnapshotError) -> Failure {
    Failure::Input(crate::engine::sanitize(&error.to_string(), 2_000))
}
