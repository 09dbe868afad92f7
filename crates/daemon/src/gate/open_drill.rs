//! The pending drill: one at a time.

use std::sync::{Mutex, PoisonError};

use countersign_store::StoredRequest;
use countersign_types::id::Id;
use tokio::sync::MutexGuard;

/// The pending drill, if there is one.
#[derive(Debug, Default)]
pub struct OpenDrill {
    id: Mutex<Option<Id>>,
    making: tokio::sync::Mutex<()>,
}

impl OpenDrill {
    /// Loads the pending drill.
    pub fn new(pending: &[StoredRequest]) -> OpenDrill {
        let open = pending.iter().find(|stored| stored.request.requester.is_drill());
        let open = open.map(|stored| stored.request.id);
        OpenDrill { id: Mutex::new(open), making: tokio::sync::Mutex::default() }
    }

    /// Waits until no other drill is being created.
    pub async fn lock_creation(&self) -> MutexGuard<'_, ()> {
        self.making.lock().await
    }

    /// Its id.
    pub fn get(&self) -> Option<Id> {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets its id.
    pub fn set(&self, id: Option<Id>) {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }

    /// Removes an ended drill.
    pub fn ended(&self, id: Id) {
        let mut open = self.id.lock().unwrap_or_else(PoisonError::into_inner);
        open.take_if(|open| *open == id);
    }
}
