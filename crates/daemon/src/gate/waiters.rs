//! Whether the agent that asked still listens for the answer, as far as its connection tells.
//!
//! An agent that was stopped leaves its question open, because the same call may come again and
//! join it. People should know that nobody waits meanwhile. All of this is memory only: of a
//! request that nobody was seen listening for, nothing is said.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Timestamp};

use crate::clock::DaemonClock;

/// So many requests are remembered.
const MAX_REQUESTS: usize = 10_000;
/// Who waits by one question after the other is away for a moment in between, in milliseconds.
const GRACE_MS: i64 = 10_000;

/// Who listens.
#[derive(Debug, Default)]
pub struct Waiters {
    known: Mutex<HashMap<Id, WaiterCount>>,
}

#[derive(Debug)]
struct WaiterCount {
    open: usize,
    /// When the last one left; meaningless while somebody listens.
    left: Timestamp,
}

/// One that listens, until it is dropped: its connection went, or it has its answer.
#[derive(Debug)]
pub struct AnswerWaiter<'a> {
    waiters: &'a Waiters,
    clock: &'a DaemonClock,
    /// Nothing where too many listen already.
    id: Option<Id>,
}

impl Waiters {
    /// Somebody listens.
    pub fn add<'a>(&'a self, id: Id, clock: &'a DaemonClock) -> AnswerWaiter<'a> {
        let mut known = self.lock();
        let has_room = known.len() < MAX_REQUESTS || known.contains_key(&id);
        if has_room {
            known.entry(id).or_insert(WaiterCount { open: 0, left: Timestamp(0) }).open += 1;
        }
        AnswerWaiter { waiters: self, clock, id: has_room.then_some(id) }
    }

    /// Since when nobody listens any more, where somebody did.
    pub fn left(&self, id: Id, now: Timestamp) -> Option<Timestamp> {
        let known = self.lock();
        let count = known.get(&id).filter(|count| count.open == 0)?;
        (now.0.saturating_sub(count.left.0) >= GRACE_MS).then_some(count.left)
    }

    /// A request has ended.
    pub fn ended(&self, id: Id) {
        self.lock().remove(&id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, WaiterCount>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AnswerWaiter<'_> {
    fn drop(&mut self) {
        let (Some(id), now) = (self.id, self.clock.now().at) else { return };
        if let Some(count) = self.waiters.lock().get_mut(&id) {
            count.open = count.open.saturating_sub(1);
            count.left = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_waiter_is_reported_after_the_grace_time() {
        let (waiters, clock) = (Waiters::default(), DaemonClock::start());
        let id = crate::random::id(Timestamp(1)).unwrap();
        let later = || Timestamp(clock.now().at.0 + GRACE_MS);
        assert_eq!(waiters.left(id, later()), None, "nobody was ever there");
        let (one, two) = (waiters.add(id, &clock), waiters.add(id, &clock));
        drop(one);
        assert_eq!(waiters.left(id, later()), None, "one is left");
        drop(two);
        assert_eq!(waiters.left(id, clock.now().at), None, "only for a moment");
        assert!(waiters.left(id, later()).is_some());
        let back = waiters.add(id, &clock);
        assert_eq!(waiters.left(id, later()), None, "it came back");
        drop(back);
        waiters.ended(id);
        assert_eq!(waiters.left(id, later()), None, "it is over");
    }
}
