//! Watches the store while the daemon runs: raises the ledger mark, and notices a replaced file.

use std::sync::Arc;
use std::time::Duration;

use crate::gate::Gate;
use crate::listeners::{self, Stop};

/// How often the mark is raised while the ledger grows.
const INTERVAL: Duration = Duration::from_secs(1);

/// Raises the mark and checks the file of the store, until the daemon stops.
pub async fn run(gate: Arc<Gate>, announce: impl Fn(String) + Send, mut stop: Stop) {
    loop {
        if let Some(fault) = gate.check_file()
            && gate.integrity().halt(fault.clone())
        {
            announce(fault.advice());
        }
        if let Err(error) = gate.raise_mark().await {
            tracing::error!(%error, "the ledger mark was not written");
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = listeners::stopped(&mut stop) => return,
        }
    }
}
