//! Tasks that agents delegated to a node: a file of their own, durable before any answer.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::task_file::{CHANGED, TaskFile, TaskFileError};

pub(crate) const COLUMNS: &str =
    "id, peer, context, message, state, ended, created, version, document";
const COLUMNS_BEFORE: &str = "id, peer, context, message, state, ended, created, version";
/// The most that the tasks of one page hold, unless a single one is longer.
const MAX_PAGE_BYTES: usize = 768 << 10;

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
    /// A limit is reached; nothing is stored.
    Refused(TaskLimit),
}

/// What became of a further message of a task's sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskAnswer {
    /// It is stored.
    Stored,
    /// The task has changed meanwhile; nothing is stored.
    Changed,
    /// A limit is reached; nothing is stored.
    Refused(TaskLimit),
}

/// How many messages a peer may send, and from when on they count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskLimits {
    /// Its tasks that have not ended.
    pub open: u64,
    /// Its messages since this time, and how many are possible.
    pub minute: (i64, u64),
    /// The same for a longer time.
    pub day: (i64, u64),
}

/// The limit that a message reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskLimit {
    /// So many tasks are open.
    Open(u64),
    /// Messages in the shorter time.
    Minute,
    /// Messages in the longer time.
    Day,
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
    /// Only tasks that changed before this time and, at the same time, have a smaller id.
    pub before: Option<(i64, &'a str)>,
    /// At most this many.
    pub limit: u32,
    /// Whether results are read.
    pub artifacts: bool,
    /// Only tasks that changed at this time or later.
    pub since: Option<i64>,
}

/// One page of tasks.
#[derive(Debug)]
pub struct TaskPage {
    /// The tasks.
    pub rows: Vec<TaskRow>,
    /// Whether more follow.
    pub more: bool,
    /// How many there are in all.
    pub total: u64,
}

impl TaskFile {
    /// One task.
    pub fn get(&self, id: &str) -> Result<Option<TaskRow>, TaskFileError> {
        let text = format!("SELECT {COLUMNS} FROM tasks WHERE id = ?1");
        Ok(self.lock().query_row(&text, [id], read).optional()?)
    }

    /// Tasks of one peer, the one that changed last first. A page ends early where its tasks are
    /// large, so that no list takes more memory than a few of them.
    pub fn list(&self, query: &TaskQuery<'_>) -> Result<TaskPage, TaskFileError> {
        let fits = format!(
            "peer = ?1 AND (?2 IS NULL OR context = ?2) AND (?3 IS NULL OR state = ?3) \
             AND (?4 IS NULL OR {CHANGED} >= ?4)"
        );
        let document =
            if query.artifacts { "document" } else { "json_remove(document, '$.artifacts')" };
        let text = format!(
            "SELECT {COLUMNS_BEFORE}, {document} FROM tasks WHERE {fits} \
             AND (?5 IS NULL OR ({CHANGED}, id) < (?5, ?6)) \
             ORDER BY {CHANGED} DESC, id DESC LIMIT ?7"
        );
        let connection = self.lock();
        let total = connection.query_row(
            &format!("SELECT count(*) FROM tasks WHERE {fits}"),
            params![query.peer, query.context, query.state, query.since],
            |row| row.get::<_, i64>(0),
        )?;
        let mut statement = connection.prepare(&text)?;
        let (at, id) = query.before.unzip();
        let more = i64::from(query.limit) + 1;
        let found = statement.query_map(
            params![query.peer, query.context, query.state, query.since, at, id, more],
            read,
        )?;
        let most = usize::try_from(query.limit).unwrap_or(usize::MAX);
        let mut page = TaskPage { rows: Vec::new(), more: false, total: total.unsigned_abs() };
        let mut bytes = 0_usize;
        for row in found {
            let row = row?;
            bytes = bytes.saturating_add(row.document.len());
            if page.rows.len() >= most || bytes > MAX_PAGE_BYTES && !page.rows.is_empty() {
                page.more = true;
                break;
            }
            page.rows.push(row);
        }
        Ok(page)
    }

