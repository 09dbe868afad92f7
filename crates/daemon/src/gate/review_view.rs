//! What a call under review changed, line by line and without secrets, for people.

use std::path::PathBuf;

use countersign_redact::redact_text;
use countersign_snapshot::diff::{DiffLine, diff};
use countersign_snapshot::{EntryState, PathChange, SnapshotError, SnapshotStore, encode_path};
use countersign_store::StoredReview;
use countersign_text::sanitize::sanitize_within;
use serde::Serialize;

use super::state::Gate;

/// The most files that are shown.
const MAX_FILES: usize = 50;
/// The largest file whose lines are compared.
const MAX_TEXT: u64 = 1 << 20;
/// The most lines of one file.
const MAX_LINES: usize = 400;
/// The longest line.
const LONGEST_LINE: usize = 400;

/// What a call under review changed.
#[derive(Debug, Clone)]
pub struct ReviewChanges {
    /// The files.
    pub changes: Vec<ChangedFileView>,
    /// How many more files changed.
    pub more: usize,
    /// Files that changed again after the call.
    pub conflicts: Vec<PathBuf>,
    /// Whether the files were restored already.
    pub undone: bool,
}

/// One file that changed.
#[derive(Debug, Clone, Serialize)]
pub struct ChangedFileView {
    /// Its path.
    pub path: String,
    /// `created`, `deleted` or `changed`.
    pub change: &'static str,
    /// What was there before, in words.
    pub before: String,
    /// What was there after, in words.
    pub after: String,
    /// The difference; none for a binary or large file.
    pub lines: Option<Vec<DiffRow>>,
}

/// One line of a difference.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct DiffRow {
    /// `+`, `-`, a space, or `…` where lines are left out.
    pub sign: &'static str,
    /// The text.
    pub text: String,
}

/// What a call under review changed. Fails if its snapshot is not as it was recorded.
pub async fn change_view(
    gate: &Gate,
    review: &StoredReview,
) -> Result<ReviewChanges, SnapshotError> {
    let plan = gate.review_plan(review).await?;
    let folder = review.folder.clone();
    let id = review.snapshot.clone();
    let work = move || {
        let store = SnapshotStore::at(folder.into());
        let visible: Vec<&PathChange> =
            plan.changed.iter().filter(|change| change.is_visible()).collect();
        let changes = visible.iter().take(MAX_FILES).map(|change| file(&store, change)).collect();
        let more = visible.len().saturating_sub(MAX_FILES);
        let undone = plan.record.undone_at_ms.is_some();
        ReviewChanges { changes, more, conflicts: plan.conflicts, undone }
    };
    tokio::task::spawn_blocking(work).await.map_err(|_| SnapshotError::NotFound(id))
}

fn file(store: &SnapshotStore, change: &PathChange) -> ChangedFileView {
    let word = match (&change.before, &change.after) {
        (EntryState::Absent, _) => "created",
        (_, EntryState::Absent) => "deleted",
        _ => "changed",
    };
    let texts = (text(store, &change.before), text(store, &change.after));
    let lines = if let (Some(old), Some(new)) = texts { Some(rows(&old, &new)) } else { None };
    ChangedFileView {
        path: shown(&encode_path(&change.path)),
        change: word,
        before: about(&change.before),
        after: about(&change.after),
        lines,
    }
}

fn rows(old: &str, new: &str) -> Vec<DiffRow> {
    let row = |line: &DiffLine<'_>| {
        let (sign, text) = match line {
            DiffLine::Same(text) => (" ", *text),
            DiffLine::Out(text) => ("-", *text),
            DiffLine::In(text) => ("+", *text),
            DiffLine::Gap => ("…", ""),
        };
        DiffRow { sign, text: shown(text) }
    };
    let lines = diff(old, new);
    let mut rows: Vec<DiffRow> = lines.iter().take(MAX_LINES).map(row).collect();
    if lines.len() > MAX_LINES {
        let text = format!("{} more lines: countersign undo show", lines.len() - MAX_LINES);
        rows.push(DiffRow { sign: "…", text });
    }
    rows
}

fn shown(text: &str) -> String {
    sanitize_within(text, LONGEST_LINE).text.into_owned()
}

fn about(state: &EntryState) -> String {
    match state {
        EntryState::Absent => "nothing".to_owned(),
        EntryState::File { size, meta, .. } => {
            format!("file, {size} bytes, mode {:o}", meta.mode)
        }
        EntryState::Folder { meta } => format!("folder, mode {:o}", meta.mode),
        EntryState::Symlink { target, .. } => format!("symlink to {}", shown(target)),
    }
}

/// The text of a file without secrets; the empty text for what is no file. None for a binary or
/// large file, or one whose content is not stored.
fn text(store: &SnapshotStore, state: &EntryState) -> Option<String> {
    let EntryState::File { sha256, .. } = state else { return Some(String::new()) };
    let text = String::from_utf8(store.content(sha256, MAX_TEXT)?).ok()?;
    (!text.contains('\0')).then(|| redact_text(&text).text.into_owned())
}
