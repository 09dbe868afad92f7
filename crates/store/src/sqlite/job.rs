//! Jobs of the writer thread.

use countersign_types::time::Clock;

use super::batch::Batch;
use crate::error::StoreError;

/// Sends the result of a job to its caller, or the error of the commit.
pub(super) type Reply = Box<dyn FnOnce(Option<StoreError>) + Send>;

/// Runs inside a commit and returns the reply; without a commit it only returns the reply.
pub(super) type Work = Box<dyn FnOnce(Option<(&mut Batch<'_>, &dyn Clock)>) -> Reply + Send>;

/// A message to the writer thread.
pub(super) enum Job {
    /// Work for the next commit.
    Work(Work),
    /// Wakes the writer: there are unsynced passes, deferred jobs or a request to close.
    Wake,
}
