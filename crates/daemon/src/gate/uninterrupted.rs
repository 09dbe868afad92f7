//! Changes that go on when the client that asked for them disconnects.

use countersign_store::StoreError;
use tracing::Instrument as _;

/// Runs a change in a task of its own. If the future of a request ran it, a client that disconnects
/// while the store writes would leave the change in the ledger and not in force.
pub(super) async fn uninterrupted<T: Send + 'static>(
    change: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::spawn(change.in_current_span()).await;
    done.unwrap_or_else(|error| Err(StoreError::Unavailable(format!("the change failed: {error}"))))
}
