//! What a call changed, and what restoring would change, as differences.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use countersign_snapshot::diff::diff;
use countersign_snapshot::{EntryState, PathChange, RestorePlan, SnapshotStore, encode_path};
use serde_json::json;

use super::rows::{LONGEST, failure, row};
use crate::diff_view::print_diff;
use crate::failure::Failure;
use crate::gate::{output, page};
use crate::terminal::Paint;

/// The largest file whose lines are compared.
const MAX_TEXT: u64 = 1 << 20;

/// Shows what the call changed.
pub fn show(store: &SnapshotStore, id: &str, json: bool) -> Result<ExitCode, Failure> {
    let plan = store.plan(id).map_err(|error| failure(&error))?;
    if json {
        return output::json(&document(&plan, &plan.changed));
    }
    output::say(|out, paint| {
        writeln!(out, "{}", paint.strong(page::safe(&plan.record.label.summary, LONGEST)))?;
        if plan.record.after.is_none() {
            writeln!(out, "The end of the call was not recorded; this is what is there now.")?;
        }
        for change in plan.changed.iter().filter(|change| change.is_visible()) {
            print_change(out, paint, store, change)?;
        }
        warn(out, &plan.conflicts)
    })
}

/// Shows what restoring would change now.
pub fn plan(store: &SnapshotStore, id: &str, json: bool) -> Result<ExitCode, Failure> {
    let plan = store.plan(id).map_err(|error| failure(&error))?;
    if json {
        return output::json(&document(&plan, &plan.steps));
    }
    output::say(|out, paint| {
        let steps: Vec<&PathChange> = plan.steps.iter().filter(|step| step.is_visible()).collect();
        if steps.is_empty() {
            writeln!(out, "Nothing to restore: everything is as before the call.")?;
        }
        for step in steps {
            let back = PathChange {
                path: step.path.clone(),
                before: step.after.clone(),
                after: step.before.clone(),
            };
            print_change(out, paint, store, &back)?;
        }
        warn(out, &plan.conflicts)
    })
}

/// Refuses to overwrite what changed again after the call.
pub fn conflicts(paths: &[PathBuf], json: bool) -> Result<ExitCode, Failure> {
    if json {
        output::json(&json!({ "conflicts": texts(paths) }))?;
    } else {
        output::say(|out, _| {
            warn(out, paths)?;
            writeln!(out, "Nothing was restored. --force restores these files too.")?;
            Ok(())
        })?;
    }
    Ok(ExitCode::FAILURE)
}

fn warn(out: &mut dyn Write, conflicts: &[PathBuf]) -> Result<(), Failure> {
    if conflicts.is_empty() {
        return Ok(());
    }
    writeln!(out, "Changed again after the call; what is there now would be replaced:")?;
    for path in conflicts {
        writeln!(out, "  {}", shown(path))?;
    }
    Ok(())
}

fn texts(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| encode_path(path)).collect()
}

fn shown(path: &Path) -> String {
    page::safe(&path.display().to_string(), LONGEST)
}

fn document(plan: &RestorePlan, list: &[PathChange]) -> serde_json::Value {
    let visible = list.iter().filter(|change| change.is_visible());
    let change = |change: &PathChange| {
        json!({
            "path": encode_path(&change.path),
            "before": change.before,
            "after": change.after,
        })
    };
    let mut value = row(&plan.record);
    if let Some(members) = value.as_object_mut() {
        members.insert("changes".to_owned(), visible.map(change).collect());
        members.insert("conflicts".to_owned(), texts(&plan.conflicts).into());
    }
    value
}

fn print_change(
    out: &mut dyn Write,
    paint: Paint,
    store: &SnapshotStore,
    change: &PathChange,
) -> Result<(), Failure> {
    let word = match (&change.before, &change.after) {
        (EntryState::Absent, _) => "created",
        (_, EntryState::Absent) => "deleted",
        _ => "changed",
    };
    writeln!(out, "\n{} ({word})", paint.strong(shown(&change.path)))?;
    for (sign, state) in [("-", &change.before), ("+", &change.after)] {
        if let Some(line) = about(state).filter(|_| is_told(change)) {
            writeln!(out, "{sign} {line}")?;
        }
    }
    let (Some(old), Some(new)) = (text(store, &change.before), text(store, &change.after)) else {
        return Ok(writeln!(out, "  (the content is not shown: no text, or longer than 1 MiB)")?);
    };
    Ok(print_diff(out, paint, &diff(&old, &new))?)
}

/// Whether kind or mode differ, so that they are told and not only the content.
fn is_told(change: &PathChange) -> bool {
    let mode = |state: &EntryState| state.meta().map(|meta| meta.mode);
    let both_files = matches!(
        (&change.before, &change.after),
        (EntryState::File { .. }, EntryState::File { .. })
    );
    !both_files || mode(&change.before) != mode(&change.after)
}

fn about(state: &EntryState) -> Option<String> {
    match state {
        EntryState::Absent => None,
        EntryState::File { size, meta, .. } => {
            Some(format!("file, {size} bytes, mode {:o}", meta.mode))
        }
        EntryState::Folder { meta } => Some(format!("folder, mode {:o}", meta.mode)),
        EntryState::Symlink { target, .. } => {
            Some(format!("symlink to {}", page::safe(target, LONGEST)))
        }
    }
}

/// The text of a file; the empty text for what is no file. None for a binary or large file.
fn text(store: &SnapshotStore, state: &EntryState) -> Option<String> {
    let EntryState::File { sha256, .. } = state else { return Some(String::new()) };
    let text = String::from_utf8(store.content(sha256, MAX_TEXT)?).ok()?;
    (!text.contains('\0')).then_some(text)
}
