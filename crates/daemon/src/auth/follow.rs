//! Keeps the copies in memory up to date with the store.

use std::sync::Arc;
use std::time::Duration;

use countersign_store::{Store as _, StoreEvent};
use tokio::sync::broadcast::error::RecvError;

use super::directory::Directory;
use crate::gate::Gate;
use crate::shutdown::{Stop, stopped};

/// How often failed reads are retried and refused questions are recorded.
const TICK: Duration = Duration::from_secs(1);

/// Follows the store until the daemon stops: people, agents, sessions, grants and labels.
pub async fn follow(directory: Arc<Directory>, gate: Arc<Gate>, mut stop: Stop) {
    let mut happenings = gate.store().subscribe();
    // Events before the subscription may have been missed.
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
                    missed |= gate.record_event(happening).await.is_err();
                    continue;
                }
                Err(RecvError::Lagged(_)) => (stale, missed) = (true, true),
                Err(RecvError::Closed) => return,
            },
            () = stopped(&mut stop) => {
                gate.log_refusals().await;
                return;
            }
        }
        if stale {
            stale = !read_again(&directory, &gate).await;
        }
        if missed {
            missed = gate.recount_open().await.is_err();
        }
        if ticked {
            gate.log_refusals().await;
        } else if stale || missed {
            // The store does not answer: the next tick tries again.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Reads directory, grants and labels again; returns whether that succeeded.
async fn read_again(directory: &Directory, gate: &Gate) -> bool {
    let read = match directory.reload(gate.store()).await {
        Ok(()) => match gate.grants().read(gate.store()).await {
            Ok(()) => gate.tool_labels().read(gate.store()).await,
            error => error,
        },
        Err(error) => Err(error),
    };
    if let Err(error) = &read {
        tracing::error!(%error, "people, agents and grants could not be read; the read is retried");
    }
    read.is_ok()
}
