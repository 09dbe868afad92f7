//! Proof of gate: what the doors of agents were found to be, and the alarm when one is not shut.
//!
//! The doors are tried by whoever runs the daemon (`countersign serve`); nobody can say anything
//! about them through the doors of the daemon itself.

mod known;
mod tell;

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
use serde::{Deserialize, Serialize};

use crate::courier::Lines;
use crate::gate::Gate;

use known::{Change, Known};

/// The file in the daemon's folder that remembers how the doors were found.
const FILE: &str = "doors.json";
/// The longest such file that is read.
const LONGEST: u64 = 1 << 20;
/// More doors than anybody has.
const MOST: usize = 500;
/// How much of a name and of a reason is kept.
const NAME: usize = 120;
const WHY: usize = 300;

/// How a door was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoorState {
    /// The forbidden call was refused.
    Shut,
    /// It would have run.
    Open,
    /// Nothing is known.
    NeverTested,
    /// There is no gate.
    NotGated,
}

impl DoorState {
    /// Its word in the ledger.
    pub const fn word(self) -> &'static str {
        match self {
            DoorState::Shut => "shut",
            DoorState::Open => "open",
            DoorState::NeverTested => "never_tested",
            DoorState::NotGated => "not_gated",
        }
    }
}

/// One door that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Door {
    /// Its name, such as `Claude Code`.
    pub name: String,
    /// How it was found.
    pub state: DoorState,
    /// What was seen.
    pub why: String,
}

/// What one proof found, or why there is none.
pub type Round = Result<Vec<Door>, String>;

/// What is known of the doors.
#[derive(Debug, Default)]
pub struct Proofs {
    known: Mutex<Known>,
    file: Option<PathBuf>,
    /// Held by who tells people.
    telling: tokio::sync::Mutex<()>,
}

/// What is known, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Doors that were found open, or lost.
    pub open: usize,
    /// Doors that were found shut.
    pub shut: usize,
    /// When they were last tried.
    pub last: Option<Timestamp>,
    /// Whether the last attempt to try them failed.
    pub failed: bool,
}

impl Proofs {
    /// What was remembered in the daemon's folder. Where the doors are not tried, nothing holds
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
                tracing::warn!(%error, "what was known of the agents' doors cannot be read");
            }
            Known::default()
        });
        Proofs { known: Mutex::new(known), file: Some(file), ..Proofs::default() }
    }

    /// In numbers.
    pub fn counts(&self) -> Counts {
        self.lock().counts()
    }

    /// What is wrong now, one sentence each; empty if nothing is.
    pub fn alarms(&self) -> Vec<String> {
        self.lock().alarms()
    }

    fn take(&self, round: Round, now: Timestamp) -> Vec<Change> {
        self.change(|known| {
            let changes = known.take(round, now);
            known.owe(&changes);
            changes
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.lock();
        let result = change(&mut known);
        if let Some(file) = &self.file
            && let Err(error) = write(file, &known)
        {
            tracing::error!(%error, "what is known of the agents' doors was not kept");
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is wrong by the file of a daemon, for who may read it.
pub fn remembered(state: &Path) -> Vec<String> {
    read(&state.join(FILE)).map(|known| known.alarms()).unwrap_or_default()
}

fn read(file: &Path) -> io::Result<Known> {
    let mut text = String::new();
    io::Read::read_to_string(&mut io::Read::take(fs::File::open(file)?, LONGEST), &mut text)?;
    Ok(serde_json::from_str(&text)?)
}

/// Whole or not at all.
fn write(file: &Path, known: &Known) -> io::Result<()> {
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
    lines: Arc<Lines>,
    proofs: Arc<Proofs>,
}

impl Alarm {
    /// For a daemon.
    pub(crate) fn new(gate: Arc<Gate>, lines: Arc<Lines>, proofs: Arc<Proofs>) -> Alarm {
        Alarm { gate, lines, proofs }
    }

    /// Whether the gate is to hold anything: while it only watches, every door is open by intent.
    pub fn is_enforced(&self) -> bool {
        self.gate.rules().mode == Mode::Enforce
    }

    /// What a proof found. What has changed is logged, written down, and told to people at once.
    pub async fn take(&self, round: Round) {
        let round = round.map(bounded).map_err(|why| plain(&why, WHY));
        let changes = self.proofs.take(round, self.gate.clock().now().at);
        if !changes.is_empty() {
            self.write_down(&changes).await;
        }
        // Channels that fail are tried again for a while; the next proof does not wait for that.
        let alarm = self.clone();
        tokio::spawn(async move { alarm.tell().await });
    }

    async fn write_down(&self, changes: &[Change]) {
        let policy = self.gate.rules().hash;
        let mut entries = Vec::new();
        for change in changes {
            let (door, state) = (change.door.as_str(), change.state);
            if change.is_alarm {
                tracing::error!(door, state, "{}", change.say);
            } else {
                tracing::warn!(door, state, "{}", change.say);
            }
            let kind = if change.is_alarm { Kind::DoorOpen } else { Kind::DoorShut };
            let mut entry = Entry::new(0, kind, policy);
            let fact = |text: &str| Value::String(text.to_owned().into());
            entry.facts = vec![("door".into(), fact(door)), ("state".into(), fact(state))];
            entries.push(entry);
        }
        if let Err(error) = self.gate.store().append(entries).await {
            tracing::error!(%error, "what was found at the agents' doors was not written down");
        }
    }

    /// Tells what nobody was told yet. Where nobody can be reached, the next proof tries again.
    async fn tell(&self) {
        let Ok(_telling) = self.proofs.telling.try_lock() else { return };
        loop {
            let untold = self.proofs.lock().untold().to_vec();
            if untold.is_empty() {
                return;
            }
            if !tell::tell(&self.gate, &self.lines, &untold.join(" ")).await {
                tracing::error!("nobody could be told of the agents' gates");
                return;
            }
            self.proofs.change(|known| known.told(&untold));
        }
    }
}

/// What a hook says may be anything: made visible, without secrets, and short.
fn bounded(doors: Vec<Door>) -> Vec<Door> {
    let door = |door: Door| Door {
        name: plain(&door.name, NAME),
        why: plain(&door.why, WHY),
        state: door.state,
    };
    doors.into_iter().take(MOST).map(door).collect()
}

fn plain(text: &str, most: usize) -> String {
    show_within(&redact_text(text).text, most).text.into_owned()
}

#[cfg(test)]
mod tests;
