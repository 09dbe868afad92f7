//! Proof of gate: a forbidden call through every door that is installed, and what came of it.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use countersign_client::Door;
use countersign_daemon::config::paths::Variables as _;
use countersign_daemon::proof::DoorState;
use countersign_gateways::agents::{self, AGENTS, Agent};
use countersign_gateways::install::record::Record;
use countersign_gateways::install::status::{self, Stand};
use countersign_gateways::install::{LONGEST_PATIENCE, Ours, Place};
use countersign_gateways::live::knock::{self, Found};
use countersign_gateways::live::prove::{Bench, Hook};
use countersign_gateways::live::{SUBJECTS, Subject, find};

use super::Check;
use crate::gate::reach::{self, Surroundings};

/// A hook that takes longer for a call that nobody is asked about is no hook.
const PATIENCE: Duration = Duration::from_secs(15);

/// Fires the forbidden call through the command in each agent's files.
pub fn knock(checks: &mut Vec<Check>) {
    let tried = env::current_exe().ok().and_then(|exe| exe.to_str().map(ToOwned::to_owned));
    let place = Place::new(None, |name| Surroundings.get(name));
    let record = Record::look(&reach::gateways_folder()).ok();
    let (Some(program), Ok(place), Some(record)) = (tried, place, record) else {
        let say = "No agent's door was tried: its files could not be looked at.";
        checks.push(Check::bad(say, "countersign status"));
        return;
    };
    let us = Ours { program, patience: LONGEST_PATIENCE };
    // At once: without a daemon each of them takes a moment to say so.
    let stands = AGENTS.map(|agent| (agent, status::look(agent, &place, &us, &record)));
    let found = thread::scope(|scope| {
        let tried = stands.each_ref().map(|(agent, seen)| {
            let paths = seen.files.iter().map(PathBuf::as_path);
            let written = record.ours(&place.key(agent.name), paths).unwrap_or_else(|| us.clone());
            scope.spawn(move || door(agent, seen, &written))
        });
        tried.map(|one| {
            let lost = || Check::bad("An agent's door was lost while it was tried.", "try again");
            one.join().unwrap_or_else(|_| Some(lost()))
        })
    });
    checks.extend(found.into_iter().flatten());
}

fn door(agent: &Agent, seen: &status::Seen, written: &Ours) -> Option<Check> {
    let (title, install) = (agent.title, format!("countersign install {}", agent.name));
    match seen.state {
        Stand::Absent => return None,
        Stand::NotGated => {
            let say = format!("{title}: not gated. What it does is not asked about.");
            return Some(Check::note(say, &install).at(title, DoorState::NotGated));
        }
        Stand::Open => {
            let say = format!("{title}: open: {}.", seen.why.join("; "));
            return Some(Check::bad(say, &install).at(title, DoorState::Open));
        }
        Stand::Gated => {}
    }
    let mut command = knock::command(agent.name, written);
    Some(Check::tried(title, knock::knock(agent, &mut command, PATIENCE), &install))
}

/// Starts each agent that is here against a model of ours, its gate whole and broken.
pub fn live(agents_door: &Door, checks: &mut Vec<Check>) {
    let path = Surroundings.get("PATH").unwrap_or_default();
    let Ok(countersign) = env::current_exe() else {
        checks.push(Check::bad("No agent was started: this program is gone.", "start it again"));
        return;
    };
    let door = Some(agents_door.to_string());
    let bench = Bench { countersign: &countersign, path: &path, door };
    for subject in SUBJECTS {
        checks.push(started(subject, &bench));
    }
    let others = AGENTS.iter().filter(|agent| SUBJECTS.iter().all(|one| one.name != agent.name));
    let titles: Vec<&str> = others.map(|agent| agent.title).collect();
    checks.push(Check::note(
        format!("Never started by us: {}.", titles.join(", ")),
        "let it call the tool countersign_proof_of_gate: it must be refused",
    ));
}

fn started(subject: &Subject, bench: &Bench<'_>) -> Check {
    let title = agents::named(subject.name).map_or(subject.name, |agent| agent.title);
    let Some(program) = find(subject.program, bench.path) else {
        let say = format!("{title}: never tested: `{}` is not on the PATH.", subject.program);
        return Check::note(say, "nothing to do if you do not use it");
    };
    let mut shut = Vec::new();
    for hook in Hook::ALL {
        let words = hook.words();
        if io::stderr().is_terminal() {
            // A minute and more is long without a word.
            let _ = writeln!(io::stderr(), "Starting {title}: {words} …");
        }
        match bench.prove(subject, &program, hook) {
            Ok(Found::Shut(_)) => shut.push(words),
            Ok(Found::Open(why)) => {
                let say = format!("{title}, started: OPEN: {why}.");
                return Check::bad(say, "see docs/agents: what this agent makes impossible");
            }
            Ok(Found::NeverTested(why)) => {
                let say = format!("{title}, started: never tested with {words}: {why}");
                return Check::bad(say, "update it, or tell us: this version may be too new");
            }
            Err(error) => {
                let say = format!("{title}, started: never tested with {words}: {error}.");
                return Check::bad(say, "countersign status");
            }
        }
    }
    Check::ok(format!("{title}, started: shut. The call did not run: {}.", shut.join(", ")))
}