    /// The tasks that have not ended, oldest first.
    pub fn open_tasks(&self) -> Result<Vec<TaskRow>, TaskFileError> {
        let text = format!("SELECT {COLUMNS} FROM tasks WHERE ended = 0 ORDER BY id");
        let connection = self.lock();
        let mut statement = connection.prepare(&text)?;
        let rows = statement.query_map([], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl TaskLimits {
    /// The limit that one more message of a peer exceeds.
    pub(crate) fn reached(
        &self,
        connection: &Connection,
        peer: &str,
        is_task: bool,
    ) -> Result<Option<TaskLimit>, TaskFileError> {
        let since = |at: i64| {
            let text = "SELECT (SELECT count(*) FROM tasks WHERE peer = ?1 AND created >= ?2) \
                        + (SELECT count(*) FROM answers WHERE peer = ?1 AND arrived >= ?2)";
            let count = connection.query_row(text, params![peer, at], |row| row.get::<_, i64>(0));
            count.map(i64::unsigned_abs)
        };
        let text = "SELECT count(*) FROM tasks WHERE peer = ?1 AND ended = 0";
        let open = connection.query_row(text, [peer], |row| row.get::<_, i64>(0))?.unsigned_abs();
        Ok(if is_task && open >= self.open {
            Some(TaskLimit::Open(open))
        } else if since(self.minute.0)? >= self.minute.1 {
            Some(TaskLimit::Minute)
        } else if since(self.day.0)? >= self.day.1 {
            Some(TaskLimit::Day)
        } else {
            None
        })
    }
}

pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
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
    use crate::task_push::{PushConfigRow, PushResult};

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
        assert_eq!(tasks.insert(&first, None, None).unwrap(), TaskInsert::Stored);
        let again = tasks.insert(&row("2", "alice", Some("m")), None, None).unwrap();
        assert_eq!(again, TaskInsert::Repeated(Box::new(first.clone())));
        assert_eq!(
            tasks.insert(&row("3", "bob", Some("m")), None, None).unwrap(),
            TaskInsert::Stored
        );
        let ended = TaskRow { state: "failed".to_owned(), ended: true, version: 2, ..first };
        assert!(tasks.replace(&ended, 1).unwrap());
        assert!(!tasks.replace(&TaskRow { version: 3, ..ended.clone() }, 1).unwrap());
        assert!(!tasks.replace(&TaskRow { version: 3, ..ended }, 2).unwrap(), "it has ended");
        assert_eq!(tasks.open_tasks().unwrap().len(), 1);
        let query = TaskQuery { peer: "alice", limit: 10, ..TaskQuery::default() };
        let page = tasks.list(&query).unwrap();
        assert_eq!((page.rows.len(), page.total, page.more), (1, 1, false));
        drop(tasks);
        assert_eq!(TaskFile::open(&file).unwrap().get("1").unwrap().unwrap().version, 2);
    }

    #[test]
    fn written_changes_survive_the_end_of_the_process_and_are_synced_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tasks.db");
        let tasks = TaskFile::open(&file).unwrap();
        let first = row("1", "alice", Some("m"));
        let (stored, inserted) = tasks.write_insert(&first, None, None).unwrap();
        assert_eq!(stored, TaskInsert::Stored);
        let next = TaskRow { version: 2, ..first };
        let (replaced, changed) = tasks.write_replace(&next, 1).unwrap();
        assert!(replaced && inserted < changed);
        assert!(!tasks.write_replace(&next, 1).unwrap().0, "its version is another one");
        // What is there so far, as another process would find it after the end of this one.
        let copy = folder.path().join("copy.db");
        std::fs::copy(&file, &copy).unwrap();
        std::fs::copy(folder.path().join("tasks.db-wal"), folder.path().join("copy.db-wal"))
            .unwrap();
        assert_eq!(TaskFile::open(&copy).unwrap().get("1").unwrap().unwrap().version, 2);
        tasks.sync_to(changed).unwrap();
        tasks.sync_to(inserted).unwrap();
        tasks.sync().unwrap();
        let level = |tasks: &TaskFile| {
            tasks.lock().pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0))
        };
        assert_eq!(level(&tasks).unwrap(), 2, "other changes wait for the disk");
        let failed = tasks.write(|_| Err::<(), _>(rusqlite::Error::InvalidQuery.into()));
        assert!(failed.is_err());
        assert_eq!(level(&tasks).unwrap(), 2, "also after an error");
    }

    #[test]
    fn limits_count_tasks_and_answers() {
        let folder = tempfile::tempdir().unwrap();
        let tasks = TaskFile::open(&folder.path().join("tasks.db")).unwrap();
        let limits = |open, minute, day| TaskLimits { open, minute: (1, minute), day: (0, day) };
        let insert = |id: &str, limits: &TaskLimits| {
            tasks.insert(&row(id, "alice", Some(id)), None, Some(limits)).unwrap()
        };
        assert_eq!(insert("1", &limits(9, 9, 9)), TaskInsert::Stored);
        assert_eq!(insert("2", &limits(1, 9, 9)), TaskInsert::Refused(TaskLimit::Open(1)));
        assert_eq!(insert("2", &limits(9, 1, 9)), TaskInsert::Refused(TaskLimit::Minute));
        assert_eq!(insert("2", &limits(9, 9, 1)), TaskInsert::Refused(TaskLimit::Day));
        // A repeated message is the same task also where a limit is reached.
        assert!(matches!(insert("1", &limits(0, 0, 0)), TaskInsert::Repeated(_)));
        let next = TaskRow { version: 2, ..row("1", "alice", Some("1")) };
        let answer =
            |limits: &TaskLimits, version| tasks.answer(&next, version, limits, 1).unwrap();
        assert_eq!(answer(&limits(0, 1, 9), 1), TaskAnswer::Refused(TaskLimit::Minute));
        assert_eq!(answer(&limits(0, 2, 2), 7), TaskAnswer::Changed);
        assert_eq!(answer(&limits(0, 2, 2), 1), TaskAnswer::Stored);
        assert_eq!(insert("2", &limits(9, 9, 2)), TaskInsert::Refused(TaskLimit::Day));
        assert_eq!(insert("2", &limits(9, 9, 3)), TaskInsert::Stored);
    }

    #[test]
    fn lists_begin_with_the_task_that_changed_last_and_continue() {
        let folder = tempfile::tempdir().unwrap();
        let tasks = TaskFile::open(&folder.path().join("tasks.db")).unwrap();
        for (id, at) in [("1", 30), ("2", 10), ("3", 20), ("4", 20)] {
            let document = format!(r#"{{"steps":[{{"at":1}},{{"at":{at}}}]}}"#);
            tasks.insert(&TaskRow { document, ..row(id, "alice", None) }, None, None).unwrap();
        }
        tasks.insert(&row("5", "bob", None), None, None).unwrap();
        let ids = |before| {
            let query = TaskQuery { peer: "alice", limit: 2, before, ..TaskQuery::default() };
            let page = tasks.list(&query).unwrap();
            assert_eq!(page.total, 4);
            page.rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(None), ["1", "4"]);
        assert_eq!(ids(Some((20, "4"))), ["3", "2"]);
        assert!(ids(Some((10, "2"))).is_empty());
        let late = TaskQuery { peer: "alice", limit: 9, since: Some(20), ..TaskQuery::default() };
        let page = tasks.list(&late).unwrap();
        assert_eq!((page.rows.len(), page.total), (3, 3));
    }

    #[test]
    fn a_page_of_large_tasks_ends_early_and_results_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let tasks = TaskFile::open(&folder.path().join("tasks.db")).unwrap();
        for id in ["1", "2", "3"] {
            let result = "a".repeat(MAX_PAGE_BYTES * 2 / 3);
            let document = format!(r#"{{"steps":[{{"at":{id}}}],"artifacts":["{result}"]}}"#);
            tasks.insert(&TaskRow { document, ..row(id, "alice", None) }, None, None).unwrap();
        }
        let page = |artifacts| {
            let query = TaskQuery { peer: "alice", limit: 100, artifacts, ..TaskQuery::default() };
            let page = tasks.list(&query).unwrap();
            let bytes: usize = page.rows.iter().map(|row| row.document.len()).sum();
            (page.rows.len(), page.more, page.total, bytes < 1000)
        };
        assert_eq!(page(true), (1, true, 3, false));
        assert_eq!(page(false), (3, false, 3, true));
    }

    #[test]
    fn two_processes_cannot_use_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tasks.db");
        let tasks = TaskFile::open(&file).unwrap();
        tasks.insert(&row("1", "alice", None), None, None).unwrap();
        assert!(TaskFile::open(&file).is_err());
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    fn config(id: &str) -> PushConfigRow {
        let (task, document) = ("1".to_owned(), "{}".to_owned());
        PushConfigRow { task, id: id.to_owned(), document, sent: 0, attempts: 0 }
    }

    #[test]
    fn each_later_state_is_delivered_once_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let tasks = TaskFile::open(&folder.path().join("tasks.db")).unwrap();
        let mut task = row("1", "alice", None);
        let inserted = tasks.insert(&task, Some(&config("a")), None).unwrap();
        assert_eq!(inserted, TaskInsert::Stored);
        assert_eq!(tasks.take_push(10, 20).unwrap(), None, "nothing new yet");
        for version in [2, 3] {
            task.version = version;
            assert!(tasks.replace(&task, version - 1).unwrap());
        }
        let first = tasks.take_push(10, 20).unwrap().unwrap();
        assert_eq!((first.sent, first.attempts), (1, 0));
        assert_eq!(tasks.take_push(10, 20).unwrap(), None, "it is being delivered");
        tasks.finish_push(&first, PushResult::Retry(50)).unwrap();
        assert_eq!(tasks.next_push().unwrap(), Some(50));
        assert_eq!(tasks.take_push(49, 60).unwrap(), None);
        let again = tasks.take_push(50, 60).unwrap().unwrap();
        assert_eq!((again.sent, again.attempts), (1, 1));
        tasks.finish_push(&again, PushResult::Delivered).unwrap();
        let second = tasks.take_push(50, 60).unwrap().unwrap();
        assert_eq!((second.sent, second.attempts), (2, 0));
        tasks.finish_push(&second, PushResult::Delivered).unwrap();
        assert_eq!(tasks.next_push().unwrap(), None, "all is delivered");
        task.version = 4;
        assert!(tasks.replace(&task, 3).unwrap());
        let third = tasks.take_push(50, 60).unwrap().unwrap();
        tasks.finish_push(&third, PushResult::GivenUp).unwrap();
        assert_eq!(tasks.next_push().unwrap(), None);
    }

    #[test]
    fn configurations_are_bounded_replaced_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let tasks = TaskFile::open(&folder.path().join("tasks.db")).unwrap();
        tasks.insert(&row("1", "alice", None), None, None).unwrap();
        assert!(tasks.save_push(&config("a"), 2).unwrap());
        assert!(tasks.save_push(&config("b"), 2).unwrap());
        assert!(!tasks.save_push(&config("c"), 2).unwrap());
        let other = PushConfigRow { document: "{\"x\":1}".to_owned(), ..config("a") };
        assert!(tasks.save_push(&other, 2).unwrap());
        let found = tasks.push_configs("1").unwrap();
        assert_eq!((found.len(), found[0].document.as_str()), (2, "{\"x\":1}"));
        tasks.delete_push("1", "a").unwrap();
        tasks.delete_push("1", "a").unwrap();
        assert_eq!(tasks.push_configs("1").unwrap().len(), 1);
    }
}
