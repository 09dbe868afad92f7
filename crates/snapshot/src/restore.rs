//! Restores what was there before a call.
//!
//! Only paths that the call changed are touched. A restoration that was interrupted can be repeated:
//! every path is then as before the call, as after it, or absent.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::apply::apply;
use crate::budget::SnapshotLimits;
use crate::capture::Contents;
use crate::changes::{PathChange, changes};
use crate::error::SnapshotError;
use crate::record::{AfterState, SnapshotLabel, SnapshotRecord, SnapshotTree};
use crate::store::SnapshotStore;

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

/// What a restoration did.
#[derive(Debug, Clone)]
pub struct RestoreReport {
    /// The restored paths, without those of which only the time differed.
    pub restored: Vec<PathBuf>,
    /// The snapshot of what was there before the restoration.
    pub redo: Option<String>,
}

impl SnapshotStore {
    /// What restoring a snapshot would do now.
    pub fn plan(&self, id: &str) -> Result<RestorePlan, SnapshotError> {
        let record = self.find(id)?;
        let after = self.after_of(&record)?;
        let current = self.current(&record.root_paths())?;
        Ok(plan(record, &after, &current))
    }

    /// Restores a snapshot. Files that changed again after the call are only overwritten if
    /// `force`.
    pub fn restore(
        &self,
        id: &str,
        force: bool,
        now_ms: u64,
    ) -> Result<RestoreReport, SnapshotError> {
        self.prepare()?;
        let _lock = self.lock_exclusive()?;
        let found = self.find(id)?;
        let tree = self.after_of(&found)?;
        let current = self.current(&found.root_paths())?;
        let plan = plan(found, &tree, &current);
        if !force && !plan.conflicts.is_empty() {
            return Err(SnapshotError::Conflicts(plan.conflicts));
        }
        let at_ms = plan.record.after.as_ref().map_or(now_ms, |after| after.at_ms);
        let after = Some(AfterState { at_ms, tree });
        let started = SnapshotRecord { after, restoring: true, ..plan.record.clone() };
        let redo = self.redo_snapshot(&plan, now_ms)?;
        self.save(&started)?;
        apply(&self.objects, &started, &plan, &current)?;
        let done = SnapshotRecord { restoring: false, undone_at_ms: Some(now_ms), ..started };
        self.save(&done)?;
        if let Some(redo) = &redo {
            self.record_after_locked(redo, SnapshotLimits::FOR_PERSON, now_ms)?;
        }
        let visible = plan.steps.into_iter().filter(PathChange::is_visible);
        let restored = visible.map(|step| step.path).collect();
        Ok(RestoreReport { restored, redo: redo.map(|record| record.id) })
    }

    /// What is there now, so that the restoration itself can be undone and nothing is lost.
    fn redo_snapshot(
        &self,
        plan: &RestorePlan,
        now_ms: u64,
    ) -> Result<Option<SnapshotRecord>, SnapshotError> {
        let record = &plan.record;
        let is_redo = |other: &SnapshotRecord| {
            other.label.undo_of.as_ref() == Some(&record.id) && other.after.is_none()
        };
        if record.restoring
            && let Some(first) = self.records()?.into_iter().find(is_redo)
        {
            return Ok(Some(first));
        }
        if plan.steps.is_empty() {
            return Ok(None);
        }
        let label = SnapshotLabel {
            agent: "you".to_owned(),
            session: None,
            tool: "undo".to_owned(),
            summary: format!("Undo {}: {}", record.id, record.label.summary),
            call_key: String::new(),
            undo_of: Some(record.id.clone()),
        };
        let (roots, contents) = (record.root_paths(), Contents::Store(&self.objects));
        let taken =
            self.take_locked(label, &roots, contents, SnapshotLimits::FOR_PERSON, now_ms)?;
        Ok(Some(taken))
    }
}

fn plan(record: SnapshotRecord, after: &SnapshotTree, current: &SnapshotTree) -> RestorePlan {
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
