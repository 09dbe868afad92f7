//! `countersign undo`: lists what calls changed, and restores files as they were.

pub mod args;
mod rows;
mod show;

use std::process::ExitCode;
use std::time::Duration;

use countersign_client::Time;
use countersign_daemon::config::UndoConfig;
use countersign_gateways::hook::snapshots::CallSnapshots;
use countersign_snapshot::{Retention, SnapshotError, SnapshotStore, encode_path};
use serde_json::json;

use crate::failure::Failure;
use crate::gate::now::{now, relative_time};
use crate::gate::{output, page, reach};
use args::{UndoArgs, UndoWhat};
use rows::{LONGEST, failure, files, row};

const DAY_MS: u64 = 24 * 3_600 * 1_000;
/// The most snapshots that are kept.
const MAX_SNAPSHOTS: usize = 2_000;
/// How many files of a change are listed.
const MAX_FILES: usize = 3;

/// The snapshots of this user, as the configuration says; none if they are switched off.
pub fn snapshots() -> Option<CallSnapshots> {
    let config = reach::config().ok();
    let undo = config.as_ref().map_or_else(UndoConfig::default, |config| config.undo);
    let review = config.and_then(|config| config.rules.review);
    let window = review.map(|review| Duration::from_millis(review.window.0));
    let folder = reach::gateways_folder();
    let snapshots = || CallSnapshots::in_folder(&folder, retention(undo, None));
    undo.snapshots.then(|| snapshots().with_review(window))
}

fn retention(config: UndoConfig, days: Option<u32>) -> Retention {
    Retention {
        age_ms: u64::from(days.unwrap_or(config.keep_days)) * DAY_MS,
        bytes: u64::from(config.keep_mib) << 20,
        count: MAX_SNAPSHOTS,
    }
}

/// Runs the command.
pub fn run(args: &UndoArgs) -> Result<ExitCode, Failure> {
    let config = reach::config()?.undo;
    let snapshots = CallSnapshots::in_folder(&reach::gateways_folder(), retention(config, None));
    let store = snapshots.store();
    match (&args.id, &args.what) {
        (_, Some(UndoWhat::List { all, json })) => list(store, *all, *json),
        (_, Some(UndoWhat::Show { id, json })) => show::show(store, id, *json),
        (_, Some(UndoWhat::Prune { older_than })) => prune(store, retention(config, *older_than)),
        (None, None) => list(store, false, args.json),
        (Some(id), None) if args.dry_run => show::plan(store, id, args.json),
        (Some(id), None) => restore(store, id, args.force, args.json),
    }
}

fn list(store: &SnapshotStore, all: bool, json: bool) -> Result<ExitCode, Failure> {
    let mut records = store.records().map_err(|error| failure(&error))?;
    records.retain(|record| all || record.undone_at_ms.is_none());
    records.reverse();
    if json {
        let rows: Vec<serde_json::Value> = records.iter().map(row).collect();
        return output::json(&rows);
    }
    if records.is_empty() {
        return output::line("Nothing to undo.");
    }
    output::say(|out, paint| {
        let now = now();
        for record in &records {
            let time = Time::from_millis(i64::try_from(record.at_ms).unwrap_or(i64::MAX));
            let undone = if record.undone_at_ms.is_some() { ", undone" } else { "" };
            let held = record.is_held(u64::try_from(now.millis()).unwrap_or(0));
            let review = if held { ", under review" } else { "" };
            let agent = page::safe(&record.label.agent, LONGEST);
            let when = relative_time(time, now);
            writeln!(out, "{}  {agent}, {when}{undone}{review}", paint.strong(&record.id))?;
            writeln!(out, "  {}", page::safe(&record.label.summary, LONGEST))?;
            let files = files(record);
            for path in files.iter().take(MAX_FILES) {
                let path = page::safe(&path.display().to_string(), LONGEST);
                writeln!(out, "  {}", paint.faint(path))?;
            }
            if let Some(more) = files.len().checked_sub(MAX_FILES).filter(|more| *more > 0) {
                writeln!(out, "  {}", paint.faint(format!("and {more} more")))?;
            }
        }
        Ok(())
    })
}

fn restore(store: &SnapshotStore, id: &str, force: bool, json: bool) -> Result<ExitCode, Failure> {
    let now_ms = u64::try_from(now().millis()).unwrap_or(0);
    let report = match store.restore(id, force, now_ms) {
        Err(SnapshotError::Conflicts(paths)) => return show::conflicts(&paths, json),
        report => report.map_err(|error| failure(&error))?,
    };
    if json {
        let paths: Vec<String> = report.restored.iter().map(|path| encode_path(path)).collect();
        return output::json(&json!({ "restored": paths, "redo": report.redo }));
    }
    output::say(|out, _| {
        for path in &report.restored {
            writeln!(out, "restored {}", page::safe(&path.display().to_string(), LONGEST))?;
        }
        match &report.redo {
            Some(redo) => writeln!(out, "`countersign undo {redo}` brings back what was there.")?,
            None => writeln!(out, "Nothing to restore: everything is as before the call.")?,
        }
        Ok(())
    })
}

fn prune(store: &SnapshotStore, retention: Retention) -> Result<ExitCode, Failure> {
    let now_ms = u64::try_from(now().millis()).unwrap_or(0);
    let pruned = store.prune(retention, now_ms).map_err(|error| failure(&error))?;
    let (removed, kib, left) = (pruned.snapshots, pruned.bytes >> 10, pruned.left);
    output::line(&format!("Removed {removed} snapshots and {kib} KiB; {left} snapshots are left."))
}
