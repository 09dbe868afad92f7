//! Restores what was there before a call.
//!
//! Only paths that the call changed are touched. A restoration that was interrupted can be
//! repeated: every path is then as before the call, as after it, or absent.

use std::path::PathBuf;

use crate::apply::apply;
use crate::budget::SnapshotLimits;
use crate::capture::Contents;
use crate::changes::PathChange;
use crate::error::SnapshotError;
use crate::plan::{RestorePlan, plan};
use crate::record::{AfterState, SnapshotLabel, SnapshotRecord};
use crate::store::{SnapshotStore, current};
use crate::verify::RecordedSnapshot;

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
        let current = current(&record.root_paths())?;
        Ok(plan(record, &after, &current))
    }

    /// The same for a snapshot that is exactly the recorded one.
    pub fn plan_recorded(&self, recorded: &RecordedSnapshot) -> Result<RestorePlan, SnapshotError> {
        let record = self.recorded(recorded)?;
        let after = self.after_of(&record)?;
        let current = current(&record.root_paths())?;
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
        self.restore_locked(self.find(id)?, force, now_ms)
    }

    /// Restores a snapshot only if it is exactly the recorded one.
    pub fn restore_recorded(
        &self,
        recorded: &RecordedSnapshot,
        force: bool,
        now_ms: u64,
    ) -> Result<RestoreReport, SnapshotError> {
        self.check_private()?;
        let _lock = self.lock_exclusive()?;
        self.restore_locked(self.recorded(recorded)?, force, now_ms)
    }

    fn restore_locked(
        &self,
        found: SnapshotRecord,
        force: bool,
        now_ms: u64,
    ) -> Result<RestoreReport, SnapshotError> {
        let tree = self.after_of(&found)?;
        let current = current(&found.root_paths())?;
        let plan = plan(found, &tree, &current);
        if !force && !plan.conflicts.is_empty() {
            return Err(SnapshotError::Conflicts(plan.conflicts));
        }
        // Nothing is removed before all that is put in its place is known to be whole.
        self.check_contents(plan.steps.iter().map(|step| &step.before))?;
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
