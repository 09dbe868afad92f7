//! The thread that moves the write-ahead log into the database file, so that no commit waits for
//! it.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::open::{self, LOG_PAGES};
use super::options::SqliteOptions;
use crate::error::OpenError;

/// A checkpoint starts when this many pages are in the log: 8 MiB.
const CHECKPOINT_PAGES: i64 = 2_048;

/// The checkpoint thread, woken by the writer.
pub(super) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub fn start(path: &Path, options: &SqliteOptions) -> Result<Checkpointer, OpenError> {
        let conn = open::checkpointer(path, options)?;
        // Capacity one is enough: pages that arrive during a checkpoint are part of the next.
        let (wake, wakeups) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn(move || run(&conn, &wakeups))
            .map_err(|e| OpenError::Failed(e.to_string()))?;
        Ok(Checkpointer { wake: Some(wake), thread: Some(thread) })
    }

    /// Wakes the thread if enough pages are in the log. Called after a commit, on its connection.
    pub fn wake_if_due(&self, conn: &Connection) {
        let status = conn
            .prepare_cached("PRAGMA wal_checkpoint(NOOP)")
            .and_then(|mut status| status.query_row([], |row| Ok((row.get(1)?, row.get(2)?))));
        // If the status cannot be read, SQLite's own limit still applies.
        let Ok::<(i64, i64), _>((log, checkpointed)) = status else { return };
        // From `LOG_PAGES` on SQLite checkpoints within a commit. The thread would block that
        // commit.
        let due = log < LOG_PAGES && log.saturating_sub(checkpointed) >= CHECKPOINT_PAGES;
        if let Some(wake) = self.wake.as_ref().filter(|_| due) {
            // A full channel means that the thread is already woken.
            let _ = wake.try_send(());
        }
    }

    /// Stops the thread, so that the writer can checkpoint alone.
    pub fn stop(&mut self) {
        self.wake = None;
        // Pages that it could not move are part of the next checkpoint.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(conn: &Connection, wakeups: &Receiver<()>) {
    while wakeups.recv().is_ok() {
        // A passive checkpoint blocks neither readers nor the writer. A failure loses nothing,
        // because the log is still there.
        let _ = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    }
}
