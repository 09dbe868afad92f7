//! Changes of delegated tasks: taken, replaced, answered. Each is one transaction.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::task_file::{TaskFile, TaskFileError, WrittenChange};
use crate::task_push::{self, PushConfigRow};
use crate::tasks::{COLUMNS, TaskAnswer, TaskInsert, TaskLimits, TaskRow, read};

impl TaskFile {
    /// Stores a new task within these limits, with a configuration of push notifications if its
    /// sender wants them. Counting and storing are one step: parallel messages exceed no limit.
    pub fn insert(
        &self,
        row: &TaskRow,
        config: Option<&PushConfigRow>,
        limits: Option<&TaskLimits>,
    ) -> Result<TaskInsert, TaskFileError> {
        insert_in(&mut self.lock(), row, config, limits)
    }

    /// Like `insert`, without waiting for the disk.
    pub fn write_insert(
        &self,
        row: &TaskRow,
        config: Option<&PushConfigRow>,
        limits: Option<&TaskLimits>,
    ) -> Result<(TaskInsert, WrittenChange), TaskFileError> {
        self.write(|connection| insert_in(connection, row, config, limits))
    }

    /// Replaces a task if its version is still `version`; returns whether it was.
    pub fn replace(&self, row: &TaskRow, version: i64) -> Result<bool, TaskFileError> {
        replace_row(&mut self.lock(), row, version)
    }

    /// Like `replace`, without waiting for the disk.
    pub fn write_replace(
        &self,
        row: &TaskRow,
        version: i64,
    ) -> Result<(bool, WrittenChange), TaskFileError> {
        self.write(|connection| replace_row(connection, row, version))
    }

    /// Like `replace`, for a task with a further message of its sender, which counts like a task.
    pub fn answer(
        &self,
        row: &TaskRow,
        version: i64,
        limits: &TaskLimits,
        at: i64,
    ) -> Result<TaskAnswer, TaskFileError> {
        let mut connection = self.lock();
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if let Some(limit) = limits.reached(&change, &row.peer, false)? {
            return Ok(TaskAnswer::Refused(limit));
        }
        if !replace_in(&change, row, version)? {
            return Ok(TaskAnswer::Changed);
        }
        let forgotten = "DELETE FROM answers WHERE peer = ?1 AND arrived < ?2";
        change.execute(forgotten, params![row.peer, limits.day.0])?;
        let added = "INSERT INTO answers (peer, arrived) VALUES (?1, ?2)";
        change.execute(added, params![row.peer, at])?;
        change.commit()?;
        Ok(TaskAnswer::Stored)
    }
}

fn insert_in(
    connection: &mut Connection,
    row: &TaskRow,
    config: Option<&PushConfigRow>,
    limits: Option<&TaskLimits>,
) -> Result<TaskInsert, TaskFileError> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if let Some(message) = &row.message {
        let text = format!("SELECT {COLUMNS} FROM tasks WHERE peer = ?1 AND message = ?2");
        let known = change.query_row(&text, params![row.peer, message], read).optional()?;
        if let Some(known) = known {
            return Ok(TaskInsert::Repeated(Box::new(known)));
        }
    }
    let reached = limits.map(|limits| limits.reached(&change, &row.peer, true)).transpose()?;
    if let Some(limit) = reached.flatten() {
        return Ok(TaskInsert::Refused(limit));
    }
    change.execute(
        &format!("INSERT INTO tasks ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"),
        params![
            row.id,
            row.peer,
            row.context,
            row.message,
            row.state,
            row.ended,
            row.created,
            row.version,
            row.document
        ],
    )?;
    if let Some(config) = config {
        task_push::save(&change, config)?;
    }
    change.commit()?;
    Ok(TaskInsert::Stored)
}

fn replace_row(
    connection: &mut Connection,
    row: &TaskRow,
    version: i64,
) -> Result<bool, TaskFileError> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let changed = replace_in(&change, row, version)?;
    change.commit()?;
    Ok(changed)
}

fn replace_in(change: &Connection, row: &TaskRow, version: i64) -> Result<bool, TaskFileError> {
    let changed = change.execute(
        "UPDATE tasks SET state = ?1, ended = ?2, version = ?3, document = ?4 \
         WHERE id = ?5 AND version = ?6 AND ended = 0",
        params![row.state, row.ended, row.version, row.document, row.id, version],
    )?;
    if changed == 1 {
        task_push::note_change(change, &row.id)?;
    }
    Ok(changed == 1)
}
