//! Changes that people began and that are not done yet: the daemon waits for them when it stops.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, RwLock};

/// Each change holds the lock for reading, and the end of the daemon waits to write it.
#[derive(Debug, Default)]
pub struct ChangesInProgress(Arc<RwLock<()>>);

impl ChangesInProgress {
    /// Begins a change, which lasts until the guard is dropped.
    pub async fn begin(&self) -> OwnedRwLockReadGuard<()> {
        Arc::clone(&self.0).read_owned().await
    }

    /// Waits for the changes that have begun; none begins meanwhile.
    pub async fn ended(&self) {
        drop(self.0.write().await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::task::Poll;

    #[tokio::test]
    async fn the_end_waits_for_what_has_begun() {
        let changes = ChangesInProgress::default();
        let (first, second) = (changes.begin().await, changes.begin().await);
        let mut ended = Box::pin(changes.ended());
        let mut is_over =
            async || poll_fn(|context| Poll::Ready(ended.as_mut().poll(context).is_ready())).await;
        assert!(!is_over().await);
        drop(first);
        assert!(!is_over().await);
        drop(second);
        assert!(is_over().await);
    }
}
