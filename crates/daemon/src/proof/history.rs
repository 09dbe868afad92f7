//! The states of the gates from one test to the next: every change is announced once.

use std::collections::BTreeMap;

use countersign_types::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::state::{GateReport, GateState, ProofResult};
use crate::metrics::GateCounts;

/// The last results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateHistory {
    #[serde(default)]
    gates: BTreeMap<String, Seen>,
    /// Why the last test failed.
    #[serde(default)]
    failed: Option<String>,
    /// The time of the last test, in milliseconds.
    #[serde(default)]
    last: Option<i64>,
    /// Changes that were not announced yet.
    #[serde(default)]
    unsent: Vec<String>,
}

/// Older changes are still in the inbox and in the ledger.
const MAX_UNSENT: usize = 20;

/// One gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    state: GateState,
    /// The active alarm: the state that raised it, and its message.
    alarm: Option<(GateState, String)>,
}

/// A change that people have to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateChange {
    /// The gate; all gates if it is empty.
    pub gate: String,
    /// Its state.
    pub state: &'static str,
    /// Whether it is worse than before.
    pub is_alarm: bool,
    /// The message for people.
    pub say: String,
}

impl GateChange {
    fn new(gate: &str, state: &'static str, is_alarm: bool, say: String) -> GateChange {
        GateChange { gate: gate.to_owned(), state, is_alarm, say }
    }
}

impl GateHistory {
    /// Takes the results of a test and returns the changes.
    pub fn take(&mut self, round: ProofResult, now: Timestamp) -> Vec<GateChange> {
        let found = match round {
            Ok(found) => found,
            Err(why) => return self.test_failed(why),
        };
        let mut changes = Vec::new();
        if self.failed.take().is_some() {
            let say = "The agents' gates can be tested again.".to_owned();
            changes.push(GateChange::new("", "tested", false, say));
        }
        self.last = Some(now.0);
        let mut before = std::mem::take(&mut self.gates);
        for gate in worst_per_name(found) {
            let old = before.remove(&gate.name);
            let (alarm, change) = alarm_after(&gate, old.as_ref());
            changes.extend(change);
            self.gates.insert(gate.name, Seen { state: gate.state, alarm });
        }
        for (name, _) in before.into_iter().filter(|(_, seen)| seen.alarm.is_some()) {
            let say = format!("{name} is no longer installed; the alarm about it is resolved.");
            changes.push(GateChange::new(&name, "gone", false, say));
        }
        changes
    }

    /// After a failed test the gates keep their states.
    fn test_failed(&mut self, why: String) -> Vec<GateChange> {
        let say = format!(
            "The agents' gates could not be tested: {why}. It is unknown whether they block \
             calls. Run `countersign doctor`."
        );
        let is_new = self.failed.is_none();
        self.failed = Some(why);
        if is_new { vec![GateChange::new("", "untested", true, say)] } else { Vec::new() }
    }

    /// Adds changes to the list of those that people have to be told.
    pub fn queue(&mut self, changes: &[GateChange]) {
        self.unsent.extend(changes.iter().map(|change| change.say.clone()));
        let too_many = self.unsent.len().saturating_sub(MAX_UNSENT);
        self.unsent.drain(..too_many);
    }

    pub fn unsent(&self) -> &[String] {
        &self.unsent
    }

    /// Removes changes that people were told; a change that was added again meanwhile stays.
    pub fn mark_sent(&mut self, sent: &[String]) {
        for say in sent {
            if let Some(at) = self.unsent.iter().position(|unsent| unsent == say) {
                self.unsent.remove(at);
            }
        }
    }

    pub fn counts(&self) -> GateCounts {
        let count = |wanted: fn(&Seen) -> bool| self.gates.values().filter(|it| wanted(it)).count();
        GateCounts {
            unprotected: count(|seen| seen.alarm.is_some()),
            protected: count(|seen| seen.state == GateState::Protected),
            last: self.last.map(Timestamp),
            failed: self.failed.is_some(),
        }
    }

    pub fn alarms(&self) -> Vec<String> {
        let failed = self.failed.iter().map(|why| {
            format!("The agents' gates could not be tested: {why}. Run `countersign doctor`.")
        });
        let gates = self.gates.values().filter_map(|seen| Some(seen.alarm.as_ref()?.1.clone()));
        failed.chain(gates).collect()
    }
}

/// Of two gates with one name, the worse result counts.
fn worst_per_name(found: Vec<GateReport>) -> Vec<GateReport> {
    const fn badness(state: GateState) -> u8 {
        match state {
            GateState::Protected => 0,
            GateState::NoGate => 1,
            GateState::Untested => 2,
            GateState::Unprotected => 3,
        }
    }
    let mut gates: Vec<GateReport> = Vec::new();
    for gate in found {
        match gates.iter_mut().find(|known| known.name == gate.name) {
            Some(known) if badness(known.state) >= badness(gate.state) => {}
            Some(known) => *known = gate,
            None => gates.push(gate),
        }
    }
    gates
}

type ActiveAlarm = Option<(GateState, String)>;

/// The active alarm of a gate after this result, and the change to announce.
fn alarm_after(gate: &GateReport, old: Option<&Seen>) -> (ActiveAlarm, Option<GateChange>) {
    let GateReport { name, state, why } = gate;
    let why = why.trim_end_matches('.');
    let was = old.map(|seen| seen.state);
    let held = old.and_then(|seen| seen.alarm.clone());
    let alarmed = held.as_ref().map(|(state, _)| *state);
    let say = match state {
        GateState::Protected => {
            let over = held.is_some().then(|| {
                let say = format!("{name}: protected again.");
                GateChange::new(name, state.word(), false, say)
            });
            return (None, over);
        }
        GateState::Unprotected if alarmed == Some(GateState::Unprotected) => {
            return (held, None);
        }
        GateState::Unprotected => {
            format!("{name}: NOT PROTECTED: {why}. Run `countersign doctor`.")
        }
        // People who were already alarmed are not told again.
        GateState::Untested if alarmed.is_some() => return (held, None),
        GateState::Untested if was == Some(GateState::Protected) => format!(
            "{name}: was protected and can no longer be tested: {why}. Run `countersign doctor`."
        ),
        // A person may have removed it on purpose: it is announced once.
        GateState::NoGate
            if was == Some(GateState::Protected) || was != Some(*state) && alarmed.is_some() =>
        {
            format!(
                "{name}: NOT PROTECTED: the gate was removed, so its calls run without a check."
            )
        }
        GateState::Untested | GateState::NoGate => return (None, None),
    };
    let change = GateChange::new(name, state.word(), true, say.clone());
    (Some((*state, say)), Some(change))
}
