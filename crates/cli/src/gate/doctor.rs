//! `countersign doctor`: how well this installation protects, and how to improve it.

mod access;
mod agents;
mod check;
mod configured;
mod desktop;
mod installation;
mod level;
mod mcp;
mod privileges;
mod sdk;

use std::path::Path;
use std::process::ExitCode;

use countersign_client::{AgentClient, DaemonKey, Endpoint, Error, Readiness};
use countersign_daemon::config::DaemonConfig;

use countersign_gateways::agents::names;

use super::args_admin;
use super::reach;
use super::{output, page};
use crate::failure::Failure;
use crate::terminal::Paint;

pub use level::Level;

use check::{Check, Mark, TestedBy};
use configured::{credentials, exposure, keeping, telling};
use installation::{asked_endpoint, real_files};
use level::{DaemonView, is_here, protection};

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
    let agents = match &args.agents {
        Some(text) => Endpoint::parse(text)?,
        None => reach::connectable(&config, config.agents)?,
    };
    let asked = asked_endpoint(args, &config, &agents);
    let is_here = is_here(&asked);
    let people = people_endpoint(args, &config, is_here)?;
    daemon(&asked, people.as_ref(), &mut checks);
    checks.push(trusted_key(asked.clone()));
    credentials(&mut checks);
    let view = DaemonView::ask(asked, people);
    let level = protection(&view, &mut checks);
    let files = is_here.then(|| real_files(&view, config.clone(), paths, &mut checks));
    if let Some((config, paths)) = files.flatten() {
        exposure(&config, &mut checks);
        telling(&config, &mut checks);
        keeping(&config, &paths, &mut checks);
    }
    test_gates(&mut checks, TestedBy::Person);
    if args.live {
        let socket = config.socket.as_ref().map(|socket| Endpoint::Unix(socket.path.clone()));
        agents::live(socket.as_ref().unwrap_or(&agents), &mut checks);
    }
    tell(Some(level), &checks, args.json)
}

/// The people API. Of a daemon on another machine, only the environment knows it; the configuration
/// here is only that of a daemon here.
fn people_endpoint(
    args: &args_admin::DoctorArgs,
    config: &DaemonConfig,
    is_here: bool,
) -> Result<Option<Endpoint>, Failure> {
    if let Some(text) = &args.people {
        return Ok(Some(Endpoint::parse(text)?));
    }
    match reach::named_people()? {
        None if is_here => reach::connectable(config, config.people).map(Some),
        named => Ok(named),
    }
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
fn daemon(agents: &Endpoint, people: Option<&Endpoint>, checks: &mut Vec<Check>) {
    let asked = AgentClient::new(agents.clone(), None);
    match asked.health() {
        Ok(pending) => checks.push(Check::ok(format!("The daemon answers; {pending} pending."))),
        Err(error) => {
            let say = format!("The daemon is not running: {error}. Risky calls are blocked.");
            checks.push(Check::bad(say, "countersign serve"));
            return;
        }
    }
    let ready = asked.ready();
    if let Some(warning) = ready.as_ref().ok().and_then(Readiness::freeze_warning) {
        checks.push(Check::note(format!("{warning}."), "countersign thaw people, then grants"));
    }
    if let Some(warning) = ready.as_ref().ok().and_then(Readiness::settings_warning) {
        let remedy =
            "countersign config confirm shows them and how to confirm; or edit the file back";
        checks.push(Check::bad(format!("{warning}."), remedy));
    }
    checks.extend(ready.as_ref().ok().and_then(fleet_check));
    checks.extend(ready.as_ref().ok().and_then(adoption_check));
    checks.push(match ready {
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
            } else if say.contains("ledger rebase-clock") {
                "correct the system clock; if the ledger is ahead: countersign ledger rebase-clock"
            } else {
                "free disk space, correct the clock, or add people: countersign people add NAME"
            };
            Check::bad(format!("Nothing can be approved: {say}."), remedy)
        }
    });
    let people = people.map(|people| AgentClient::new(people.clone(), None).health());
    if let Some(Err(error)) = people {
        let say = format!("The people API does not answer: {error}.");
        checks.push(Check::bad(
            say,
            "check listen.people in the configuration: people cannot approve calls",
        ));
    }
}

/// Whether adopted project rules are lost.
fn adoption_check(ready: &Readiness) -> Option<Check> {
    let number = Some(ready.lost_adoptions).filter(|number| *number > 0)?;
    let say = format!(
        "The adopted rules of {number} projects are lost: policy.adopted was deleted or replaced. \
         Every call there is a question."
    );
    let remedy = "countersign policy projects, then countersign policy adopt or revoke FOLDER";
    Some(Check::bad(say, remedy))
}

/// Why agents cannot delegate tasks to each other, if that is so.
fn fleet_check(ready: &Readiness) -> Option<Check> {
    let fault = ready.fleet_fault.as_deref()?;
    Some(Check::bad(
        format!("Agents cannot delegate tasks: {fault}."),
        "restore the folder pki in the state folder, or move it away and: countersign pki init",
    ))
}

/// Whether the daemon that answers has the key that is pinned here.
fn trusted_key(endpoint: Endpoint) -> Check {
    let file = reach::daemon_key_file(&reach::HomeOnly);
    let pin = "start `countersign serve` as this user, or: countersign keys trust FILE";
    let key = match DaemonKey::read(&file) {
        Ok(key) => key,
        Err(error) => return Check::bad(format!("No key is pinned, so {error}."), pin),
    };
    match AgentClient::new(endpoint, None).trusting(Ok(key)).check_key() {
        Ok(()) => Check::ok(format!("The daemon has the key pinned in {}.", file.display())),
        Err(error @ Error::Untrusted(_)) => Check::bad(
            format!("Another program answers in the daemon's place, or its key changed: {error}."),
            if file == Path::new(reach::SYSTEM_KEY) {
                "stop that program; after a rotation: sudo countersign service install --system"
            } else {
                "stop that program; after a rotation: countersign keys trust --rotated"
            },
        ),
        Err(error) => Check::note(format!("The daemon's key was not tested: {error}."), pin),
    }
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
