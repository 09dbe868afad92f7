//! `countersign doctor`: how well this installation protects, said honestly, and how to climb.

mod doors;
mod level;
mod mcp;
mod ports;
mod sdk;

use std::process::ExitCode;

use countersign_client::{Agent, Door};
use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_daemon::config::{DaemonConfig, Paths};
use countersign_daemon::proof::GateState;
use countersign_gateways::live::knock::Found;
use serde::Serialize;

use super::args_house;
use super::reach::{self, ProcessEnvironment};
use super::{house, page};
use crate::failure::Failure;
use crate::terminal::Paint;

pub use level::{Level, protection};

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// Wrong.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    mark: Mark,
    say: String,
    /// What to do about it.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// The door that was tried, for who compares one proof with the next.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    tried: Option<Tried>,
}

/// A door and what was found at it.
#[derive(Debug, Clone, Serialize)]
struct Tried {
    door: String,
    state: GateState,
}

impl Check {
    fn ok(say: impl Into<String>) -> Check {
        Check { mark: Mark::Ok, say: say.into(), remedy: None, tried: None }
    }

    fn note(say: impl Into<String>, remedy: &str) -> Check {
        Check { mark: Mark::Note, remedy: Some(remedy.to_owned()), ..Check::ok(say) }
    }

    fn bad(say: impl Into<String>, remedy: &str) -> Check {
        Check { mark: Mark::Bad, remedy: Some(remedy.to_owned()), ..Check::ok(say) }
    }

    /// The same, about a door.
    fn at(self, door: &str, state: GateState) -> Check {
        Check { tried: Some(Tried { door: door.to_owned(), state }), ..self }
    }

    /// What was found at a door that was tried.
    fn tried(door: &str, found: Found, remedy: &str) -> Check {
        match found {
            Found::Shut(why) => {
                let say = format!("{door}: shut. A forbidden call was refused: {why}");
                Check::ok(say).at(door, GateState::Protected)
            }
            Found::Open(why) => Check::bad(format!("{door}: OPEN: {why}."), remedy)
                .at(door, GateState::NotProtected),
            Found::NeverTested(why) => {
                let say = format!("{door}: never tested: {why}.");
                Check::bad(say, remedy).at(door, GateState::NotTested)
            }
        }
    }
}

/// Runs the command.
pub fn run(args: &args_house::Doctor) -> Result<ExitCode, Failure> {
    if args.doors {
        let mut checks = Vec::new();
        try_doors(&mut checks, Looked::ByItself);
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
        "There is no configuration: the defaults hold.".to_owned()
    }));
    let named = |given: &Option<String>, address| match given {
        Some(text) => Ok(Door::parse(text)?),
        None => reach::door(address),
    };
    let agents = named(&args.agents, config.agents)?;
    let people = named(&args.people, config.people)?;
    daemon(&agents, &people, &mut checks);
    let level = protection(&config, &paths, &agents, &mut checks);
    exposure(&config, &mut checks);
    telling(&config, &mut checks);
    keeping(&config, &paths, &mut checks);
    try_doors(&mut checks, Looked::ByAPerson);
    if args.live {
        let socket = config.socket.as_ref().map(|socket| Door::Unix(socket.path.clone()));
        doors::live(socket.as_ref().unwrap_or(&agents), &mut checks);
    }
    tell(Some(level), &checks, args.json)
}

/// Who wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    /// A person, in a folder of their choice.
    ByAPerson,
    /// `countersign serve`, on its schedule: it runs nothing that merely lies about.
    ByItself,
}

/// The forbidden call through every door there is.
fn try_doors(checks: &mut Vec<Check>, looked: Looked) {
    let before = checks.len();
    doors::knock(checks);
    mcp::knock(checks);
    if checks.len() == before {
        let say = "No agent is gated here: no door was tried.";
        checks.push(Check::note(say, "countersign install claude, or another agent"));
    }
    sdk::knock(checks, looked);
}

/// Whether the daemon answers, and could approve anything.
fn daemon(agents: &Door, people: &Door, checks: &mut Vec<Check>) {
    let asked = Agent::new(agents.clone(), None);
    match asked.health() {
        Ok(pending) => checks.push(Check::ok(format!("The daemon answers; {pending} wait."))),
        Err(error) => {
            let say = format!("No daemon: {error}. Every question is answered with no.");
            checks.push(Check::bad(say, "countersign serve"));
            return;
        }
    }
    checks.push(match asked.ready() {
        Ok(()) => Check::ok("The store writes, and somebody can answer."),
        Err(error) => Check::bad(
            format!("Nothing can be approved: {error}."),
            "free disk space, or add people: countersign people add NAME",
        ),
    });
    if let Err(error) = Agent::new(people.clone(), None).health() {
        let say = format!("The people's door: {error}.");
        checks.push(Check::bad(say, "nobody can answer there; look at listen.people"));
    }
}

/// Doors that are open to others.
fn exposure(config: &DaemonConfig, checks: &mut Vec<Check>) {
    for (name, address) in [("agents'", config.agents), ("people's", config.people)] {
        if !address.ip().is_loopback() {
            checks.push(Check::bad(
                format!("The {name} door listens on {address}, in plain HTTP."),
                "listen on 127.0.0.1 and put a TLS proxy or a tunnel in front",
            ));
        }
    }
    if config.rules.confirm_without_token {
        checks.push(Check::note(
            "Anybody on this machine may ask through the old /confirm without a token.",
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

/// Whether anybody would hear of a question.
fn telling(config: &DaemonConfig, checks: &mut Vec<Check>) {
    let rungs = &config.rules.ladder;
    let names: Vec<&str> = rungs.iter().flatten().map(String::as_str).collect();
    let far = names.iter().any(|name| !["terminal", "desktop"].contains(name));
    checks.push(match (names.as_slice(), far) {
        ([], _) => Check::bad("Nobody is told of questions.", "set [ladder] in the configuration"),
        (_, false) => Check::note(
            format!("Questions are told on this machine only ({}).", names.join(", ")),
            "set up a channel that reaches you elsewhere, such as [channels.ops]",
        ),
        (_, true) => Check::ok(format!("Questions are told through {}.", names.join(", "))),
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

/// Whether what is written down can be trusted later.
fn keeping(config: &DaemonConfig, paths: &Paths, checks: &mut Vec<Check>) {
    let ledger = &config.ledger;
    if ledger.file.is_none() && ledger.webhook.is_none() && ledger.git.is_none() {
        checks.push(Check::note(
            "Checkpoints stay on this machine: whoever owns it can rewrite the ledger unseen.",
            "set ledger.witness_git, witness_file or witness_webhook to a place elsewhere",
        ));
    }
    let changed = std::fs::metadata(paths.state.join("countersign.db"));
    let age = changed.ok().and_then(|file| file.modified().ok()).map(|time| time.elapsed());
    if let Some(Err(ahead)) = age
        && ahead.duration().as_secs() > 5
    {
        checks.push(Check::bad(
            "The clock stands behind what is written down: nothing is approved.",
            "set the clock right; what was written with a wrong one must pass first",
        ));
    }
}

fn tell(level: Option<Level>, checks: &[Check], json: bool) -> Result<ExitCode, Failure> {
    let bad = checks.iter().any(|check| check.mark == Mark::Bad);
    if json {
        let level = level.map(Level::name);
        house::json(&serde_json::json!({ "level": level, "ok": !bad, "checks": checks }))?;
    } else {
        house::say(|out, paint| {
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
