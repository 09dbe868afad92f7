//! Changes of the configuration: recorded, announced with their difference, and applied.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use countersign_ledger::entry::{Entry, EntryKind};
use countersign_risk::verdict::Mode;
use countersign_store::{Store as _, StoreError};
use countersign_types::time::Clock as _;

use crate::config::{DaemonConfig, Paths, WrittenSettings, announced, mode_name};
use crate::gate::Gate;
use crate::notifier::{self, ChannelPool};
use crate::recorded_settings::{with_changes, written_digest, written_fact};
use crate::tls::DaemonTls;

/// The settings of the last start, beside the key.
const SETTINGS: &str = "settings.json";
/// How long a reload waits until its changes are announced.
const ANNOUNCE_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the configuration again while the daemon runs.
pub struct Reloader {
    gate: Arc<Gate>,
    channels: Arc<ChannelPool>,
    paths: Paths,
    tls: Option<Arc<DaemonTls>>,
}

impl Reloader {
    pub(crate) fn new(
        gate: Arc<Gate>,
        channels: Arc<ChannelPool>,
        paths: Paths,
        tls: Option<Arc<DaemonTls>>,
    ) -> Reloader {
        Reloader { gate, channels, paths, tls }
    }

    /// Reads the TLS certificate and the configuration again; an invalid one changes nothing.
    /// Changes are announced first through the channels in force, because the new file may have
    /// none.
    pub async fn reload(&self) {
        if let Some(tls) = &self.tls {
            tls.refresh(self.gate.clock().now().at);
        }
        let config = match DaemonConfig::load(&self.paths) {
            Ok(config) => config,
            Err(error) => {
                tracing::error!(%error, "configuration not reloaded: invalid file");
                return;
            }
        };
        let gate = &self.gate;
        let (written, old) = (config.rules.written.clone(), gate.rules());
        let changes = old.written.changes(&written);
        if !changes.is_empty() {
            let text = format!("The configuration changes: {}.", announced(&changes));
            let told = notifier::broadcast(gate, &self.channels, &text);
            let _ = tokio::time::timeout(ANNOUNCE_TIMEOUT, told).await;
        }
        if let Err(error) = gate.change_rules(config.rules).await {
            tracing::error!(%error, "configuration not reloaded: ledger failed");
            return;
        }
        tracing::info!(policy = %gate.rules().hash, "configuration reloaded");
        remember(&self.paths.state.join(SETTINGS), &written);
        if let Some(text) = describe_changes(gate, &[]) {
            tracing::warn!("{text}");
            notifier::broadcast(gate, &self.channels, &text).await;
        }
    }
}

/// What changed in the configuration since the last start, after it is in the ledger. `recorded`:
/// the digest of the settings then, by the ledger.
pub async fn changes_since_last_start(
    gate: &Gate,
    config: &DaemonConfig,
    recorded: Option<&str>,
) -> Result<Vec<String>, StoreError> {
    let file = config.state.join(SETTINGS);
    let written = &config.rules.written;
    let found = fs::read_to_string(&file).ok();
    let before = found.as_deref().and_then(WrittenSettings::from_json);
    let mut changes = before.map(|before| before.changes(written)).unwrap_or_default();
    let is_forged =
        recorded.is_some() && found.as_deref().map(written_digest).as_deref() != recorded;
    let now = written_fact(&written.to_json());
    let is_new = recorded != now.1.as_str();
    if is_forged && is_new {
        let unknown = format!("{SETTINGS} was deleted or changed, so what changed is unknown");
        changes.insert(0, unknown);
    }
    if is_new {
        let mut entry = Entry::new(0, EntryKind::Config, gate.rules().hash);
        entry.facts.push(now);
        gate.store().append(with_changes(entry, &changes)).await?;
    }
    remember(&file, written);
    Ok(changes)
}

/// Writes down the settings for the next start. If that fails, the next start cannot name changes.
fn remember(file: &Path, written: &WrittenSettings) {
    if let Err(error) = fs::write(file, written.to_json()) {
        tracing::warn!(%error, "the settings were not written down for the next start");
    }
}

/// The sentence about changes of the configuration, and about a mode that waits.
pub fn describe_changes(gate: &Gate, changes: &[String]) -> Option<String> {
    let mut text = String::new();
    if !changes.is_empty() {
        text = format!("The configuration changed: {}.", announced(changes));
    }
    if let Some(mode) = gate.requested_mode() {
        let (asked, holds) = (mode_name(mode), mode_name(gate.rules().mode));
        let _ = write!(
            text,
            " The mode {asked} waits for an administrator's confirmation (countersign config \
             confirm-mode {asked}); {holds} stays in force."
        );
    }
    if let Some(requested) = gate.requested_policy() {
        let hash = requested.policy.hash().to_string();
        let _ = write!(
            text,
            " Policy rules wait for an administrator's confirmation (countersign policy confirm \
             {}): {}. The rules before stay in force.",
            hash.get(..16).unwrap_or(&hash),
            requested.changes.join("; ")
        );
    }
    if let Some(requested) = gate.requested_settings() {
        let hash = requested.hash();
        let _ = write!(
            text,
            " Settings wait for an administrator's confirmation (countersign config confirm {}): \
             {}. The settings before stay in force.",
            hash.get(..16).unwrap_or(&hash),
            requested.changes.join("; ")
        );
    }
    let lost: Vec<String> = gate.lost_projects().into_iter().collect();
    if !lost.is_empty() {
        let _ = write!(
            text,
            " The adopted policy rules of {} are lost, because policy.adopted was deleted or \
             replaced: every call there is a question until an administrator runs countersign \
             policy adopt or countersign policy revoke for this folder.",
            lost.join(", ")
        );
    }
    if gate.rules().mode != Mode::Enforce {
        text.push_str(" The gate does not block risky calls: its mode is not enforce.");
    }
    (!text.is_empty()).then(|| text.trim().to_owned())
}
