//! Keeps what is at hand in memory up to date with the store.

use std::sync::Arc;
use std::time::Duration;

use countersign_store::{Store as _, StoreEvent};
use tokio::sync::broadcast::error::RecvError;

use super::Book;
use crate::doors::{self, Stop};
use crate::gate::Gate;

/// How often what could not be read is tried again, and refused floods are written down.
const TICK: Duration = Duration::from_secs(1);

/// Follows the store until the daemon stops: who is who, and which grants there are.
pub async fn follow(book: Arc<Book>, gate: Arc<Gate>, mut stop: Stop) {
    let mut happenings = gate.store().subscribe();
    // What happened before we listened was perhaps not heard by anybody.
    let (mut stale, mut missed) = (true, true);
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let mut ticked = false;
        tokio::select! {
            _ = tick.tick() => ticked = true,
            heard = happenings.recv() => match heard {
                Ok(StoreEvent::Settings) => stale = true,
                Ok(happening) => {
                    missed |= gate.heard(happening).await.is_err();
                    continue;
                }
                Err(RecvError::Lagged(_)) => (stale, missed) = (true, true),
                Err(RecvError::Closed) => return,
            },
            () = doors::stopped(&mut stop) => {
                gate.tell_refusals().await;
                return;
            }
        }
        if stale {
            stale = !read_again(&book, &gate).await;
        }
        if missed {
            missed = gate.count_again().await.is_err();
        }
        if ticked {
            gate.tell_refusals().await;
        } else if stale || missed {
            // The store does not answer: the next tick tries again.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Reads both; says whether that went well.
async fn read_again(book: &Book, gate: &Gate) -> bool {
    let read = match book.read(gate.store()).await {
        Ok(()) => gate.grants().read(gate.store()).await,
        Err(error) => Err(error),
    };
    if let Err(error) = &read {
        tracing::error!(%error, "people, agents and grants cannot be read; trying again");
    }
    read.is_ok()
}
