//! The deadline watch: lets time pass for every open request, so that every wait ends.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use countersign_store::{Applied, Store as _, StoreError, StoreEvent};
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Span, Timestamp};
use countersign_workflow::request::Change;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::task::JoinSet;

use crate::doors::{self, Stop};
use crate::gate::Gate;

/// The longest sleep: the machine may have slept as well, and its clock gone on.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);
/// So many requests climb or end at once: they share commits, and leave room for those who ask.
const AT_ONCE: usize = 128;
/// When a request whose time could not pass is tried again.
const AGAIN: Span = Span(500);
/// So much of what happened is heard before time passes again.
const HEARD_AT_ONCE: u32 = 200;

/// Watches until the daemon stops.
pub async fn run(gate: Arc<Gate>, mut stop: Stop) {
    // Listens before it reads: what is asked in between is heard.
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
            () = doors::stopped(&mut stop) => return,
        }
        // What else was said meanwhile; a bounded part, so that time passes in between.
        for _ in 0..HEARD_AT_ONCE {
            match happenings.try_recv() {
                Ok(happening) => due.hear(&gate, happening).await,
                Err(TryRecvError::Lagged(_)) => due.stale = true,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
    }
}

/// What became of a request when time passed.
type Passed = (Id, Result<Applied, StoreError>);

/// What is due when.
#[derive(Default)]
struct Due {
    heap: BinaryHeap<Reverse<(Timestamp, Id)>>,
    /// What is open, and when it is due; whatever else is in the heap is over.
    open: HashMap<Id, Timestamp>,
    /// Something was missed: the rows must be read before the heap is believed again.
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
            | StoreEvent::Undelivered(_)
            | StoreEvent::Settings => {}
        }
    }

    /// Reads all open requests. If that fails, what was known before stays.
    async fn read_again(&mut self, gate: &Gate) -> Result<(), StoreError> {
        let open: HashMap<Id, Timestamp> = gate.store().deadlines().await?.into_iter().collect();
        self.heap = open.iter().map(|(id, at)| Reverse((*at, *id))).collect();
        self.open = open;
        self.stale = false;
        Ok(())
    }

    /// Lets time pass for whatever is due by now.
    async fn let_time_pass(&mut self, gate: &Arc<Gate>) {
        if self.stale
            && let Err(error) = self.read_again(gate).await
        {
            tracing::error!(%error, "open requests cannot be read; nothing is approved");
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

    /// Waits for one of those whose time passes. `false` when there is none.
    async fn one_passed(&mut self, passing: &mut JoinSet<Passed>, now: Timestamp) -> bool {
        match passing.join_next().await {
            Some(Ok((id, passed))) => self.passed(id, passed, now),
            // Nobody knows which one broke.
            Some(Err(_)) => self.stale = true,
            None => return false,
        }
        true
    }

    /// The next one that is due by now.
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

    /// What came of it. One that fails is tried again later and keeps no other waiting.
    fn passed(&mut self, id: Id, passed: Result<Applied, StoreError>, now: Timestamp) {
        match passed {
            Ok(applied) => {
                if let Change::Climbed(rung) = applied.change {
                    tracing::info!(request = %id, rung = rung.label(), "nobody answered: climbs");
                }
                self.set(id, applied.stored.request.next_due());
            }
            Err(StoreError::NotFound(_)) => self.set(id, None),
            Err(error) => {
                tracing::error!(request = %id, %error, "time could not pass; it is tried again");
                self.set(id, Some(now.plus(AGAIN)));
            }
        }
    }
}

#[cfg(test)]
mod tests;
