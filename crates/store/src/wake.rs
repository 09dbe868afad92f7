//! Who is waiting for which request, and what happens as it happens.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_types::id::Id;
use countersign_workflow::request::{Rung, State};
use tokio::sync::oneshot;

use crate::record::StoredRequest;

/// What happened, told after its commit. A hint, not a truth: read the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreEvent {
    /// A person is asked.
    Asked(Id),
    /// Somebody voted, more are needed.
    Voted(Id),
    /// It climbed.
    Escalated(Id, Rung),
    /// A message about it did not arrive after all.
    Undelivered(Id),
    /// It ended.
    Ended(Id, State),
    /// Grants, people, agents or crises changed.
    Settings,
}

/// Everybody who waits for the end of a request.
#[derive(Debug, Default)]
pub struct EndWaiters {
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    newest: u64,
    over: bool,
    waiters: HashMap<Id, Vec<(u64, oneshot::Sender<StoredRequest>)>>,
}

/// One who waits. Going away takes the place in the queue away as well.
#[derive(Debug)]
pub struct EndWaiter<'a> {
    waiting: &'a EndWaiters,
    id: Id,
    number: u64,
    woken: oneshot::Receiver<StoredRequest>,
}

impl EndWaiters {
    /// Joins those who wait. Join first and read the row then: an end in between is not missed.
    pub fn join(&self, id: Id) -> EndWaiter<'_> {
        let (wake, woken) = oneshot::channel();
        let mut queue = self.lock();
        queue.newest += 1;
        let number = queue.newest;
        // After the end of the store nobody is woken: the sender is dropped at once instead.
        if !queue.over {
            queue.waiters.entry(id).or_default().push((number, wake));
        }
        EndWaiter { waiting: self, id, number, woken }
    }

    /// Wakes everybody who waits for this request with how it ended.
    pub fn wake(&self, ended: &StoredRequest) {
        let list = self.lock().waiters.remove(&ended.request.id);
        for (_, waiter) in list.into_iter().flatten() {
            // Who went away needs no waking.
            let _ = waiter.send(ended.clone());
        }
    }

    /// The store is over: whoever waits, now or later, is told that nothing will come.
    pub fn give_up(&self) {
        let mut queue = self.lock();
        queue.over = true;
        queue.waiters.clear();
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.lock().waiters.values().map(Vec::len).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EndWaiter<'_> {
    /// How the request ended; nothing if the store is over.
    pub async fn woken(mut self) -> Option<StoredRequest> {
        (&mut self.woken).await.ok()
    }
}

impl Drop for EndWaiter<'_> {
    fn drop(&mut self) {
        let mut queue = self.waiting.lock();
        if let Some(list) = queue.waiters.get_mut(&self.id) {
            list.retain(|(number, _)| *number != self.number);
            if list.is_empty() {
                queue.waiters.remove(&self.id);
            }
        }
    }
}
