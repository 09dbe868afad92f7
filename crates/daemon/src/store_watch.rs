//! Watches the store: compares it with the ledger mark at the start, raises the mark and stores
//! what sessions did while the daemon runs, and notices a replaced file.

use std::sync::Arc;
use std::time::Duration;

use countersign_store::StoreError;
use countersign_types::time::Clock as _;

use crate::config::DaemonConfig;
use crate::gate::Gate;
use crate::keys::Keys;
use crate::ledger_mark::LedgerMark;
use crate::recorded_settings::RecordedSettings;
use crate::shutdown::{Stop, stopped};

/// How often the mark is raised while the ledger grows.
const INTERVAL: Duration = Duration::from_secs(1);

/// Compares the store with the ledger mark; stops approvals if it is not the store that was signed
/// last. Returns what its ledger says about the settings in force.
pub async fn check_store(
    gate: &Gate,
    keys: &Arc<Keys>,
    config: &DaemonConfig,
) -> Result<RecordedSettings, StoreError> {
    let about = (config.store.as_path(), config.rules.mode);
    let recorded = RecordedSettings::read(gate.store()).await?;
    let opened = LedgerMark::open(&config.state, Arc::clone(keys), gate.store(), about, &recorded);
    let (mark, fault) = opened.await?;
    gate.integrity().set_mark(mark);
    if let Some(fault) = fault {
        gate.integrity().halt(fault);
    } else if let Some(mark) = gate.integrity().mark() {
        // No acknowledgement is later than the ledger, unless the clock was rebased since then.
        mark.void_at_most_until(gate.clock().now().at);
    }
    gate.restore_freeze(recorded.freeze.clone()).await?;
    gate.restore_quarantines().await?;
    gate.apply_confirmed_mode().await?;
    // The marker for gateways depends on both, and must not be removed in between.
    gate.use_adopted_projects(&config.state, keys, &recorded);
    gate.use_confirmed_policy(&config.state, keys, &recorded).await?;
    gate.use_confirmed_settings(&recorded).await?;
    // A row that cannot be read must not keep the daemon from its start.
    if let Err(error) = gate.give_up_unapplied_changes(&recorded.settled_changes).await {
        tracing::error!(%error, "approved changes of the rules that were not applied are unknown");
    }
    Ok(recorded)
}

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
        gate.restore_markers();
        gate.news().take().into_iter().for_each(&announce);
        gate.save_session_memories().await;
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = stopped(&mut stop) => return gate.save_session_memories().await,
        }
    }
}
