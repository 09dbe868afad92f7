//! Options of the SQLite store.

use std::time::Duration;

/// Options of the SQLite store.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// Passes wait for their commit like every other write.
    pub sync_passes: bool,
    /// The maximum number of waiting jobs; more are rejected.
    pub queue_limit: usize,
    /// The maximum number of jobs in a commit.
    pub max_batch: usize,
    /// The maximum time between a pass and its commit.
    pub pass_delay: Duration,
    /// This many unsynced passes are committed at once.
    pub pass_batch: usize,
    /// The maximum number of passes that a crash may lose.
    pub max_unsynced_passes: u32,
    /// The number of reader threads.
    pub readers: usize,
    /// How long a write waits for another process's lock on the file.
    pub busy_timeout: Duration,
    /// The maximum size of the file in pages of 4 KiB, if limited.
    pub max_pages: Option<u32>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        SqliteOptions {
            sync_passes: false,
            queue_limit: 4_096,
            max_batch: 1_024,
            pass_delay: Duration::from_millis(25),
            pass_batch: 256,
            max_unsynced_passes: 4_096,
            readers: 2,
            busy_timeout: Duration::from_secs(2),
            max_pages: None,
        }
    }
}
