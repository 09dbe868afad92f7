//! The connections of one listener. When all its places are taken, a new connection takes the place
//! of the oldest one on which no request is being handled.
//!
//! A caller that sends its request slowly, or none, would otherwise keep others out for as long as
//! it likes. A request that was received completely is handled to its end, and a connection of a
//! signed-in person is never closed for another one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How often a full listener looks again for a connection that can be closed.
const RETRY: Duration = Duration::from_millis(5);
/// The part of the places that is freed at once: looking through all of them takes a while.
const BATCH: usize = 64;

/// A request is awaited, or a part of it.
const RECEIVING: u8 = 0;
/// A request was received completely and is being handled.
const HANDLING: u8 = 1;
/// A signed-in person uses it.
const SIGNED_IN: u8 = 2;
/// It makes room for another one.
const CLOSING: u8 = 3;

/// What one connection is used for.
#[derive(Debug)]
struct Connection {
    state: AtomicU8,
    /// The turn in which it began to wait for a request.
    since: AtomicU64,
    close: Notify,
}

/// The places of one listener.
#[derive(Debug)]
pub(super) struct Connections {
    limit: usize,
    places: Arc<Semaphore>,
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    turns: AtomicU64,
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub(super) struct OpenConnection {
    connections: Arc<Connections>,
    id: u64,
    connection: Arc<Connection>,
    _place: OwnedSemaphorePermit,
}

/// Through which the handling of a request says what its connection is used for.
#[derive(Debug, Clone)]
pub struct ConnectionUse {
    connections: Arc<Connections>,
    connection: Arc<Connection>,
}

impl Connections {
    pub(super) fn new(limit: usize) -> Arc<Connections> {
        Arc::new(Connections {
            limit,
            places: Arc::new(Semaphore::new(limit)),
            open: Mutex::default(),
            turns: AtomicU64::new(0),
        })
    }

    /// A place for a new connection, if need be that of the oldest one that is not in use.
    pub(super) async fn admit(self: &Arc<Connections>) -> OpenConnection {
        let place = loop {
            if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
                break place;
            }
            self.close_oldest();
            let freed = tokio::time::timeout(RETRY, Arc::clone(&self.places).acquire_owned());
            if let Ok(Ok(place)) = freed.await {
                break place;
            }
        };
        let id = self.next_turn();
        let connection = Arc::new(Connection {
            state: AtomicU8::new(RECEIVING),
            since: AtomicU64::new(id),
            close: Notify::new(),
        });
        self.lock().insert(id, Arc::clone(&connection));
        OpenConnection { connections: Arc::clone(self), id, connection, _place: place }
    }

    /// Closes the oldest connections that are not in use.
    fn close_oldest(&self) {
        let open = self.lock();
        let mut closing = 0;
        let mut unused: Vec<(u64, &Arc<Connection>)> = Vec::new();
        for connection in open.values() {
            match connection.state.load(Ordering::Acquire) {
                CLOSING => closing += 1,
                RECEIVING => {
                    unused.push((connection.since.load(Ordering::Relaxed), connection));
                }
                _ => {}
            }
        }
        let wanted = (self.limit / BATCH).max(1).saturating_sub(closing);
        unused.sort_unstable_by_key(|(since, _)| *since);
        for (_, connection) in unused.into_iter().take(wanted) {
            // It may have received its request meanwhile.
            if connection.change(RECEIVING, CLOSING) {
                connection.close.notify_one();
            }
        }
    }

    fn next_turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    fn change(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl OpenConnection {
    /// For the requests of this connection.
    pub(super) fn usage(&self) -> ConnectionUse {
        let (connections, connection) = (&self.connections, &self.connection);
        ConnectionUse { connections: Arc::clone(connections), connection: Arc::clone(connection) }
    }

    /// Waits until the connection must make room for another one.
    pub(super) async fn closed(&self) {
        self.connection.close.notified().await;
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.id);
    }
}

impl ConnectionUse {
    /// A request was received completely; nothing closes the connection while it is handled.
    /// Returns whether it may be handled: the connection may be closing already.
    pub(super) fn received(&self) -> bool {
        self.connection.change(RECEIVING, HANDLING)
            || self.connection.state.load(Ordering::Acquire) != CLOSING
    }

    /// The request was handled.
    pub(super) fn handled(&self) {
        self.connection.since.store(self.connections.next_turn(), Ordering::Relaxed);
        self.connection.change(HANDLING, RECEIVING);
    }

    /// A signed-in person uses the connection.
    pub fn signed_in(&self) {
        let _ = self.connection.change(RECEIVING, SIGNED_IN)
            || self.connection.change(HANDLING, SIGNED_IN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn has_room(connections: &Arc<Connections>) -> bool {
        tokio::time::timeout(RETRY * 4, connections.admit()).await.is_ok()
    }

    async fn is_closed(connection: &OpenConnection) -> bool {
        tokio::time::timeout(Duration::ZERO, connection.closed()).await.is_ok()
    }

    #[tokio::test]
    async fn the_oldest_connection_without_a_request_makes_room() {
        let connections = Connections::new(3);
        let (slow, busy, person) =
            (connections.admit().await, connections.admit().await, connections.admit().await);
        assert!(busy.usage().received());
        person.usage().signed_in();
        assert!(!has_room(&connections).await, "the slow one has not gone yet");
        assert!(is_closed(&slow).await && !is_closed(&busy).await && !is_closed(&person).await);
        assert!(!slow.usage().received(), "its request came too late");
        drop(slow);
        let idle = connections.admit().await;
        assert!(idle.usage().received());
        assert!(!has_room(&connections).await, "every connection is in use");
        assert!(!is_closed(&idle).await);
        // The older one is done later than the newer one.
        idle.usage().handled();
        busy.usage().handled();
        assert!(!has_room(&connections).await);
        assert!(is_closed(&idle).await && !is_closed(&busy).await);
        drop(idle);
        assert!(has_room(&connections).await);
        person.usage().handled();
        assert!(person.usage().received() && !is_closed(&person).await);
        assert_eq!(connections.lock().len(), 2, "{connections:?}");
    }
}
