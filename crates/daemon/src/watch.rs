//! The deadline watch: lets time pass for every open request, so that every wait ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::id::Id;
use countersign_core::request::Change;
use countersign_core::time::{Clock as _, Timestamp};
use countersign_store::{Happening, Store as _, StoreError};
use tokio::sync::broadcast::error::RecvError;

use crate::doors::{self, Stop};
use crate::gate::Gate;

/// Everything is looked at again this often, whatever was heard.
const SWEEP: Duration = Duration::from_secs(1);

/// Watches until the daemon stops.
pub async fn run(gate: Arc<Gate>, mut stop: Stop) {
    let mut happenings = gate.store().watch();
    let mut due = Due::default();
    due.read_again(&gate).await;
    loop {
        let now = gate.clock().now().at;
        let wait =
            due.next().map_or(SWEEP, |next| Duration::from_millis(now.until(next).0).min(SWEEP));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            heard = happenings.recv() => match heard {
                Ok(Happening::Asked(id)) => due.learn(&gate, id).await,
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => due.read_again(&gate).await,
                Err(RecvError::Closed) => return,
            },
            () = doors::stopped(&mut stop) => return,
        }
        due.let_time_pass(&gate).await;
    }
}

/// What is due when.
#[derive(Default)]
struct Due {
    heap: BinaryHeap<Reverse<(Timestamp, Id)>>,
    /// The store failed: the rows must be read before the heap is believed again.
    stale: bool,
}

impl Due {
    fn next(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    async fn read_again(&mut self, gate: &Gate) {
        match gate.store().pending().await {
            Ok(pending) => {
                self.heap = pending
                    .iter()
                    .filter_map(|stored| {
                        Some(Reverse((stored.request.next_due()?, stored.request.id)))
                    })
                    .collect();
                self.stale = false;
            }
            Err(error) => {
                tracing::error!(%error, "open requests cannot be read; nothing is approved");
                self.stale = true;
            }
        }
    }

    async fn learn(&mut self, gate: &Gate, id: Id) {
        match gate.store().request(id).await {
            Ok(Some(stored)) => {
                self.heap.extend(stored.request.next_due().map(|at| Reverse((at, id))));
            }
            Ok(None) => {}
            Err(_) => self.stale = true,
        }
    }

    async fn let_time_pass(&mut self, gate: &Gate) {
        if self.stale {
            self.read_again(gate).await;
        }
        let now = gate.clock().now().at;
        while let Some(Reverse((at, id))) = self.heap.peek().copied()
            && at <= now
        {
            self.heap.pop();
            match gate.pass_time(id).await {
                Ok(applied) => {
                    if let Change::Climbed(rung) = applied.change {
                        tracing::info!(request = %id, rung = rung.label(), "nobody answered: climbs");
                    }
                    self.heap.extend(applied.stored.request.next_due().map(|at| Reverse((at, id))));
                }
                Err(StoreError::NotFound(_)) => {}
                Err(error) => {
                    tracing::error!(request = %id, %error, "time could not pass");
                    self.stale = true;
                    return;
                }
            }
        }
    }
}
