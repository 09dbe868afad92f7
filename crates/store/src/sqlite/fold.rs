//! The thread that folds the log into the file beside the commits, so that none waits for it.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::open;
use super::options::SqliteOptions;
use crate::error::OpenError;

/// Folding begins when so many pages wait in the log: 8 MiB.
const PAGES: i64 = 2_048;

/// From so many pages on, 64 MiB, SQLite folds the rest within a commit and begins the log anew.
/// The thread then stays away: whoever folds keeps the other out.
pub(super) const LOG_PAGES: i64 = 16_384;

/// The thread, told by the writer when there is enough to fold.
pub(super) struct Fold {
    told: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Fold {
    pub fn start(path: &Path, options: &SqliteOptions) -> Result<Fold, OpenError> {
        let conn = open::folder(path, options)?;
        // One word is enough: what comes while it folds is folded next time.
        let (told, words) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("store-fold".to_owned())
            .spawn(move || run(&conn, &words))
            .map_err(|e| OpenError::Failed(e.to_string()))?;
        Ok(Fold { told: Some(told), thread: Some(thread) })
    }

    /// After a commit, on the connection that made it: whether it is time.
    pub fn look(&self, conn: &Connection) {
        let waiting = conn
            .prepare_cached("PRAGMA wal_checkpoint(NOOP)")
            .and_then(|mut look| look.query_row([], |row| Ok((row.get(1)?, row.get(2)?))));
        // If it cannot be known, SQLite's own limit still holds.
        let Ok::<(i64, i64), _>((log, folded)) = waiting else { return };
        let time = log < LOG_PAGES && log.saturating_sub(folded) >= PAGES;
        if let Some(told) = self.told.as_ref().filter(|_| time) {
            // A word that waits already says the same.
            let _ = told.try_send(());
        }
    }

    /// Ends the thread, so that the writer has the file to itself.
    pub fn end(&mut self) {
        self.told = None;
        // What it could not fold, the next one does.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for Fold {
    fn drop(&mut self) {
        self.end();
    }
}

fn run(conn: &Connection, words: &Receiver<()>) {
    while words.recv().is_ok() {
        // Passive: takes what no reader needs and stands in nobody's way. A failure loses nothing,
        // as the log is still there.
        let _ = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    }
}
