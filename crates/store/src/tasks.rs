//! Tasks that agents delegated to a node: a file of their own, durable before any answer.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};

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
";
const COLUMNS: &str = "id, peer, context, message, state, ended, created, version, document";

/// Why tasks cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("the file of delegated tasks: {0}")]
pub struct TaskFileError(#[from] rusqlite::Error);

/// One task as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Its id, made by the node.
    pub id: String,
    /// The agent that sent it, by its certificate. Nobody else may read it.
    pub peer: String,
    /// The conversation that it belongs to.
    pub context: String,
    /// The sender's id of the message: a repeated message is the same task.
    pub message: Option<String>,
    /// Its state.
    pub state: String,
    /// Whether the state is final.
    pub ended: bool,
    /// When it arrived, in milliseconds since 1970.
    pub created: i64,
    /// Grows with each change.
    pub version: i64,
    /// The task as JSON.
    pub document: String,
}

/// What became of a new task.
#[derive(Debug, PartialEq, Eq)]
pub enum TaskInsert {
    /// It is stored.
    Stored,
    /// The peer sent the same message before; this is its task.
    Repeated(Box<TaskRow>),
}

/// Which tasks of a peer to list.
#[derive(Debug, Clone, Default)]
pub struct TaskQuery<'a> {
    /// The peer.
    pub peer: &'a str,
    /// Only this conversation.
    pub context: Option<&'a str>,
    /// Only this state.
    pub state: Option<&'a str>,
    /// Only tasks before this one, newest first.
    pub before: Option<&'a str>,
    /// At most this many.
    pub limit: u32,
}

/// How many tasks a peer has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskCounts {
    /// That have not ended.
    pub open: u64,
    /// Since the first time.
    pub minute: u64,
    /// Since the second time.
    pub day: u64,
}

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
        Ok(TaskFile(Mutex::new(connection)))
    }

    /// Stores a new task.
    pub fn insert(&self, row: &TaskRow) -> Result<TaskInsert, TaskFileError> {
        let mut connection = self.lock();
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if let Some(message) = &row.message {
            let text = format!("SELECT {COLUMNS} FROM tasks WHERE peer = ?1 AND message = ?2");
            let known = change.query_row(&text, params![row.peer, message], read).optional()?;
            if let Some(known) = known {
                return Ok(TaskInsert::Repeated(Box::new(known)));
            }
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
        change.commit()?;
        Ok(TaskInsert::Stored)
    }

    /// Replaces a task if its version is still `version`; returns whether it was.
    pub fn replace(&self, row: &TaskRow, version: i64) -> Result<bool, TaskFileError> {
        let changed = self.lock().execute(
            "UPDATE tasks SET state = ?1, ended = ?2, version = ?3, document = ?4 \
             WHERE id = ?5 AND version = ?6 AND ended = 0",
            params![row.state, row.ended, row.version, row.document, row.id, version],
        )?;
        Ok(changed == 1)
    }

    /// One task.
    pub fn get(&self, id: &str) -> Result<Option<TaskRow>, TaskFileError> {
        let text = format!("SELECT {COLUMNS} FROM tasks WHERE id = ?1");
        Ok(self.lock().query_row(&text, [id], read).optional()?)
    }

    /// Tasks of one peer, newest first.
    pub fn list(&self, query: &TaskQuery<'_>) -> Result<Vec<TaskRow>, TaskFileError> {
        let text = format!(
            "SELECT {COLUMNS} FROM tasks WHERE peer = ?1 AND (?2 IS NULL OR context = ?2) \
             AND (?3 IS NULL OR state = ?3) AND (?4 IS NULL OR id < ?4) \
             ORDER BY id DESC LIMIT ?5"
        );
        let connection = self.lock();
        let mut statement = connection.prepare(&text)?;
        let values = params![query.peer, query.context, query.state, query.before, query.limit];
        let rows = statement.query_map(values, read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The tasks that have not ended, oldest first.
    pub fn open_tasks(&self) -> Result<Vec<TaskRow>, TaskFileError> {
        let text = format!("SELECT {COLUMNS} FROM tasks WHERE ended = 0 ORDER BY id");
        let connection = self.lock();
        let mut statement = connection.prepare(&text)?;
        let rows = statement.query_map([], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// How many tasks of a peer have not ended, and how many arrived since two times.
    pub fn counts(&self, peer: &str, minute: i64, day: i64) -> Result<TaskCounts, TaskFileError> {
        let text = "SELECT (SELECT count(*) FROM tasks WHERE peer = ?1 AND ended = 0), \
                    coalesce(sum(created >= ?2), 0), count(*) \
                    FROM tasks WHERE peer = ?1 AND created >= ?3";
        Ok(self.lock().query_row(text, params![peer, minute, day], |row| {
            let count = |at| Ok::<_, rusqlite::Error>(row.get::<_, i64>(at)?.unsigned_abs());
            Ok(TaskCounts { open: count(0)?, minute: count(1)?, day: count(2)? })
        })?)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    Ok(TaskRow {
        id: row.get(0)?,
        peer: row.get(1)?,
        context: row.get(2)?,
        message: row.get(3)?,
        state: row.get(4)?,
        ended: row.get(5)?,
        created: row.get(6)?,
        version: row.get(7)?,
        document: row.get(8)?,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn row(id: &str, peer: &str, message: Option<&str>) -> TaskRow {
        TaskRow {
            id: id.to_owned(),
            peer: peer.to_owned(),
            context: "c".to_owned(),
            message: message.map(ToOwned::to_owned),
            state: "submitted".to_owned(),
            ended: false,
            created: 1,
            version: 1,
            document: "{}".to_owned(),
        }
    }

    #[test]
    fn a_repeated_message_is_one_task_and_an_ended_task_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tasks.db");
        let tasks = TaskFile::open(&file).unwrap();
        let first = row("1", "alice", Some("m"));
        assert_eq!(tasks.insert(&first).unwrap(), TaskInsert::Stored);
        let again = tasks.insert(&row("2", "alice", Some("m"))).unwrap();
        assert_eq!(again, TaskInsert::Repeated(Box::new(first.clone())));
        assert_eq!(tasks.insert(&row("3", "bob", Some("m"))).unwrap(), TaskInsert::Stored);
        let ended = TaskRow { state: "failed".to_owned(), ended: true, version: 2, ..first };
        assert!(tasks.replace(&ended, 1).unwrap());
        assert!(!tasks.replace(&TaskRow { version: 3, ..ended.clone() }, 1).unwrap());
        assert!(!tasks.replace(&TaskRow { version: 3, ..ended }, 2).unwrap(), "it has ended");
        assert_eq!(tasks.open_tasks().unwrap().len(), 1);
        let counts = tasks.counts("alice", 2, 0).unwrap();
        assert_eq!(counts, TaskCounts { open: 0, minute: 0, day: 1 });
        let query = TaskQuery { peer: "alice", limit: 10, ..TaskQuery::default() };
        assert_eq!(tasks.list(&query).unwrap().len(), 1);
        drop(tasks);
        assert_eq!(TaskFile::open(&file).unwrap().get("1").unwrap().unwrap().version, 2);
    }

    #[test]
    fn two_processes_cannot_use_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tasks.db");
        let tasks = TaskFile::open(&file).unwrap();
        tasks.insert(&row("1", "alice", None)).unwrap();
        assert!(TaskFile::open(&file).is_err());
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
