//! `countersign doctor`: how well this installation protects, and how to improve it.

mod agents;
mod check;
mod level;
mod mcp;
mod ports;
mod sdk;

use std::process::ExitCode;

use countersign_client::{AgentClient, Endpoint};
use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_daemon::config::{DaemonConfig, Paths};

use countersign_gateways::agents::names;

use countersign_store::OfflineLedger;

use super::args_admin;
use super::ledger_read::listed;
use super::ledger_verify::differing;
use super::reach::{self, ProcessEnvironment};
use super::{output, page};
use crate::failure::Failure;
use crate::terminal::Paint;

pub use level::{Level, protection};

use check::{Check, Mark, TestedBy};

/// Runs the command.
pub fn run(args: &args_admin::DoctorArgs) -> Result<ExitCode, Failure> {
    if args.gates {
        let mut checks = Vec::new();
        test_gates(&mut checks, TestedBy::Schedule);
        return tell(None, &checks, args.json);
    }
    let paths = reach::paths(args.config.as_deref(), args.state.as_deref())?;
    let mut checks = Vec::new();
    let config = match DaemonConfig::load(&paths) {
        Ok(config) => config,
        Err(error) => {
            let say = format!("The configuration is refused: {error}");
            checks.push(Check::bad(say, "countersign config check"));
            return tell(None, &checks, args.json);
        }
    };
    checks.push(Check::ok(if paths.config.exists() {
        format!("The configuration {} is fine.", paths.config.display())
    } else {
        "No configuration file: the defaults apply.".to_owned()
    }));
    let named = |given: &Option<String>, address| match given {
        Some(text) => Ok(Endpoint::parse(text)?),
        None => reach::connectable(address),
    };
    let agents = named(&args.agents, config.agents)?;
    let people = named(&args.people, config.people)?;
    daemon(&agents, &people, &mut checks);
    let level = protection(&config, &paths, &agents, &mut checks);
    exposure(&config, &mut checks);
    telling(&config, &mut checks);
    keeping(&config, &paths, &mut checks);
    test_gates(&mut checks, TestedBy::Person);
    if args.live {
        let socket = config.socket.as_ref().map(|socket| Endpoint::Unix(socket.path.clone()));
        agents::live(socket.as_ref().unwrap_or(&agents), &mut checks);
    }
    tell(Some(level), &checks, args.json)
}

/// The forbidden call through every gate.
fn test_gates(checks: &mut Vec<Check>, tested_by: TestedBy) {
    let before = checks.len();
    agents::test(checks);
    mcp::test(checks);
    if checks.len() == before {
        let say = "No agent has a gate here, so no gate was tested.";
        checks.push(Check::note(say, &format!("countersign install {}", names(" or "))));
    }
    sdk::test(checks, tested_by);
}

/// Whether the daemon answers, and could approve anything.
fn daemon(agents: &Endpoint, people: &Endpoint, checks: &mut Vec<Check>) {
    let asked = AgentClient::new(agents.clone(), None);
    match asked.health() {
        Ok(pending) => checks.push(Check::ok(format!("The daemon answers; {pending} pending."))),
        Err(error) => {
            let say = format!("The daemon is not running: {error}. Risky calls are blocked.");
            checks.push(Check::bad(say, "countersign serve"));
            return;
        }
    }
    checks.push(match asked.ready() {
        Ok(ready) => match ready.warning() {
            None => Check::ok("The store is writable, and a person can answer."),
            Some(warning) => Check::bad(
                format!("{warning}."),
                "set mode = \"enforce\" in the configuration and reload it",
            ),
        },
        Err(error) => {
            let say = error.to_string();
            let remedy = if say.contains("ledger acknowledge") {
                "find out who changed the store, then: countersign ledger acknowledge"
            } else {
                "free disk space, correct the clock, or add people: countersign people add NAME"
            };
            Check::bad(format!("Nothing can be approved: {say}."), remedy)
        }
    });
    if let Err(error) = AgentClient::new(people.clone(), None).health() {
        let say = format!("The people API does not answer: {error}.");
        checks.push(Check::bad(
            say,
            "check listen.people in the configuration: people cannot approve calls",
        ));
    }
}

