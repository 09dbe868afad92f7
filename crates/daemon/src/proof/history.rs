//! How the gates were found, from one proof to the next: what has changed is said once.

use std::collections::BTreeMap;

use countersign_types::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::state::{AgentGate, GateCounts, GateState, ProofResult};

/// All that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateHistory {
    #[serde(default)]
    gates: BTreeMap<String, Seen>,
    /// Why the gates could not be tried the last time.
    #[serde(default)]
    failed: Option<String>,
    /// When they were last tried, in milliseconds.
    #[serde(default)]
    last: Option<i64>,
    /// What nobody could be told yet.
    #[serde(default)]
    unsent: Vec<String>,
}

/// What is older is on the inbox's page and in the ledger.
const MOST_UNTOLD: usize = 20;

/// One gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    state: GateState,
    /// The alarm that holds: how the gate was found then, and what was said.
    alarm: Option<(GateState, String)>,
}

/// Something that people have to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateChange {
    /// Which gate; all of them if nothing is said.
    pub gate: String,
    /// Its state, in one word.
    pub state: &'static str,
    /// Whether it is worse than before.
    pub is_alarm: bool,
    /// For people.
    pub say: String,
}

impl GateChange {
    fn new(gate: &str, state: &'static str, is_alarm: bool, say: String) -> GateChange {
        GateChange { gate: gate.to_owned(), state, is_alarm, say }
    }
}

impl GateHistory {
    /// Takes what a proof found; what is new.
    pub fn take(&mut self, round: ProofResult, now: Timestamp) -> Vec<GateChange> {
        let found = match round {
            Ok(found) => found,
            Err(why) => return self.record_failure(why),
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
            let (alarm, change) = alarm_for(&gate, old.as_ref());
            changes.extend(change);
            self.gates.insert(gate.name, Seen { state: gate.state, alarm });
        }
        for (name, _) in before.into_iter().filter(|(_, seen)| seen.alarm.is_some()) {
            let say = format!("{name} is no longer there: the alarm about its gate is over.");
            changes.push(GateChange::new(&name, "gone", false, say));
        }
        changes
    }

    /// The gates keep their state: nothing new is known about them.
    fn record_failure(&mut self, why: String) -> Vec<GateChange> {
        let say = format!(
            "The agents' gates could not be tested: {why}. Nobody knows whether \
                           they are shut. Run `countersign doctor`."
        );
        let is_new = self.failed.is_none();
        self.failed = Some(why);
        if is_new { vec![GateChange::new("", "untested", true, say)] } else { Vec::new() }
    }

    /// Remembers what has to be told.
    pub fn queue(&mut self, changes: &[GateChange]) {
        self.unsent.extend(changes.iter().map(|change| change.say.clone()));
        let too_many = self.unsent.len().saturating_sub(MOST_UNTOLD);
        self.unsent.drain(..too_many);
    }

    pub fn unsent(&self) -> &[String] {
        &self.unsent
    }

    /// These were told. What was said again meanwhile is still owed.
    pub fn mark_sent(&mut self, mark_sent: &[String]) {
        for say in mark_sent {
            if let Some(at) = self.unsent.iter().position(|owed| owed == say) {
                self.unsent.remove(at);
            }
        }
    }

    pub fn counts(&self) -> GateCounts {
        let count = |wanted: fn(&Seen) -> bool| self.gates.values().filter(|it| wanted(it)).count();
        GateCounts {
            open: count(|seen| seen.alarm.is_some()),
            shut: count(|seen| seen.state == GateState::Protected),
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

/// Two gates of one name are as good as the worse of them.
fn worst_per_name(found: Vec<AgentGate>) -> Vec<AgentGate> {
    const fn badness(state: GateState) -> u8 {
        match state {
            GateState::Protected => 0,
            GateState::NotInstalled => 1,
            GateState::NotTested => 2,
            GateState::NotProtected => 3,
        }
    }
    let mut gates: Vec<AgentGate> = Vec::new();
    for gate in found {
        match gates.iter_mut().find(|known| known.name == gate.name) {
            Some(known) if badness(known.state) >= badness(gate.state) => {}
            Some(known) => *known = gate,
            None => gates.push(gate),
        }
    }
    gates
}

type OpenAlarm = Option<(GateState, String)>;

/// The alarm that holds at a gate from now on, and what has to be said.
fn alarm_for(gate: &AgentGate, old: Option<&Seen>) -> (OpenAlarm, Option<GateChange>) {
    let AgentGate { name, state, why } = gate;
    let why = why.trim_end_matches('.');
    let was = old.map(|seen| seen.state);
    let held = old.and_then(|seen| seen.alarm.clone());
    let mark_sent = held.as_ref().map(|(state, _)| *state);
    let say = match state {
        GateState::Protected => {
            let over = held.is_some().then(|| {
                let say = format!("{name}: the gate is shut again.");
                GateChange::new(name, state.word(), false, say)
            });
            return (None, over);
        }
        GateState::NotProtected if mark_sent == Some(GateState::NotProtected) => {
            return (held, None);
        }
        GateState::NotProtected => {
            format!("{name}: THE GATE IS OPEN: {why}. Run `countersign doctor`.")
        }
        // Who was told already need not be told again.
        GateState::NotTested if mark_sent.is_some() => return (held, None),
        GateState::NotTested if was == Some(GateState::Protected) => format!(
            "{name}: the gate was shut and cannot be tested any more: {why}. Run `countersign \
             doctor`."
        ),
        // Somebody may have wanted it: it is said once, and then taken as it is.
        GateState::NotInstalled
            if was == Some(GateState::Protected) || was != Some(*state) && mark_sent.is_some() =>
        {
            format!("{name}: the gate was taken out. What it does is not asked about any more.")
        }
        GateState::NotTested | GateState::NotInstalled => return (None, None),
    };
    let change = GateChange::new(name, state.word(), true, say.clone());
    (Some((*state, say)), Some(change))
}
