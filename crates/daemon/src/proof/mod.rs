//! The results of scheduled gate tests, and the alarm when an agent is not protected.
//!
//! `countersign serve` runs the tests in its own process. No request to the daemon can set or clear
//! a result.

mod history;
mod notify;
mod state;

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_redact::redact_text;
use countersign_risk::verdict::Mode;
use countersign_store::Store as _;
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::{Clock as _, Timestamp};

use crate::gate::Gate;
use crate::metrics::GateCounts;
use crate::notifier::ChannelPool;

use history::{GateChange, GateHistory};

pub use state::{GateReport, GateState, ProofResult};

/// The file in the daemon's folder with the last results.
const FILE: &str = "gates.json";
/// The longest such file.
const LONGEST: u64 = 1 << 20;
/// The most gates of one machine.
const MOST: usize = 500;
/// The longest name and the longest reason that are stored.
const NAME: usize = 120;
const WHY: usize = 300;

/// The results of all tests so far.
#[derive(Debug, Default)]
pub struct Proofs {
    known: Mutex<GateHistory>,
    file: Option<PathBuf>,
    /// Locked while people are told.
    telling: tokio::sync::Mutex<()>,
}

impl Proofs {
    /// Reads the results in the daemon's folder. Without tests, earlier results are dropped.
    pub fn open(state: &Path, is_tested: bool) -> Proofs {
        let file = state.join(FILE);
        if !is_tested {
            // Usually there is no file.
            let _ = fs::remove_file(file);
            return Proofs::default();
        }
        let known = read(&file).unwrap_or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(%error, "the results of earlier gate tests cannot be read");
            }
            GateHistory::default()
        });
        Proofs { known: Mutex::new(known), file: Some(file), ..Proofs::default() }
    }

    /// The results in numbers.
    pub fn counts(&self) -> GateCounts {
        self.lock().counts()
    }

    /// The active alarms, one sentence each.
    pub fn alarms(&self) -> Vec<String> {
        self.lock().alarms()
    }

    fn take(&self, round: ProofResult, now: Timestamp) -> Vec<GateChange> {
        self.change(|known| {
            let changes = known.take(round, now);
            known.queue(&changes);
            changes
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut GateHistory) -> T) -> T {
        let mut known = self.lock();
        let result = change(&mut known);
        if let Some(file) = &self.file
            && let Err(error) = write(file, &known)
        {
            tracing::error!(%error, "the results of the gate test could not be stored");
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, GateHistory> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The active alarms in the file of a daemon, for users who may read it.
pub fn saved_alarms(state: &Path) -> Vec<String> {
    read(&state.join(FILE)).map(|known| known.alarms()).unwrap_or_default()
}

fn read(file: &Path) -> io::Result<GateHistory> {
    let mut text = String::new();
    io::Read::read_to_string(&mut io::Read::take(fs::File::open(file)?, LONGEST), &mut text)?;
    Ok(serde_json::from_str(&text)?)
}

/// Writes the file atomically.
fn write(file: &Path, known: &GateHistory) -> io::Result<()> {
    let draft = file.with_extension("new");
    let mut options = OpenOptions::new();
    let mut out = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    out.write_all(serde_json::to_string_pretty(known)?.as_bytes())?;
    fs::rename(draft, file)
}

/// Receives the results of each test and raises alarms.
#[derive(Clone)]
pub struct Alarm {
    gate: Arc<Gate>,
    channels: Arc<ChannelPool>,
    proofs: Arc<Proofs>,
}

impl Alarm {
    /// For a daemon.
    pub(crate) fn new(gate: Arc<Gate>, channels: Arc<ChannelPool>, proofs: Arc<Proofs>) -> Alarm {
        Alarm { gate, channels, proofs }
    }

    /// Whether the daemon holds calls. In the other modes every gate lets calls pass by intent.
    pub fn is_enforced(&self) -> bool {
        self.gate.rules().mode == Mode::Enforce
    }

    /// Takes the results of a test. Changes are logged, recorded and announced at once.
    pub async fn take(&self, round: ProofResult) {
        let round = round.map(bounded).map_err(|why| plain(&why, WHY));
        let changes = self.proofs.take(round, self.gate.clock().now().at);
        if !changes.is_empty() {
            self.record(&changes).await;
        }
        // Failing channels are retried for a while; the next test does not wait for them.
        let alarm = self.clone();
        tokio::spawn(async move { alarm.tell().await });
    }

    async fn record(&self, changes: &[GateChange]) {
        let policy = self.gate.rules().hash;
        let mut entries = Vec::new();
        for change in changes {
            let (gate, state) = (change.gate.as_str(), change.state);
            if change.is_alarm {
                tracing::error!(gate, state, "{}", change.say);
            } else {
                tracing::warn!(gate, state, "{}", change.say);
            }
            let kind =
                if change.is_alarm { EntryKind::GateUnprotected } else { EntryKind::GateProtected };
            let mut entry = Entry::new(0, kind, policy);
            let fact = |text: &str| Value::String(text.to_owned().into());
            entry.facts = vec![("gate".into(), fact(gate)), ("state".into(), fact(state))];
            entries.push(entry);
        }
        if let Err(error) = self.gate.store().append(entries).await {
            tracing::error!(%error, "the results of the gate test could not be recorded");
        }
    }

    /// Announces changes that were not announced yet. If every channel fails, the next test
    /// retries.
    async fn tell(&self) {
        let Ok(_telling) = self.proofs.telling.try_lock() else { return };
        loop {
            let unsent = self.proofs.lock().unsent().to_vec();
            if unsent.is_empty() {
                return;
            }
            if !notify::notify(&self.gate, &self.channels, &unsent.join(" ")).await {
                tracing::error!("no channel could deliver the alarm about an agent's gate");
                return;
            }
            self.proofs.change(|known| known.mark_sent(&unsent));
        }
    }
}

/// The text of a hook can be anything: it is sanitized, redacted and shortened.
fn bounded(gates: Vec<GateReport>) -> Vec<GateReport> {
    let gate = |gate: GateReport| GateReport {
        name: plain(&gate.name, NAME),
        why: plain(&gate.why, WHY),
        state: gate.state,
    };
    gates.into_iter().take(MOST).map(gate).collect()
}

fn plain(text: &str, most: usize) -> String {
    sanitize_within(&redact_text(text).text, most).text.into_owned()
}

#[cfg(test)]
mod tests;
