//! Threads that read, each with a connection that cannot write.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::open;
use super::options::SqliteOptions;
use crate::StoreResult;
use crate::error::{OpenError, StoreError};

type Look = Box<dyn FnOnce(&Connection) + Send>;

/// A few threads that read.
#[derive(Debug)]
pub(super) struct Readers {
    queue: Option<SyncSender<Look>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub fn start(path: &Path, options: &SqliteOptions) -> Result<Readers, OpenError> {
        let (queue, looks) = sync_channel(options.queue);
        let looks = Arc::new(Mutex::new(looks));
        let mut threads = Vec::new();
        for number in 0..options.readers.max(1) {
            let conn = open::reader(path, options)?;
            let looks = Arc::clone(&looks);
            let thread = std::thread::Builder::new()
                .name(format!("store-read-{number}"))
                .spawn(move || run(&conn, &looks))
                .map_err(|e| OpenError::Failed(e.to_string()))?;
            threads.push(thread);
        }
        Ok(Readers { queue: Some(queue), threads })
    }

    /// Looks something up, in one snapshot of the store.
    pub async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let (answer, answered) = oneshot::channel();
        let look: Look = Box::new(move |conn| {
            let seen = conn.unchecked_transaction().map_err(StoreError::from);
            // Who went away needs no answer.
            let _ = answer.send(seen.and_then(|snapshot| work(&snapshot)));
        });
        match self.queue.as_ref().map(|queue| queue.try_send(look)) {
            Some(Ok(())) => {}
            Some(Err(TrySendError::Full(_))) => return Err(StoreError::Overloaded),
            Some(Err(TrySendError::Disconnected(_))) | None => return Err(StoreError::Closed),
        }
        let broken = |_| Err(StoreError::Unavailable("a reader broke off".to_owned()));
        answered.await.unwrap_or_else(broken)
    }
}

fn run(conn: &Connection, looks: &Mutex<Receiver<Look>>) {
    loop {
        let next = looks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(look) = next else { return };
        // A look that panics drops its answer, which tells its caller; the others go on.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| look(conn)));
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            // Its panics were told to their callers.
            let _ = thread.join();
        }
    }
}
