//! What an operator may choose about the store.

use std::time::Duration;

/// How a store on SQLite behaves.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// Passes wait for their commit like everything else.
    pub strict: bool,
    /// So many jobs may wait for the writer; one more is refused.
    pub queue: usize,
    /// At most so many jobs share a commit.
    pub batch: usize,
    /// A pass is committed so long after it came, at latest.
    pub ride: Duration,
    /// So many passes make a commit of their own.
    pub riders: usize,
    /// So many passes may at most be unrecorded after a crash.
    pub reserve: u32,
    /// How many connections read.
    pub readers: usize,
    /// How long a write waits for somebody else's lock on the file.
    pub busy: Duration,
    /// The file may grow to so many pages of 4 KiB, if limited.
    pub pages: Option<u32>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        SqliteOptions {
            strict: false,
            queue: 4_096,
            batch: 1_024,
            ride: Duration::from_millis(25),
            riders: 256,
            reserve: 4_096,
            readers: 2,
            busy: Duration::from_secs(2),
            pages: None,
        }
    }
}
