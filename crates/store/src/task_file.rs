//! The file of delegated tasks: how it is opened, and its tables.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS tasks (
    id TEXT PRIMARY KEY,
    peer TEXT NOT NULL,
    context TEXT NOT NULL,
    message TEXT,
    state TEXT NOT NULL,
    ended INTEGER NOT NULL,
    created INTEGER NOT NULL,
    version INTEGER NOT NULL,
    document TEXT NOT NULL,
    UNIQUE (peer, message)
) STRICT;
CREATE INDEX IF NOT EXISTS tasks_of_peer ON tasks (peer, created, id);
CREATE INDEX IF NOT EXISTS open_tasks ON tasks (ended) WHERE ended = 0;
CREATE TABLE IF NOT EXISTS answers (
    peer TEXT NOT NULL,
    arrived INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS answers_of_peer ON answers (peer, arrived);
";
/// `sent` counts the states of the task that were delivered; a task has as many states as its
/// version says. `pending` is set while some are not delivered and the configuration is in use.
const PUSH_SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS push_configs (
    task TEXT NOT NULL REFERENCES tasks (id),
    id TEXT NOT NULL,
    document TEXT NOT NULL,
    sent INTEGER NOT NULL,
    pending INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    due INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    PRIMARY KEY (task, id)
) STRICT;
CREATE INDEX IF NOT EXISTS pending_push ON push_configs (due) WHERE pending = 1;
";

/// When a task changed last, from its document.
pub(crate) const CHANGED: &str = "json_extract(document, '$.steps[#-1].at')";
const CHANGED_INDEX: &str = "CREATE INDEX IF NOT EXISTS tasks_by_change \
     ON tasks (peer, json_extract(document, '$.steps[#-1].at'), id);";

/// Why tasks cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("the file of delegated tasks: {0}")]
pub struct TaskFileError(#[from] rusqlite::Error);

/// The file of tasks. One process uses it.
#[derive(Debug)]
pub struct TaskFile(Mutex<Connection>);

impl TaskFile {
    /// Opens or creates the file. Fails if another process uses it.
    pub fn open(file: &Path) -> Result<TaskFile, TaskFileError> {
        // Tasks may be confidential. If this fails, opening the database says why.
        let _ = OpenOptions::new().create(true).append(true).mode(0o600).open(file);
        let connection = Connection::open(file)?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(SCHEMA)?;
        connection.execute_batch(PUSH_SCHEMA)?;
        connection.execute_batch(CHANGED_INDEX)?;
        Ok(TaskFile(Mutex::new(connection)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
