//! Callers that wait for the end of a request.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_types::id::Id;
use tokio::sync::oneshot;

use crate::record::StoredRequest;

/// All callers that wait for the end of a request.
#[derive(Debug, Default)]
pub(crate) struct EndWaiters {
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    last_number: u64,
    closed: bool,
    waiters: HashMap<Id, Vec<(u64, oneshot::Sender<StoredRequest>)>>,
}

/// One waiting caller. Dropping it removes it from the queue.
#[derive(Debug)]
pub(crate) struct EndWaiter<'a> {
    waiters: &'a EndWaiters,
    id: Id,
    number: u64,
    ended: oneshot::Receiver<StoredRequest>,
}

impl EndWaiters {
    /// Registers a waiter. Register first and read the row afterwards, so that an end in between
    /// is not missed.
    pub fn register(&self, id: Id) -> EndWaiter<'_> {
        let (sender, ended) = oneshot::channel();
        let mut queue = self.lock();
        queue.last_number += 1;
        let number = queue.last_number;
        // After the store has closed, the sender is dropped, which ends the wait at once.
        if !queue.closed {
            queue.waiters.entry(id).or_default().push((number, sender));
        }
        EndWaiter { waiters: self, id, number, ended }
    }

    /// Sends the ended request to every caller that waits for it.
    pub fn notify(&self, ended: &StoredRequest) {
        let list = self.lock().waiters.remove(&ended.request.id);
        for (_, waiter) in list.into_iter().flatten() {
            // The caller may have stopped waiting.
            let _ = waiter.send(ended.clone());
        }
    }

    /// Ends all waits, now and later, without a result.
    pub fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        queue.waiters.clear();
    }

    /// How many callers wait.
    pub fn count(&self) -> usize {
        self.lock().waiters.values().map(Vec::len).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EndWaiter<'_> {
    /// The ended request; `None` if the store closes first.
    pub async fn ended(mut self) -> Option<StoredRequest> {
        (&mut self.ended).await.ok()
    }
}

impl Drop for EndWaiter<'_> {
    fn drop(&mut self) {
        let mut queue = self.waiters.lock();
        if let Some(list) = queue.waiters.get_mut(&self.id) {
            list.retain(|(number, _)| *number != self.number);
            if list.is_empty() {
                queue.waiters.remove(&self.id);
            }
        }
    }
}
