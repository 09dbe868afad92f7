//! What the writer, the readers and the callers have in common.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};
use std::sync::{Mutex, PoisonError};

use tokio::sync::{broadcast, oneshot};

use super::later::Later;
use super::options::SqliteOptions;
use super::passes::Passes;
use crate::StoreResult;
use crate::record::TreeHead;
use crate::wake::{EndWaiters, StoreEvent};

/// Shared by all threads of a store.
#[derive(Debug)]
pub(super) struct Shared {
    pub options: SqliteOptions,
    pub passes: Passes,
    pub later: Later,
    pub waiting: EndWaiters,
    pub news: broadcast::Sender<StoreEvent>,
    pub newest: AtomicI64,
    /// Commits since it was opened.
    pub commits: AtomicU64,
    /// The newest commit failed.
    pub failing: AtomicBool,
    /// Nothing is taken any more.
    pub closed: AtomicBool,
    closing: Mutex<Option<oneshot::Sender<StoreResult<()>>>>,
    head: Mutex<TreeHead>,
}

impl Shared {
    pub fn new(options: SqliteOptions, passes: Passes, newest: i64, head: TreeHead) -> Shared {
        Shared {
            options,
            passes,
            later: Later::default(),
            waiting: EndWaiters::default(),
            news: broadcast::channel(4_096).0,
            newest: AtomicI64::new(newest),
            commits: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            closing: Mutex::new(None),
            head: Mutex::new(head),
        }
    }

    /// Asks the writer to close.
    pub fn close(&self, answer: oneshot::Sender<StoreResult<()>>) {
        *self.closing.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }

    /// Whether somebody wants it closed, and whom to tell.
    pub fn closing(&self) -> Option<oneshot::Sender<StoreResult<()>>> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The tree as committed.
    pub fn head(&self) -> TreeHead {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_head(&self, head: TreeHead) {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner) = head;
    }
}
