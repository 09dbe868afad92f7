//! `countersign` alone: what is going on, and what to do next.

use std::process::ExitCode;

use countersign_client::{Agent, Door};
use countersign_daemon::proof::saved_alarms;

use super::{house, page, reach};
use crate::failure::Failure;

/// Runs it. Nothing that is missing here is an error: this is what people try first.
pub fn run() -> Result<ExitCode, Failure> {
    let lines = match doors() {
        Ok((agents, people)) => match Agent::new(agents.clone(), None).health() {
            Ok(pending) => alarms() + &running(&people, pending),
            Err(_) => stopped(&agents),
        },
        Err(failure) => format!("The configuration is refused: {failure}\n{CHECK}"),
    };
    house::say(|out, _| {
        out.write_all(INTRODUCTION.as_bytes())?;
        out.write_all(lines.as_bytes())?;
        Ok(out.write_all(REST.as_bytes())?)
    })
}

fn doors() -> Result<(Door, Door), Failure> {
    Ok((reach::agents_door(None, true)?, reach::people_door(None)?))
}

/// What the daemon knows to be wrong with the agents' gates, where its folder is ours to read.
fn alarms() -> String {
    let state = reach::paths(None, None).map(|paths| paths.state);
    let alarms = state.map(|state| saved_alarms(&state)).unwrap_or_default();
    let lines = alarms.iter().flat_map(|alarm| [page::safe(alarm, 1000), "\n".to_owned()]);
    lines.collect()
}

fn running(people: &Door, pending: u64) -> String {
    let waits = match pending {
        0 => "nothing waits".to_owned(),
        1 => "1 request waits for a person".to_owned(),
        many => format!("{many} requests wait for a person"),
    };
    let next = match pending {
        0 => "  countersign watch                         follow what happens\n",
        _ => {
            "  countersign inbox                         see what waits and answer it\n  \
             countersign pending                       list it\n"
        }
    };
    format!("The daemon runs; {waits}. People answer at {people}.\n\nNext:\n{next}")
}

fn stopped(agents: &Door) -> String {
    format!(
        "No daemon answers at {agents}, so every question is answered with no.\n\nNext:\n  \
         countersign serve                         start the gate and the inbox\n"
    )
}

const INTRODUCTION: &str = "\
Countersign stands between an AI agent and its tools: the agent proposes, a person disposes.
";

const CHECK: &str = "\n\nNext:\n  countersign config check                  see what is wrong\n";

const REST: &str = "  \
countersign install claude                gate an agent: claude, codex, gemini and five others
  countersign assess 'rm -rf /tmp/build'    what would it do, how risky is it, and why
  countersign doctor                        how well this installation protects you
  countersign --help                        everything else
";
