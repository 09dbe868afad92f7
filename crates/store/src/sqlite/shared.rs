//! State shared by the writer, the readers and the callers.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};
use std::sync::{Mutex, PoisonError};

use tokio::sync::{broadcast, oneshot};

use super::deferred::DeferredJobs;
use super::options::SqliteOptions;
use super::revocations::Revocations;
use super::unsynced_passes::UnsyncedPasses;
use crate::error::StoreResult;
use crate::event::StoreEvent;
use crate::record::TreeHead;
use crate::waiters::EndWaiters;

/// Shared by all threads of a store.
#[derive(Debug)]
pub(super) struct Shared {
    pub options: SqliteOptions,
    pub unsynced_passes: UnsyncedPasses,
    pub deferred: DeferredJobs,
    pub waiters: EndWaiters,
    pub revocations: Revocations,
    pub events: broadcast::Sender<StoreEvent>,
    pub newest: AtomicI64,
    /// The number of commits since the store was opened.
    pub commits: AtomicU64,
    /// The last commit failed.
    pub failing: AtomicBool,
    /// No more jobs are accepted.
    pub closed: AtomicBool,
    close_request: Mutex<Option<oneshot::Sender<StoreResult<()>>>>,
    head: Mutex<TreeHead>,
}

impl Shared {
    pub fn new(
        options: SqliteOptions,
        unsynced_passes: UnsyncedPasses,
        newest: i64,
        (head, revocations): (TreeHead, Revocations),
    ) -> Shared {
        Shared {
            options,
            unsynced_passes,
            deferred: DeferredJobs::default(),
            waiters: EndWaiters::default(),
            revocations,
            events: broadcast::channel(4_096).0,
            newest: AtomicI64::new(newest),
            commits: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            close_request: Mutex::new(None),
            head: Mutex::new(head),
        }
    }

    /// Asks the writer to close.
    pub fn request_close(&self, sender: oneshot::Sender<StoreResult<()>>) {
        *self.close_request.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    }

    /// The receiver of the result, if the store is to be closed.
    pub fn take_close_request(&self) -> Option<oneshot::Sender<StoreResult<()>>> {
        self.close_request.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The head of the committed tree.
    pub fn head(&self) -> TreeHead {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_head(&self, head: TreeHead) {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner) = head;
    }
}
