//! What restoring a snapshot would do, and what would be lost.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::changes::{PathChange, changes};
use crate::record::{SnapshotRecord, SnapshotTree};

/// What a restoration would do.
#[derive(Debug, Clone)]
pub struct RestorePlan {
    /// The snapshot.
    pub record: SnapshotRecord,
    /// What the call changed.
    pub changed: Vec<PathChange>,
    /// What would be restored: `before` is put back in place of `after`, which is there now.
    pub steps: Vec<PathChange>,
    /// Paths of steps that changed again after the call; what is there now would be lost.
    pub conflicts: Vec<PathBuf>,
}

/// The steps that bring back what was there before the call, from what is there now.
pub fn plan(record: SnapshotRecord, after: &SnapshotTree, current: &SnapshotTree) -> RestorePlan {
    let changed = changes(&record.before, after);
    let mut steps: Vec<PathChange> = Vec::new();
    let mut conflicts = BTreeSet::new();
    for change in &changed {
        let now = current.at(&change.path);
        if *now == change.before {
            continue;
        }
        // A restoration creates folders before it sets their modes.
        let unfinished = record.restoring && now.is_folder() && change.before.is_folder();
        let is_known = now.is_same(&change.before) || now.is_same(&change.after);
        if !now.is_absent() && !is_known && !unfinished {
            conflicts.insert(change.path.clone());
        }
        let (path, before) = (change.path.clone(), change.before.clone());
        steps.push(PathChange { path, before, after: now.clone() });
    }
    // What is in a folder that has to go, and was put there after the call.
    let gone = |path: &PathBuf, steps: &[PathChange]| {
        let mut above = steps.iter().filter(|step| path.starts_with(&step.path));
        above.any(|step| step.after.is_folder() && !step.before.is_folder())
    };
    let extra: Vec<PathChange> = current
        .iter()
        .filter(|(path, _)| gone(path, &steps) && !steps.iter().any(|step| step.path == **path))
        .map(|(path, now)| PathChange {
            path: path.clone(),
            before: record.before.at(path).clone(),
            after: now.clone(),
        })
        .collect();
    conflicts.extend(extra.iter().map(|step| step.path.clone()));
    steps.extend(extra);
    steps.sort_by(|a, b| a.path.cmp(&b.path));
    RestorePlan { record, changed, steps, conflicts: conflicts.into_iter().collect() }
}
