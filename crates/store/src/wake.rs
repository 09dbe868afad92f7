//! Who is waiting for which request, and what happens as it happens.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use countersign_core::id::Id;
use countersign_core::request::{Rung, State};
use tokio::sync::oneshot;

/// What happened, told after its commit. A hint, not a truth: read the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// A person is asked.
    Asked(Id),
    /// Somebody voted, more are needed.
    Voted(Id),
    /// It climbed.
    Climbed(Id, Rung),
    /// It ended.
    Ended(Id, State),
    /// Grants, people, agents or crises changed.
    Settings,
}

/// Everybody who waits for the end of a request.
#[derive(Debug, Default)]
pub struct Waiting {
    waiters: Mutex<HashMap<Id, Vec<oneshot::Sender<()>>>>,
}

impl Waiting {
    /// Joins those who wait. Join first and read the row then: an end in between is not missed.
    pub fn join(&self, id: Id) -> oneshot::Receiver<()> {
        let (wake, woken) = oneshot::channel();
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        let list = waiters.entry(id).or_default();
        // Whoever went away makes room for who comes.
        list.retain(|earlier| !earlier.is_closed());
        list.push(wake);
        woken
    }

    /// Wakes everybody who waits for this request.
    pub fn wake(&self, id: Id) {
        let list = {
            let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
            waiters.remove(&id)
        };
        for waiter in list.into_iter().flatten() {
            // Who went away needs no waking.
            let _ = waiter.send(());
        }
    }
}
