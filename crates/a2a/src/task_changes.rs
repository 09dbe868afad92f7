//! Changes of stored tasks, and when they are on the disk.

use std::sync::Arc;

use countersign_store::{TaskFile, TaskFileError, TaskRow, WrittenChange};
use tokio::task::{block_in_place, spawn_blocking};

use crate::clock::now;
use crate::error::A2aError;
use crate::node::{A2aNode, unavailable};
use crate::state::TaskState;
use crate::task::DelegatedTask;

impl A2aNode {
    /// Brings a task to another state, which is on the disk when this returns. `None` if that is
    /// not possible any more.
    pub(crate) fn advance(
        &self,
        id: &str,
        state: TaskState,
        note: &str,
        change: impl Fn(&mut DelegatedTask),
    ) -> Result<Option<DelegatedTask>, A2aError> {
        let changed = self.change(id, (state, note), change, |row, version| {
            let replaced = block_in_place(|| self.tasks.replace(row, version))?;
            Ok((replaced, WrittenChange::default()))
        })?;
        Ok(changed.map(|(task, _)| task))
    }

    /// Like `advance`, without waiting for the disk.
    pub(crate) fn write_advance(
        &self,
        id: &str,
        state: TaskState,
        note: &str,
        change: impl Fn(&mut DelegatedTask),
    ) -> Result<Option<(DelegatedTask, WrittenChange)>, A2aError> {
        self.change(id, (state, note), change, |row, version| {
            self.look(|tasks| tasks.write_replace(row, version))
        })
    }

    fn change(
        &self,
        id: &str,
        (state, note): (TaskState, &str),
        change: impl Fn(&mut DelegatedTask),
        replace: impl Fn(&TaskRow, i64) -> Result<(bool, WrittenChange), TaskFileError>,
    ) -> Result<Option<(DelegatedTask, WrittenChange)>, A2aError> {
        loop {
            let (mut task, version) = self.stored_task(id)?;
            if !task.advance(state, note.to_owned(), now()) {
                return Ok(None);
            }
            change(&mut task);
            let new = task.to_row(version + 1)?;
            let replaced = replace(&new, version);
            let (replaced, written) = replaced.map_err(|error| unavailable(&error))?;
            if replaced {
                self.has_changed(&new);
                return Ok(Some((task, written)));
            }
        }
    }

    /// Uses the file for something that does not wait for the disk. Only while another thread uses
    /// it, the other tasks of this thread move to another one.
    pub(crate) fn look<T>(&self, work: impl FnOnce(&TaskFile) -> T) -> T {
        if self.tasks.is_free() { work(&self.tasks) } else { block_in_place(|| work(&self.tasks)) }
    }

    /// Waits until a change is on the disk.
    pub(crate) async fn sync_to(
        self: &Arc<A2aNode>,
        change: WrittenChange,
    ) -> Result<(), A2aError> {
        if self.tasks.is_synced(change) {
            return Ok(());
        }
        let node = Arc::clone(self);
        let synced = spawn_blocking(move || node.tasks.sync_to(change)).await;
        let synced = synced.map_err(|error| A2aError::Unavailable(error.to_string()))?;
        synced.map_err(|error| unavailable(&error))
    }

    /// Waits until every change is on the disk.
    pub(crate) fn sync(&self) -> Result<(), A2aError> {
        block_in_place(|| self.tasks.sync()).map_err(|error| unavailable(&error))
    }

    /// Brings every change to the disk, without waiting for it.
    pub(crate) fn sync_later(self: &Arc<A2aNode>) {
        let node = Arc::clone(self);
        spawn_blocking(move || {
            if let Err(error) = node.tasks.sync() {
                tracing::error!(%error, "changes of tasks did not reach the disk");
            }
        });
    }

    /// Tells those who wait that a task has a new state, which is stored.
    pub(crate) fn has_changed(&self, row: &TaskRow) {
        self.notify(&row.id, row.version, row.ended);
        self.push.wake();
    }
}
