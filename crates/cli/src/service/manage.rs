//! `countersign service status`, `restart` and `logs`.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use countersign_client::{AgentClient, DaemonKey, Endpoint, Error};

use super::spec::{ServiceManager, ServiceSpec, UNIT};
use super::steps::{launchctl, systemctl};
use crate::failure::Failure;
use crate::gate::reach::SYSTEM_KEY;
use crate::gate::{output, page, reach};

/// Shows whether the service is installed, runs and answers.
pub fn status(spec: &ServiceSpec, json: bool) -> Result<ExitCode, Failure> {
    let is_installed = spec.file.exists();
    let runs = is_installed && state(spec) == "active";
    let agents = reach::agent_endpoint(None, false)?;
    let answer = AgentClient::new(agents.clone(), None).health();
    let scope = if spec.account.is_some() { "system" } else { "user" };
    let key = answer.as_ref().ok().and_then(|_| published_key(spec, &agents));
    if json {
        output::json(&serde_json::json!({
            "scope": scope, "file": spec.file, "installed": is_installed, "running": runs,
            "answers": answer.is_ok(), "endpoint": agents.to_string(),
            "key_matches": key.as_ref().map(Result::is_ok),
        }))?;
    } else {
        output::say(|out, _| {
            let file = spec.file.display();
            match (is_installed, runs) {
                (false, _) => writeln!(out, "No service is installed ({file} does not exist).")?,
                (true, true) => writeln!(out, "The {scope} service runs ({file}).")?,
                (true, false) => {
                    let state = page::safe(&state(spec), 60);
                    writeln!(out, "The {scope} service is installed and is {state} ({file}).")?;
                }
            }
            match &answer {
                Ok(pending) => writeln!(out, "The daemon answers at {agents}; {pending} pending.")?,
                Err(error) => {
                    let error = page::safe(&error.to_string(), 400);
                    writeln!(out, "No daemon answers at {agents}: {error}")?;
                }
            }
            match &key {
                Some(Ok(())) => writeln!(out, "Its key is the one in {SYSTEM_KEY}.")?,
                Some(Err(error)) => {
                    let error = page::safe(&error.to_string(), 400);
                    writeln!(out, "Agents of other users do not believe it: {error}.\n{PUBLISH}")?;
                }
                None => {}
            }
            Ok(())
        })?;
    }
    let is_well = runs && answer.is_ok() && key.is_none_or(|key| key.is_ok());
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What to do about a public key that is not that of the daemon.
const PUBLISH: &str = "Write its key again with `sudo countersign service install --system`, or stop \
                       the program that answers in its place.";

/// Whether the daemon that answers has the key that a system service published; none for a service
/// of this user, whose agents read its state folder.
fn published_key(spec: &ServiceSpec, agents: &Endpoint) -> Option<Result<(), Error>> {
    key_file(spec).map(|file| has_key(agents, file))
}

/// Where a system service publishes its key.
fn key_file(spec: &ServiceSpec) -> Option<&'static Path> {
    spec.account.as_ref().map(|_| Path::new(SYSTEM_KEY))
}

fn has_key(agents: &Endpoint, file: &Path) -> Result<(), Error> {
    let key = DaemonKey::read(file)?;
    AgentClient::new(agents.clone(), None).trusting(Ok(key)).check_key()
}

/// Whether a daemon answers, with the key in this file if there is one: on a port, another program
/// could answer in its place.
pub(super) fn answers(agents: &Endpoint, key_file: Option<&Path>) -> Result<(), Error> {
    AgentClient::new(agents.clone(), None).health()?;
    key_file.map_or(Ok(()), |file| has_key(agents, file))
}

/// Whether a daemon answers. It may still be unable to approve calls: see `GET /ready`.
pub fn health() -> Result<ExitCode, Failure> {
    let agents = reach::agent_endpoint(None, false)?;
    match AgentClient::new(agents, None).health() {
        Ok(pending) => output::line(&format!("The daemon answers; {pending} pending.")),
        // Container engines reserve every exit code but 0 and 1.
        Err(error) => {
            output::line(&page::safe(&error.to_string(), 400))?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// How long a service that was started may take until it answers.
const START: Duration = Duration::from_secs(30);

/// Waits until the daemon of a service that was just started answers, a system service with the key
/// that it published; says what happened.
pub fn wait_until_it_answers(spec: &ServiceSpec) -> Result<String, Failure> {
    let agents = reach::agent_endpoint(None, false)?;
    let started = Instant::now();
    loop {
        let answer = answers(&agents, key_file(spec));
        let Err(error) = answer else { return Ok(format!("The daemon answers at {agents}.")) };
        if matches!(error, Error::Untrusted(_)) {
            let error = page::safe(&error.to_string(), 400);
            return Err(Failure::Input(format!(
                "the program that answers at {agents} does not have the key in {SYSTEM_KEY}, so it \
                 is not the daemon of this service: {error}\n{PUBLISH}"
            )));
        }
        if started.elapsed() > START {
            let error = page::safe(&error.to_string(), 400);
            return Err(Failure::Input(format!(
                "the service is installed and {}, but no daemon answers at {agents}: {error}\n\
                 What it said: countersign service logs",
                page::safe(&state(spec), 60)
            )));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The state that the service manager reports.
fn state(spec: &ServiceSpec) -> String {
    let is_system = spec.account.is_some();
    let words = match spec.manager {
        ServiceManager::Systemd => systemctl(is_system, &["is-active", UNIT]),
        ServiceManager::Launchd => launchctl(is_system, "print", None),
    };
    let output = command(&words).stderr(Stdio::null()).output();
    let Ok(output) = output else { return "not known to a service manager".to_owned() };
    let text = String::from_utf8_lossy(&output.stdout);
    match spec.manager {
        ServiceManager::Systemd if text.trim().is_empty() => "in an unknown state".to_owned(),
        ServiceManager::Systemd => text.trim().to_owned(),
        ServiceManager::Launchd if text.contains("state = running") => "active".to_owned(),
        ServiceManager::Launchd => "stopped".to_owned(),
    }
}

fn command(words: &[String]) -> Command {
    let mut words = words.iter();
    let mut command = Command::new(words.next().map_or("", String::as_str));
    command.args(words);
    command
}

/// Restarts the service.
pub fn restart(spec: &ServiceSpec) -> Result<ExitCode, Failure> {
    let is_system = spec.account.is_some();
    let words = match spec.manager {
        ServiceManager::Systemd => systemctl(is_system, &["restart", UNIT]),
        ServiceManager::Launchd => {
            let mut words = launchctl(is_system, "kickstart", None);
            words.insert(2, "-k".to_owned());
            words
        }
    };
    become_program(&words)
}

/// Shows the log.
pub fn logs(spec: &ServiceSpec, lines: u32, follow: bool) -> Result<ExitCode, Failure> {
    let lines = lines.to_string();
    let unit = if spec.account.is_some() { "--unit" } else { "--user-unit" };
    let mut words: Vec<String> = match spec.manager {
        ServiceManager::Systemd => {
            ["journalctl", unit, UNIT, "--lines", &lines].map(Into::into).into()
        }
        ServiceManager::Launchd => ["tail", "-n", &lines].map(Into::into).into(),
    };
    if follow {
        words.push("-f".to_owned());
    }
    if spec.manager == ServiceManager::Launchd {
        words.push(spec.log.display().to_string());
    }
    become_program(&words)
}

/// Replaces this process with another program, which keeps the terminal.
fn become_program(words: &[String]) -> Result<ExitCode, Failure> {
    let error = command(words).exec();
    Err(Failure::at(&words.join(" "), error))
}
