//! `countersign` alone: what is going on, and what to do next.

use std::process::ExitCode;

use countersign_client::{AgentClient, Endpoint};
use countersign_daemon::proof::saved_alarms;
use countersign_gateways::agents::{AGENTS, first_agent};

use super::{output, page, reach};
use crate::failure::Failure;

/// Runs it. Nothing that is missing here is an error: this is what people try first.
pub fn run() -> Result<ExitCode, Failure> {
    let lines = match endpoints() {
        Ok((agents, people)) => match AgentClient::new(agents.clone(), None).health() {
            Ok(pending) => alarms() + &unready(&agents) + &running(&people, pending),
            Err(_) => stopped(&agents),
        },
        Err(failure) => format!("The configuration is refused: {failure}\n{CHECK}"),
    };
    output::say(|out, _| {
        out.write_all(INTRODUCTION.as_bytes())?;
        out.write_all(lines.as_bytes())?;
        Ok(out.write_all(rest().as_bytes())?)
    })
}

fn endpoints() -> Result<(Endpoint, Endpoint), Failure> {
    Ok((reach::agent_endpoint(None, true)?, reach::configured_people()?))
}

/// What the daemon knows to be wrong with the agents' gates, where its folder is ours to read.
fn alarms() -> String {
    let state = reach::paths(None, None).map(|paths| paths.state);
    let alarms = state.map(|state| saved_alarms(&state)).unwrap_or_default();
    let lines = alarms.iter().flat_map(|alarm| [page::safe(alarm, 1000), "\n".to_owned()]);
    lines.collect()
}

/// Why nothing can be approved at present.
fn unready(agents: &Endpoint) -> String {
    match AgentClient::new(agents.clone(), None).ready() {
        Ok(ready) => {
            let warnings = [ready.freeze_warning(), ready.warning(), ready.settings_warning()];
            warnings
                .into_iter()
                .flatten()
                .fold(String::new(), |said, warning| said + &page::safe(&warning, 400) + ".\n")
        }
        Err(error) if error.problem().is_some_and(|problem| problem.name() == "unready") => {
            format!("{}\n", page::safe(&error.to_string(), 1000))
        }
        Err(_) => String::new(),
    }
}

fn running(people: &Endpoint, pending: u64) -> String {
    let count = match pending {
        0 => "no pending requests".to_owned(),
        1 => "1 pending request".to_owned(),
        many => format!("{many} pending requests"),
    };
    let next = match pending {
        0 => "  countersign watch                         follow what happens\n",
        _ => {
            "  countersign inbox                         decide pending requests\n  \
             countersign pending                       list them\n"
        }
    };
    format!("The daemon is running; {count}. The inbox is at {people}.\n\nNext:\n{next}")
}

fn stopped(agents: &Endpoint) -> String {
    format!(
        "No daemon answers at {agents}, so risky calls are blocked.\n\nNext:\n  \
         countersign serve                         start the gate and the inbox\n"
    )
}

const INTRODUCTION: &str = "\
Countersign stands between an AI agent and its tools: the agent proposes, a person decides.
";

const CHECK: &str = "\n\nNext:\n  countersign config check                  see what is wrong\n";

/// The commands that are always worth knowing.
fn rest() -> String {
    let example = format!("countersign install {}", first_agent());
    let named: Vec<&str> = AGENTS.iter().take(3).map(|agent| agent.name).collect();
    let (named, others) = (named.join(", "), AGENTS.len().saturating_sub(named.len()));
    format!("  {example:<42}protect an agent: {named} and {others} others\n{REST}")
}

const REST: &str = "  \
countersign assess 'rm -rf /tmp/build'    what would it do, how risky is it, and why
  countersign doctor                        how well this installation protects you
  countersign --help                        everything else
";
