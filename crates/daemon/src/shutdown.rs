//! The stop signal of the daemon, which every long-running task receives.

use tokio::sync::watch;

/// Becomes true when the daemon stops.
pub type Stop = watch::Receiver<bool>;

/// Waits until the daemon stops.
pub async fn stopped(stop: &mut Stop) {
    // An error means that the sender is gone: the daemon has stopped as well.
    let _ = stop.wait_for(|stop| *stop).await;
}