/// Listeners that other machines can reach.
fn exposure(config: &DaemonConfig, checks: &mut Vec<Check>) {
    for (name, address) in [("agent", config.agents), ("people", config.people)] {
        if !address.ip().is_loopback() {
            checks.push(Check::bad(
                format!("The {name} API listens on {address}, in plain HTTP."),
                "listen on 127.0.0.1 and put a TLS proxy or a tunnel in front",
            ));
        }
    }
    if config.rules.confirm_without_token {
        checks.push(Check::note(
            "Every program on this machine may use the old /confirm without a token.",
            "listen.confirm_without_token = false, once every agent has a token",
        ));
    }
    if ProcessEnvironment.get("COUNTERSIGN_TOKEN").is_some() {
        checks.push(Check::note(
            "COUNTERSIGN_TOKEN is set here: an agent started from this shell could answer itself.",
            "unset COUNTERSIGN_TOKEN before you start an agent",
        ));
    }
}

/// Whether people are notified of pending calls.
fn telling(config: &DaemonConfig, checks: &mut Vec<Check>) {
    let levels = &config.rules.escalation;
    let names: Vec<&str> = levels.iter().flatten().map(String::as_str).collect();
    let far = names.iter().any(|name| !["terminal", "desktop"].contains(name));
    checks.push(match (names.as_slice(), far) {
        ([], _) => Check::bad(
            "No channel announces pending requests.",
            "set [escalation] in the configuration",
        ),
        (_, false) => Check::note(
            format!("Notifications stay on this machine ({}).", names.join(", ")),
            "set up a channel that reaches you elsewhere, such as [channels.ops]",
        ),
        (_, true) => Check::ok(format!("Notifications go through {}.", names.join(", "))),
    });
    let today = super::now::now().to_string();
    if countersign_crisis::helplines_due(today.get(..10).unwrap_or_default()) {
        checks.push(Check::note(
            "The list of helplines is old; numbers may have changed.",
            "install a newer Countersign, or call the numbers of your country once",
        ));
    }
    if config.rules.country.is_none() {
        checks.push(Check::note(
            "The crisis card lists helplines of no particular country.",
            "set crisis.country, such as \"US\", and call its numbers once to see that they hold",
        ));
    }
}

/// Whether the records can be trusted later.
fn keeping(config: &DaemonConfig, paths: &Paths, checks: &mut Vec<Check>) {
    let ledger = &config.ledger;
    if ledger.file.is_none() && ledger.webhook.is_none() && ledger.git.is_none() {
        checks.push(Check::note(
            "Checkpoints stay on this machine, so its owner can rewrite the ledger unnoticed.",
            "set ledger.witness_git, witness_file or witness_webhook to a place elsewhere",
        ));
    }
    checks.extend(rows(config));
    let changed = std::fs::metadata(paths.state.join("countersign.db"));
    let age = changed.ok().and_then(|file| file.modified().ok()).map(|time| time.elapsed());
    if let Some(Err(ahead)) = age
        && ahead.duration().as_secs() > 5
    {
        checks.push(Check::bad(
            "The clock is behind the newest record, so nothing can be approved.",
            "correct the clock, and wait until it has passed the newest record",
        ));
    }
}

/// Whether the store's requests are in the state that its ledger says; nothing if the store cannot
/// be read by this user.
fn rows(config: &DaemonConfig) -> Option<Check> {
    let store = OfflineLedger::open(&config.store).ok()?;
    let rows = match store.compare_rows() {
        Ok(rows) => listed(rows),
        Err(error) => {
            let say = format!("The store cannot be compared with its ledger: {error}.");
            return Some(Check::bad(say, "countersign ledger verify"));
        }
    };
    Some(match differing(&rows) {
        None => Check::ok(format!("The ledger confirms all {} requests.", rows.requests)),
        Some(why) => Check::bad(
            format!("The store was edited: {why}."),
            "countersign ledger verify; find out who can write the state folder",
        ),
    })
}

fn tell(level: Option<Level>, checks: &[Check], json: bool) -> Result<ExitCode, Failure> {
    let bad = checks.iter().any(|check| check.mark == Mark::Bad);
    if json {
        let level = level.map(Level::name);
        output::json(&serde_json::json!({ "level": level, "ok": !bad, "checks": checks }))?;
    } else {
        output::say(|out, paint| {
            if let Some(level) = level {
                writeln!(out, "{}\n", paint.strong(level.words()))?;
            }
            for check in checks {
                writeln!(out, "{} {}", sign(check.mark, paint), page::safe(&check.say, 1000))?;
                if let Some(remedy) = &check.remedy {
                    writeln!(out, "    {}", paint.faint(page::safe(remedy, 1000)))?;
                }
            }
            Ok(())
        })?;
    }
    Ok(if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn sign(mark: Mark, paint: Paint) -> String {
    match mark {
        Mark::Ok => paint.with("38;5;71", "ok  ").to_string(),
        Mark::Note => paint.with("38;5;172", "note").to_string(),
        Mark::Bad => paint.with("1;38;5;197", "bad ").to_string(),
    }
}
