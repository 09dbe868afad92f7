//! Ends reviews whose time is over, and completes roll-backs that were interrupted.

use std::sync::Arc;
use std::time::Duration;

use crate::gate::Gate;
use crate::shutdown::{Stop, stopped};

/// How often it is checked.
const EVERY: Duration = Duration::from_secs(10);

/// Works until the daemon stops.
pub async fn run(gate: Arc<Gate>, mut stop: Stop) {
    loop {
        if let Err(error) = gate.follow_reviews().await {
            tracing::error!(%error, "reviews of calls that ran first were not followed");
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stopped(&mut stop) => return,
        }
    }
}
