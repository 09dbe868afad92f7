//! The file of delegated tasks: how it is opened, and its tables.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
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
pub enum TaskFileError {
    /// The database.
    #[error("the file of delegated tasks: {0}")]
    Database(#[from] rusqlite::Error),
    /// The disk.
    #[error("the log of the file of delegated tasks: {0}")]
    Disk(#[from] std::io::Error),
}

/// A change that was written. It survives the end of this process; a power failure only once
/// [`TaskFile::sync_to`] has returned for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WrittenChange(u64);

/// The file of tasks. One process uses it.
#[derive(Debug)]
pub struct TaskFile {
    connection: Mutex<Connection>,
    /// SQLite's log, which holds every change since the last checkpoint.
    log: PathBuf,
    /// How many changes were written without waiting for the disk, and how many of them are on it.
    written: AtomicU64,
    synced: AtomicU64,
    /// Held while the disk is written; the log once it was opened for that.
    syncing: Mutex<Option<File>>,
}

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
        let mut log = file.as_os_str().to_owned();
        log.push("-wal");
        Ok(TaskFile {
            connection: Mutex::new(connection),
            log: PathBuf::from(log),
            written: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            syncing: Mutex::default(),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change without waiting for the disk: the operating system has it, so the end of
    /// this process loses nothing.
    pub(crate) fn write<T>(
        &self,
        change: impl FnOnce(&mut Connection) -> Result<T, TaskFileError>,
    ) -> Result<(T, WrittenChange), TaskFileError> {
        let mut connection = self.lock();
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let changed = change(&mut connection);
        connection.pragma_update(None, "synchronous", "FULL")?;
        let count = self.written.fetch_add(1, Ordering::Release) + 1;
        Ok((changed?, WrittenChange(count)))
    }

    /// Whether no other thread uses the file now: then a short change or look does not wait.
    pub fn is_free(&self) -> bool {
        self.connection.try_lock().is_ok()
    }

    /// Whether a written change is known to be on the disk.
    pub fn is_synced(&self, change: WrittenChange) -> bool {
        self.synced.load(Ordering::Acquire) >= change.0
    }

    /// Waits until a written change, and all before it, are on the disk. Several callers share one
    /// write of the disk.
    pub fn sync_to(&self, change: WrittenChange) -> Result<(), TaskFileError> {
        if self.is_synced(change) {
            return Ok(());
        }
        let mut syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_synced(change) {
            return Ok(());
        }
        // Read before the disk is written: what comes later is not counted.
        let written = self.written.load(Ordering::Acquire);
        let log = match syncing.take() {
            Some(log) => log,
            None => File::open(&self.log)?,
        };
        log.sync_data()?;
        *syncing = Some(log);
        self.synced.store(written, Ordering::Release);
        Ok(())
    }

    /// Waits until every change is on the disk.
    pub fn sync(&self) -> Result<(), TaskFileError> {
        self.sync_to(WrittenChange(self.written.load(Ordering::Acquire)))
    }
}
