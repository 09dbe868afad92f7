//! Where the sender of a task wants to be told about it: configurations of push notifications, and
//! what of each was delivered.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::task_file::{TaskFile, TaskFileError};

const COLUMNS: &str = "task, id, document, sent, attempts";

/// A configuration of push notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushConfigRow {
    /// The task.
    pub task: String,
    /// Its id, unique for the task.
    pub id: String,
    /// The configuration as JSON.
    pub document: String,
    /// How many states of the task were delivered.
    pub sent: i64,
    /// How often the next one was tried.
    pub attempts: i64,
}

/// What became of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushResult {
    /// The receiver has it.
    Delivered,
    /// It is tried again at this time, in milliseconds since 1970.
    Retry(i64),
    /// The receiver is not told anything any more.
    GivenUp,
}

/// Adds a configuration, or replaces the one with the same id. States up to now are not delivered.
pub(crate) fn save(connection: &Connection, row: &PushConfigRow) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO push_configs (task, id, document, sent, pending, attempts, due, is_open) \
         SELECT id, ?2, ?3, version, 0, 0, 0, 1 FROM tasks WHERE id = ?1 \
         ON CONFLICT (task, id) DO UPDATE SET document = excluded.document, is_open = 1, \
         attempts = 0, due = 0",
        params![row.task, row.id, row.document],
    )?;
    Ok(())
}

/// Notes that a task has a new state.
pub(crate) fn note_change(connection: &Connection, task: &str) -> rusqlite::Result<()> {
    connection
        .execute("UPDATE push_configs SET pending = 1 WHERE task = ?1 AND is_open = 1", [task])?;
    Ok(())
}

impl TaskFile {
    /// Adds a configuration to a task, or replaces the one with the same id, if the task has fewer
    /// than `limit` others; returns whether it did.
    pub fn save_push(&self, row: &PushConfigRow, limit: u32) -> Result<bool, TaskFileError> {
        let connection = self.lock();
        let others: u32 = connection.query_row(
            "SELECT count(*) FROM push_configs WHERE task = ?1 AND id <> ?2",
            params![row.task, row.id],
            |row| row.get(0),
        )?;
        if others >= limit {
            return Ok(false);
        }
        save(&connection, row)?;
        Ok(true)
    }

    /// The configurations of a task.
    pub fn push_configs(&self, task: &str) -> Result<Vec<PushConfigRow>, TaskFileError> {
        let text = format!("SELECT {COLUMNS} FROM push_configs WHERE task = ?1 ORDER BY id");
        let connection = self.lock();
        let mut statement = connection.prepare(&text)?;
        let rows = statement.query_map([task], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Removes a configuration; nothing happens if there is none.
    pub fn delete_push(&self, task: &str, id: &str) -> Result<(), TaskFileError> {
        self.lock().execute("DELETE FROM push_configs WHERE task = ?1 AND id = ?2", [task, id])?;
        Ok(())
    }

    /// The configuration that is due first, which is nobody else's until `lease`.
    pub fn take_push(&self, now: i64, lease: i64) -> Result<Option<PushConfigRow>, TaskFileError> {
        let text = format!(
            "UPDATE push_configs SET due = ?2 WHERE rowid = (SELECT rowid FROM push_configs \
             WHERE pending = 1 AND due <= ?1 ORDER BY due LIMIT 1) RETURNING {COLUMNS}"
        );
        Ok(self.lock().query_row(&text, params![now, lease], read).optional()?)
    }

    /// When the next configuration is due.
    pub fn next_push(&self) -> Result<Option<i64>, TaskFileError> {
        let text = "SELECT min(due) FROM push_configs WHERE pending = 1";
        Ok(self.lock().query_row(text, [], |row| row.get(0))?)
    }

    /// Records what became of a delivery of the state after `row.sent`.
    pub fn finish_push(
        &self,
        row: &PushConfigRow,
        result: PushResult,
    ) -> Result<(), TaskFileError> {
        let (task, id, sent) = (&row.task, &row.id, row.sent);
        let connection = self.lock();
        match result {
            PushResult::Delivered => connection.execute(
                "UPDATE push_configs SET sent = ?3 + 1, attempts = 0, due = 0, \
                 pending = (SELECT version FROM tasks WHERE tasks.id = task) > ?3 + 1 \
                 WHERE task = ?1 AND id = ?2 AND sent = ?3",
                params![task, id, sent],
            )?,
            PushResult::Retry(due) => connection.execute(
                "UPDATE push_configs SET attempts = attempts + 1, due = ?4 \
                 WHERE task = ?1 AND id = ?2 AND sent = ?3",
                params![task, id, sent, due],
            )?,
            PushResult::GivenUp => connection.execute(
                "UPDATE push_configs SET is_open = 0, pending = 0 WHERE task = ?1 AND id = ?2",
                params![task, id],
            )?,
        };
        Ok(())
    }

    /// Makes what was being delivered when the process stopped due again.
    pub fn resume_push(&self) -> Result<(), TaskFileError> {
        self.lock().execute("UPDATE push_configs SET due = 0 WHERE pending = 1", [])?;
        Ok(())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<PushConfigRow> {
    Ok(PushConfigRow {
        task: row.get(0)?,
        id: row.get(1)?,
        document: row.get(2)?,
        sent: row.get(3)?,
        attempts: row.get(4)?,
    })
}
