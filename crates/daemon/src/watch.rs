//! Escalates and expires pending requests when they are due, so that every wait ends.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use countersign_store::{Applied, Store as _, StoreError, StoreEvent};
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Millis, Timestamp};
use countersign_workflow::request::Transition;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::task::JoinSet;

use crate::gate::Gate;
use crate::shutdown::{Stop, stopped};

/// The longest sleep: the machine may have been suspended while its clock went on.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);
/// The maximum number of requests processed at once: they share commits, and leave capacity for
/// new requests.
const AT_ONCE: usize = 128;
/// The delay before a failed request is retried.
const AGAIN: Millis = Millis(500);
/// The maximum number of events handled between two rounds.
const HEARD_AT_ONCE: u32 = 200;

/// Watches until the daemon stops.
pub async fn run(gate: Arc<Gate>, mut stop: Stop) {
    // Subscribes before it reads, so that no request in between is missed.
    let mut happenings = gate.store().subscribe();
    let mut due = Due { stale: true, ..Due::default() };
    loop {
        due.let_time_pass(&gate).await;
        let now = gate.clock().now().at;
        let wait = match due.next() {
            _ if due.stale => Duration::from_millis(AGAIN.0),
            Some(next) => Duration::from_millis(now.until(next).0).min(LONGEST_SLEEP),
            None => LONGEST_SLEEP,
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            heard = happenings.recv() => match heard {
                Ok(happening) => due.hear(&gate, happening).await,
                Err(RecvError::Lagged(_)) => due.stale = true,
                Err(RecvError::Closed) => return,
            },
            () = stopped(&mut stop) => return,
        }
        // Further events, bounded so that due requests are processed in between.
        for _ in 0..HEARD_AT_ONCE {
            match happenings.try_recv() {
                Ok(happening) => due.hear(&gate, happening).await,
                Err(TryRecvError::Lagged(_)) => due.stale = true,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
    }
}

/// One round over the stored requests. When it returns, every request that was due is processed.
#[cfg(test)]
pub async fn process_due(gate: &Arc<Gate>) {
    Due { stale: true, ..Due::default() }.let_time_pass(gate).await;
}

/// The result of processing a due request.
type Passed = (Id, Result<Applied, StoreError>);

/// The pending requests by due time.
#[derive(Default)]
struct Due {
    heap: BinaryHeap<Reverse<(Timestamp, Id)>>,
    /// The due time of each pending request; other entries of the heap are outdated.
    open: HashMap<Id, Timestamp>,
    /// Events were missed: the store must be read before the heap is used again.
    stale: bool,
}

impl Due {
    fn next(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    fn set(&mut self, id: Id, at: Option<Timestamp>) {
        match at {
            Some(at) => {
                self.open.insert(id, at);
                self.heap.push(Reverse((at, id)));
            }
            None => {
                self.open.remove(&id);
            }
        }
    }

    async fn hear(&mut self, gate: &Gate, happening: StoreEvent) {
        match happening {
            StoreEvent::Asked(id) => match gate.store().request(id).await {
                Ok(stored) => self.set(id, stored.and_then(|stored| stored.request.next_due())),
                Err(_) => self.stale = true,
            },
            StoreEvent::Ended(id, _) => self.set(id, None),
            StoreEvent::Escalated(..)
            | StoreEvent::Voted(_)
            | StoreEvent::Opinion(_)
            | StoreEvent::Undelivered(_)
            | StoreEvent::Settings => {}
        }
    }

    /// Reads all pending requests. If that fails, the known ones stay.
    async fn read_again(&mut self, gate: &Gate) -> Result<(), StoreError> {
        let open: HashMap<Id, Timestamp> = gate.store().deadlines().await?.into_iter().collect();
        self.heap = open.iter().map(|(id, at)| Reverse((*at, *id))).collect();
        self.open = open;
        self.stale = false;
        Ok(())
    }

    /// Starts processing the requests that are due.
    async fn let_time_pass(&mut self, gate: &Arc<Gate>) {
        if self.stale
            && let Err(error) = self.read_again(gate).await
        {
            tracing::error!(%error, "pending requests could not be read; nothing is approved");
        }
        let now = gate.clock().now().at;
        let mut passing = JoinSet::new();
        while let Some(id) = self.take(now) {
            let gate = Arc::clone(gate);
            passing.spawn(async move { (id, gate.pass_time(id).await) });
            if passing.len() >= AT_ONCE {
                self.one_passed(&mut passing, now).await;
            }
        }
        while self.one_passed(&mut passing, now).await {}
    }

    /// Waits for one request in progress. `false` if there is none.
    async fn one_passed(&mut self, passing: &mut JoinSet<Passed>, now: Timestamp) -> bool {
        match passing.join_next().await {
            Some(Ok((id, passed))) => self.passed(id, passed, now),
            // It is unknown which task panicked.
            Some(Err(_)) => self.stale = true,
            None => return false,
        }
        true
    }

    /// The next request that is due.
    fn take(&mut self, now: Timestamp) -> Option<Id> {
        while let Some(Reverse((at, id))) = self.heap.peek().copied() {
            if at > now {
                return None;
            }
            self.heap.pop();
            if self.open.get(&id) == Some(&at) {
                return Some(id);
            }
        }
        None
    }

    /// Handles a result. A failed request is retried later without delaying others.
    fn passed(&mut self, id: Id, passed: Result<Applied, StoreError>, now: Timestamp) {
        match passed {
            Ok(applied) => {
                if let Transition::Escalated(level) = applied.change {
                    let level = level.label();
                    tracing::info!(request = %id, escalated_to = level, "a request was escalated");
                }
                self.set(id, applied.stored.request.next_due());
            }
            Err(StoreError::NotFound(_)) => self.set(id, None),
            Err(error) => {
                tracing::error!(request = %id, %error, "a due request failed; retrying");
                self.set(id, Some(now.plus(AGAIN)));
            }
        }
    }
}

#[cfg(test)]
mod tests;
