//! Whether the agent of a request still waits for the decision, as far as its connection shows.
//!
//! A stopped agent leaves its request pending for a minute, because a retry may join it. People
//! see meanwhile that the agent does not wait; then its question is withdrawn. An agent that ended
//! its wait in order, because it cannot wait longer, will come back: its question stays. This is in
//! memory only: nothing is known about a request for which no connection was seen.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Timestamp};

use crate::clock::DaemonClock;

/// The maximum number of tracked requests.
const MAX_REQUESTS: usize = 10_000;
/// A polling agent is disconnected between two polls; shorter gaps do not count, in milliseconds.
const GRACE_MS: i64 = 10_000;
/// After this time without a connection, the question of a stopped agent is withdrawn.
const ABANDONED_MS: i64 = 60_000;

/// The waiting connections by request.
#[derive(Debug, Default)]
pub struct Waiters {
    known: Mutex<HashMap<Id, WaiterCount>>,
}

#[derive(Debug)]
struct WaiterCount {
    open: usize,
    /// When the last connection closed; meaningless while one is open.
    left: Timestamp,
    /// Whether the last connection closed before it had its answer.
    was_cut: bool,
}

/// A waiting connection; dropped when it closes or has its answer.
#[derive(Debug)]
pub struct AnswerWaiter<'a> {
    waiters: &'a Waiters,
    clock: &'a DaemonClock,
    /// `None` if too many requests are tracked.
    id: Option<Id>,
    is_answered: bool,
}

impl AnswerWaiter<'_> {
    /// Whatever happens to this connection, its question is not withdrawn.
    #[must_use]
    pub fn keeping_question(mut self) -> Self {
        self.is_answered = true;
        self
    }

    /// The wait ended in order: with the decision, or because the caller wanted no longer one.
    pub fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Waiters {
    /// Adds a waiting connection.
    pub fn add<'a>(&'a self, id: Id, clock: &'a DaemonClock) -> AnswerWaiter<'a> {
        let mut known = self.lock();
        let has_room = known.len() < MAX_REQUESTS || known.contains_key(&id);
        if has_room {
            known
                .entry(id)
                .or_insert(WaiterCount { open: 0, left: Timestamp(0), was_cut: false })
                .open += 1;
        }
        AnswerWaiter { waiters: self, clock, id: has_room.then_some(id), is_answered: false }
    }

    /// When the last connection closed, if there was one and none is open.
    pub fn left(&self, id: Id, now: Timestamp) -> Option<Timestamp> {
        let known = self.lock();
        let count = known.get(&id).filter(|count| count.open == 0)?;
        (now.0.saturating_sub(count.left.0) >= GRACE_MS).then_some(count.left)
    }

    /// The requests whose agent stopped long ago without ending its wait.
    pub fn abandoned(&self, now: Timestamp) -> Vec<Id> {
        let is_abandoned = |count: &WaiterCount| {
            count.open == 0 && count.was_cut && now.0.saturating_sub(count.left.0) >= ABANDONED_MS
        };
        let known = self.lock();
        known.iter().filter(|(_, count)| is_abandoned(count)).map(|(id, _)| *id).collect()
    }

    /// Whether a connection waits for this request.
    #[cfg(test)]
    pub fn is_waiting(&self, id: Id) -> bool {
        self.lock().get(&id).is_some_and(|count| count.open > 0)
    }

    /// Removes an ended request.
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
            count.was_cut = !self.is_answered;
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
        assert_eq!(waiters.abandoned(later()), []);
        let long_after = || Timestamp(clock.now().at.0 + ABANDONED_MS);
        back.answered();
        assert_eq!(waiters.abandoned(long_after()), [], "it ended its wait and comes back");
        drop(waiters.add(id, &clock));
        assert_eq!(waiters.abandoned(later()), [], "a retry may join it");
        assert_eq!(waiters.abandoned(long_after()), [id], "it was cut off");
        waiters.ended(id);
        assert_eq!(waiters.left(id, later()), None, "it is over");
    }
}
