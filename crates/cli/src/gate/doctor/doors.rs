//! Proof of gate: a forbidden call through every door that is installed, and what came of it.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use countersign_client::Door;
use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_daemon::proof::GateState;
use countersign_gateways::agents::{self, AGENTS, Agent};
use countersign_gateways::install::record::Record;
use countersign_gateways::install::status::{self, Stand};
use countersign_gateways::install::{LONGEST_PATIENCE, Ours, Place};
use countersign_gateways::live::knock::{self, Found};
use countersign_gateways::live::prove::{Bench, Hook};
use countersign_gateways::live::{SUBJECTS, Subject, find};

use super::Check;
use crate::gate::reach::{self, ProcessEnvironment};
use crate::gateway::install::hook_program;

/// A hook that takes longer for a call that nobody is asked about is no hook.
const PATIENCE: Duration = Duration::from_secs(15);

/// Fires the forbidden call through the command in each agent's files.
pub fn knock(checks: &mut Vec<Check>) {
    let place = Place::new(None, |name| ProcessEnvironment.get(name));
    let tried = place.as_ref().ok().and_then(|place| hook_program(place).ok());
    let record = Record::look(&reach::gateways_folder()).ok();
    let (Some(program), Ok(place), Some(record)) = (tried, place, record) else {
        let say = "No agent's door was tried: its files could not be looked at.";
        checks.push(Check::bad(say, "countersign status"));
        return;
    };
    let us = Ours { program, patience: LONGEST_PATIENCE };
    let mut stands: Vec<Standing> =
        AGENTS.iter().map(|agent| Standing::of(agent, &place, &us, &record)).collect();
    for entry in record.entries() {
        let Some((name, project)) = entry.agent.split_once(" in ") else { continue };
        let known = stands.iter().any(|standing| standing.key == entry.agent);
        let place = Place::new(Some(Path::new(project)), |name| ProcessEnvironment.get(name));
        // A project that is gone has no agent in it.
        if let (false, Some(agent), Ok(place)) = (known, agents::named(name), place) {
            stands.push(Standing::of(agent, &place, &us, &record));
        }
    }
    // At once: without a daemon each of them takes a moment to say so.
    let found: Vec<_> = thread::scope(|scope| {
        let tried: Vec<_> =
            stands.iter().map(|standing| scope.spawn(move || standing.tried())).collect();
        let lost = || Check::bad("An agent's door was lost while it was tried.", "try again");
        tried.into_iter().map(|one| one.join().unwrap_or_else(|_| Some(lost()))).collect()
    });
    checks.extend(found.into_iter().flatten());
}

/// One agent, for this person or in one project, and how its files stand.
struct Standing {
    agent: &'static Agent,
    key: String,
    door: String,
    install: String,
    seen: status::Seen,
    written: Ours,
}

impl Standing {
    fn of(agent: &'static Agent, place: &Place, us: &Ours, record: &Record) -> Standing {
        let seen = status::look(agent, place, us, record);
        let key = place.key(agent.name);
        let paths = seen.files.iter().map(PathBuf::as_path);
        let written = record.ours(&key, paths).unwrap_or_else(|| us.clone());
        let install = match place.project() {
            None => format!("countersign install {}", agent.name),
            Some(folder) => {
                format!("countersign install {} --project {}", agent.name, folder.display())
            }
        };
        Standing { agent, door: place.key(agent.title), key, install, seen, written }
    }

    fn tried(&self) -> Option<Check> {
        let Standing { agent, door, install, seen, .. } = self;
        match seen.state {
            Stand::Absent => return None,
            Stand::NotGated => {
                let say = format!("{door}: not gated. What it does is not asked about.");
                return Some(Check::note(say, install).at(door, GateState::NotInstalled));
            }
            Stand::Open => {
                let say = format!("{door}: open: {}.", seen.why.join("; "));
                return Some(Check::bad(say, install).at(door, GateState::NotProtected));
            }
            Stand::Gated => {}
        }
        let mut command = knock::command(agent.name, &self.written);
        Some(Check::tried(door, knock::knock(agent, &mut command, PATIENCE), install))
    }
}

/// Starts each agent that is here against a model of ours, its gate whole and broken.
pub fn live(agents_door: &Door, checks: &mut Vec<Check>) {
    let path = ProcessEnvironment.get("PATH").unwrap_or_default();
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
