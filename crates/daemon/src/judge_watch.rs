//! The judge's background: opinions while people are asked, canaries, and what it knew before.

use std::sync::Arc;
use std::time::Duration;

use countersign_types::time::Clock as _;
use tokio::task::JoinSet;

use crate::gate::Gate;
use crate::shutdown::{Stop, stopped};

/// How often it is checked whether the canaries are due.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// Opinions that are formed at once; the client has a limit of its own.
const MAX_TASKS: usize = 64;

/// Works until the daemon stops.
pub async fn run(gate: Arc<Gate>, mut stop: Stop) {
    let Some(mut jobs) = gate.judge().take_jobs() else { return };
    let mut tasks: JoinSet<()> = JoinSet::new();
    loop {
        if let Some(judge) = gate.judge().current() {
            if !judge.is_restored()
                && let Err(error) = gate.restore_judge(&judge).await
            {
                tracing::error!(%error, "the model judge does not know earlier decisions");
            }
            if judge.begin_canaries(gate.clock().now().at) {
                let gate = Arc::clone(&gate);
                tasks.spawn(async move { gate.test_judge(&judge).await });
            }
        }
        tokio::select! {
            Some(job) = jobs.recv(), if tasks.len() < MAX_TASKS => {
                let gate = Arc::clone(&gate);
                tasks.spawn(async move { gate.form_opinion(job).await });
            }
            Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
            () = tokio::time::sleep(CHECK_EVERY) => {}
            () = stopped(&mut stop) => return,
        }
    }
}
