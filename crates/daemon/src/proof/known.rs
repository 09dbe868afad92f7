//! How the doors were found, from one proof to the next: what has changed is said once.

use std::collections::BTreeMap;

use countersign_types::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Counts, Door, DoorState, Round};

/// All that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    #[serde(default)]
    doors: BTreeMap<String, Seen>,
    /// Why the doors could not be tried the last time.
    #[serde(default)]
    failed: Option<String>,
    /// When they were last tried, in milliseconds.
    #[serde(default)]
    last: Option<i64>,
    /// What nobody could be told yet.
    #[serde(default)]
    untold: Vec<String>,
}

/// What is older is on the inbox's page and in the ledger.
const MOST_UNTOLD: usize = 20;

/// One door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    state: DoorState,
    /// The alarm that holds: how the door was found then, and what was said.
    alarm: Option<(DoorState, String)>,
}

/// Something that people have to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Which door; all of them if nothing is said.
    pub door: String,
    /// Its state, in one word.
    pub state: &'static str,
    /// Whether it is worse than before.
    pub is_alarm: bool,
    /// For people.
    pub say: String,
}

impl Change {
    fn new(door: &str, state: &'static str, is_alarm: bool, say: String) -> Change {
        Change { door: door.to_owned(), state, is_alarm, say }
    }
}

impl Known {
    /// Takes what a proof found; what is new.
    pub fn take(&mut self, round: Round, now: Timestamp) -> Vec<Change> {
        let found = match round {
            Ok(found) => found,
            Err(why) => return self.could_not(why),
        };
        let mut changes = Vec::new();
        if self.failed.take().is_some() {
            let say = "The agents' gates can be tested again.".to_owned();
            changes.push(Change::new("", "tested", false, say));
        }
        self.last = Some(now.0);
        let mut before = std::mem::take(&mut self.doors);
        for door in worst_of_each(found) {
            let old = before.remove(&door.name);
            let (alarm, change) = judged(&door, old.as_ref());
            changes.extend(change);
            self.doors.insert(door.name, Seen { state: door.state, alarm });
        }
        for (name, _) in before.into_iter().filter(|(_, seen)| seen.alarm.is_some()) {
            let say = format!("{name} is no longer there: the alarm about its gate is over.");
            changes.push(Change::new(&name, "gone", false, say));
        }
        changes
    }

    /// The doors keep their state: nothing new is known about them.
    fn could_not(&mut self, why: String) -> Vec<Change> {
        let say = format!(
            "The agents' gates could not be tested: {why}. Nobody knows whether \
                           they are shut. Run `countersign doctor`."
        );
        let is_new = self.failed.is_none();
        self.failed = Some(why);
        if is_new { vec![Change::new("", "untested", true, say)] } else { Vec::new() }
    }

    /// Remembers what has to be told.
    pub fn owe(&mut self, changes: &[Change]) {
        self.untold.extend(changes.iter().map(|change| change.say.clone()));
        let too_many = self.untold.len().saturating_sub(MOST_UNTOLD);
        self.untold.drain(..too_many);
    }

    pub fn untold(&self) -> &[String] {
        &self.untold
    }

    /// These were told. What was said again meanwhile is still owed.
    pub fn told(&mut self, told: &[String]) {
        for say in told {
            if let Some(at) = self.untold.iter().position(|owed| owed == say) {
                self.untold.remove(at);
            }
        }
    }

    pub fn counts(&self) -> Counts {
        let count = |wanted: fn(&Seen) -> bool| self.doors.values().filter(|it| wanted(it)).count();
        Counts {
            open: count(|seen| seen.alarm.is_some()),
            shut: count(|seen| seen.state == DoorState::Shut),
            last: self.last.map(Timestamp),
            failed: self.failed.is_some(),
        }
    }

    pub fn alarms(&self) -> Vec<String> {
        let failed = self.failed.iter().map(|why| {
            format!("The agents' gates could not be tested: {why}. Run `countersign doctor`.")
        });
        let doors = self.doors.values().filter_map(|seen| Some(seen.alarm.as_ref()?.1.clone()));
        failed.chain(doors).collect()
    }
}

/// Two doors of one name are as good as the worse of them.
fn worst_of_each(found: Vec<Door>) -> Vec<Door> {
    const fn badness(state: DoorState) -> u8 {
        match state {
            DoorState::Shut => 0,
            DoorState::NotGated => 1,
            DoorState::NeverTested => 2,
            DoorState::Open => 3,
        }
    }
    let mut doors: Vec<Door> = Vec::new();
    for door in found {
        match doors.iter_mut().find(|known| known.name == door.name) {
            Some(known) if badness(known.state) >= badness(door.state) => {}
            Some(known) => *known = door,
            None => doors.push(door),
        }
    }
    doors
}

type Held = Option<(DoorState, String)>;

/// The alarm that holds at a door from now on, and what has to be said.
fn judged(door: &Door, old: Option<&Seen>) -> (Held, Option<Change>) {
    let Door { name, state, why } = door;
    let why = why.trim_end_matches('.');
    let was = old.map(|seen| seen.state);
    let held = old.and_then(|seen| seen.alarm.clone());
    let told = held.as_ref().map(|(state, _)| *state);
    let say = match state {
        DoorState::Shut => {
            let over = held.is_some().then(|| {
                let say = format!("{name}: the gate is shut again.");
                Change::new(name, state.word(), false, say)
            });
            return (None, over);
        }
        DoorState::Open if told == Some(DoorState::Open) => return (held, None),
        DoorState::Open => format!("{name}: THE GATE IS OPEN: {why}. Run `countersign doctor`."),
        // Who was told already need not be told again.
        DoorState::NeverTested if told.is_some() => return (held, None),
        DoorState::NeverTested if was == Some(DoorState::Shut) => format!(
            "{name}: the gate was shut and cannot be tested any more: {why}. Run `countersign \
             doctor`."
        ),
        // Somebody may have wanted it: it is said once, and then taken as it is.
        DoorState::NotGated
            if was == Some(DoorState::Shut) || was != Some(*state) && told.is_some() =>
        {
            format!("{name}: the gate was taken out. What it does is not asked about any more.")
        }
        DoorState::NeverTested | DoorState::NotGated => return (None, None),
    };
    let change = Change::new(name, state.word(), true, say.clone());
    (Some((*state, say)), Some(change))
}
