//! Proof of gate: what the gates of agents were found to be, and the alarm when one is not shut.
//!
//! The gates are tried by whoever runs the daemon (`countersign serve`); nobody can say anything
//! about them through the gates of the daemon itself.

mod history;
mod notify;
mod state;

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_json::Value;
use countersign_ledger::entry::{Entry, Kind};
use countersign_redact::redact_text;
use countersign_risk::verdict::Mode;
use countersign_store::Store as _;
use countersign_text::sanitize::show_within;
use countersign_types::time::{Clock as _, Timestamp};

use crate::gate::Gate;
use crate::notifier::ChannelPool;

use history::{GateChange, GateHistory};

pub use state::{AgentGate, GateCounts, GateState, ProofResult};

/// The file in the daemon's folder that remembers how the gates were found.
const FILE: &str = "gates.json";
/// The longest such file that is read.
const LONGEST: u64 = 1 << 20;
/// More gates than anybody has.
const MOST: usize = 500;
/// How much of a name and of a reason is kept.
const NAME: usize = 120;
const WHY: usize = 300;

/// What is known of the gates.
#[derive(Debug, Default)]
pub struct Proofs {
    known: Mutex<GateHistory>,
    file: Option<PathBuf>,
    /// Held by who tells people.
    telling: tokio::sync::Mutex<()>,
}

impl Proofs {
    /// What was remembered in the daemon's folder. Where the gates are not tried, nothing holds
    /// that was found earlier.
    pub fn open(state: &Path, are_tried: bool) -> Proofs {
        let file = state.join(FILE);
        if !are_tried {
            // Mostly there is none.
            let _ = fs::remove_file(file);
            return Proofs::default();
        }
        let known = read(&file).unwrap_or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(%error, "what was known of the agents' gates cannot be read");
            }
            GateHistory::default()
        });
        Proofs { known: Mutex::new(known), file: Some(file), ..Proofs::default() }
    }

    /// In numbers.
    pub fn counts(&self) -> GateCounts {
        self.lock().counts()
    }

    /// What is wrong now, one sentence each; empty if nothing is.
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
            tracing::error!(%error, "what is known of the agents' gates was not kept");
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, GateHistory> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is wrong by the file of a daemon, for who may read it.
pub fn saved_alarms(state: &Path) -> Vec<String> {
    read(&state.join(FILE)).map(|known| known.alarms()).unwrap_or_default()
}

fn read(file: &Path) -> io::Result<GateHistory> {
    let mut text = String::new();
    io::Read::read_to_string(&mut io::Read::take(fs::File::open(file)?, LONGEST), &mut text)?;
    Ok(serde_json::from_str(&text)?)
}

/// Whole or not at all.
fn write(file: &Path, known: &GateHistory) -> io::Result<()> {
    let draft = file.with_extension("new");
    let mut options = OpenOptions::new();
    let mut out = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    out.write_all(serde_json::to_string_pretty(known)?.as_bytes())?;
    fs::rename(draft, file)
}

/// Takes what each proof found, and raises the alarm where that is needed.
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

    /// Whether the gate is to hold anything: while it only watches, every gate is open by intent.
    pub fn is_enforced(&self) -> bool {
        self.gate.rules().mode == Mode::Enforce
    }

    /// What a proof found. What has changed is logged, written down, and told to people at once.
    pub async fn take(&self, round: ProofResult) {
        let round = round.map(bounded).map_err(|why| plain(&why, WHY));
        let changes = self.proofs.take(round, self.gate.clock().now().at);
        if !changes.is_empty() {
            self.write_down(&changes).await;
        }
        // Channels that fail are tried again for a while; the next proof does not wait for that.
        let alarm = self.clone();
        tokio::spawn(async move { alarm.tell().await });
    }

    async fn write_down(&self, changes: &[GateChange]) {
        let policy = self.gate.rules().hash;
        let mut entries = Vec::new();
        for change in changes {
            let (gate, state) = (change.gate.as_str(), change.state);
            if change.is_alarm {
                tracing::error!(gate, state, "{}", change.say);
            } else {
                tracing::warn!(gate, state, "{}", change.say);
            }
            let kind = if change.is_alarm { Kind::DoorOpen } else { Kind::DoorShut };
            let mut entry = Entry::new(0, kind, policy);
            let fact = |text: &str| Value::String(text.to_owned().into());
            entry.facts = vec![("gate".into(), fact(gate)), ("state".into(), fact(state))];
            entries.push(entry);
        }
        if let Err(error) = self.gate.store().append(entries).await {
            tracing::error!(%error, "what was found at the agents' gates was not written down");
        }
    }

    /// Tells what nobody was told yet. Where nobody can be reached, the next proof tries again.
    async fn tell(&self) {
        let Ok(_telling) = self.proofs.telling.try_lock() else { return };
        loop {
            let unsent = self.proofs.lock().unsent().to_vec();
            if unsent.is_empty() {
                return;
            }
            if !notify::notify(&self.gate, &self.channels, &unsent.join(" ")).await {
                tracing::error!("nobody could be told of the agents' gates");
                return;
            }
            self.proofs.change(|known| known.mark_sent(&unsent));
        }
    }
}

/// What a hook says may be anything: made visible, without secrets, and short.
fn bounded(gates: Vec<AgentGate>) -> Vec<AgentGate> {
    let gate = |gate: AgentGate| AgentGate {
        name: plain(&gate.name, NAME),
        why: plain(&gate.why, WHY),
        state: gate.state,
    };
    gates.into_iter().take(MOST).map(gate).collect()
}

fn plain(text: &str, most: usize) -> String {
    show_within(&redact_text(text).text, most).text.into_owned()
}

#[cfg(test)]
mod tests;
