//! Reader threads, each with a read-only connection.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::open;
use super::options::SqliteOptions;
use crate::error::{OpenError, StoreError, StoreResult};

type ReadJob = Box<dyn FnOnce(&Connection) + Send>;

/// The reader threads.
#[derive(Debug)]
pub(super) struct Readers {
    queue: Option<SyncSender<ReadJob>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub fn start(path: &Path, options: &SqliteOptions) -> Result<Readers, OpenError> {
        let (queue, jobs) = sync_channel(options.queue_limit);
        let jobs = Arc::new(Mutex::new(jobs));
        let mut threads = Vec::new();
        for number in 0..options.readers.max(1) {
            let conn = open::reader(path, options)?;
            let jobs = Arc::clone(&jobs);
            let thread = std::thread::Builder::new()
                .name(format!("store-read-{number}"))
                .spawn(move || run(&conn, &jobs))
                .map_err(|e| OpenError::Failed(e.to_string()))?;
            threads.push(thread);
        }
        Ok(Readers { queue: Some(queue), threads })
    }

    /// Runs work on one snapshot of the store.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let (sender, result) = oneshot::channel();
        let job: ReadJob = Box::new(move |conn| {
            let snapshot = conn.unchecked_transaction().map_err(StoreError::from);
            // The caller may have stopped waiting.
            let _ = sender.send(snapshot.and_then(|snapshot| work(&snapshot)));
        });
        match self.queue.as_ref().map(|queue| queue.try_send(job)) {
            Some(Ok(())) => {}
            Some(Err(TrySendError::Full(_))) => return Err(StoreError::Overloaded),
            Some(Err(TrySendError::Disconnected(_))) | None => return Err(StoreError::Closed),
        }
        let stopped =
            |_| Err(StoreError::Unavailable("a read failed unexpectedly; see the log".to_owned()));
        result.await.unwrap_or_else(stopped)
    }
}

fn run(conn: &Connection, jobs: &Mutex<Receiver<ReadJob>>) {
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        // A job that panics drops its sender, which fails its caller; other jobs continue.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(conn)));
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            // A panic of the thread was reported to its callers.
            let _ = thread.join();
        }
    }
}
