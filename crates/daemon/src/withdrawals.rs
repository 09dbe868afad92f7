//! Withdraws the questions of agents that stopped while they waited.

use std::sync::Arc;
use std::time::Duration;

use crate::gate::Gate;
use crate::shutdown::{Stop, stopped};

/// How often stopped agents are looked for.
const INTERVAL: Duration = Duration::from_secs(5);

/// Runs until the daemon stops.
pub async fn run(gate: Arc<Gate>, mut stop: Stop) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = stopped(&mut stop) => return,
        }
        if let Err(error) = gate.withdraw_abandoned().await {
            tracing::error!(%error, "the question of a stopped agent was not withdrawn");
        }
    }
}
