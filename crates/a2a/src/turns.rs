//! Turns of peers: many tasks of one peer do not keep another peer's task waiting behind them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// From how many peers on those without a task are forgotten.
const MAX_IDLE: usize = 256;

/// How many tasks of each peer may be in one place, or wait for it, at the same time.
#[derive(Debug)]
pub(crate) struct PeerTurns {
    of_one_peer: usize,
    peers: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl PeerTurns {
    pub(crate) fn new(of_one_peer: usize) -> PeerTurns {
        PeerTurns { of_one_peer, peers: Mutex::default() }
    }

    /// Waits for a turn of this peer. Its tasks take turns in the order of their calls.
    pub(crate) async fn acquire(&self, peer: &str) -> Option<OwnedSemaphorePermit> {
        let turns = {
            let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
            if peers.len() > MAX_IDLE {
                peers.retain(|_, turns| turns.strong_count() > 0);
            }
            let known = peers.get(peer).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let new = Arc::new(Semaphore::new(self.of_one_peer));
                peers.insert(peer.to_owned(), Arc::downgrade(&new));
                new
            })
        };
        turns.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_peer_waits_for_itself_only() {
        let turns = PeerTurns::new(1);
        let first = turns.acquire("alice").await.unwrap();
        let short = std::time::Duration::from_millis(20);
        assert!(tokio::time::timeout(short, turns.acquire("alice")).await.is_err());
        let other = turns.acquire("bob").await;
        assert!(other.is_some());
        drop(first);
        assert!(turns.acquire("alice").await.is_some());
    }
}
