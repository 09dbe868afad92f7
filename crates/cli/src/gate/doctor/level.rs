//! The protection level: who runs the daemon, and what this user could do to it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use countersign_client::{AgentClient, DaemonInstallation, Endpoint};
use countersign_daemon::config::paths::EnvironmentVariables as _;

use super::access::{access_reasons, can_read};
use super::check::Check;
use super::desktop::desktop_reason;
use super::privileges::privilege_reasons;
use crate::gate::ports;
use crate::gate::reach::ProcessEnvironment;

/// How well a call is kept from running without a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The agent and the daemon are one Unix user.
    SameUser,
    /// The daemon has a user of its own.
    OwnUser,
    /// The daemon is on another host.
    OwnHost,
}

impl Level {
    /// Its short name.
    pub const fn name(self) -> &'static str {
        match self {
            Level::SameUser => "R0",
            Level::OwnUser => "R1",
            Level::OwnHost => "R2",
        }
    }

    /// What the level means.
    pub const fn words(self) -> &'static str {
        match self {
            Level::SameUser => {
                "R0, same user: prevents mistakes of an honest agent. A hostile agent of this user \
                 can stop the daemon, read its keys, or act without asking."
            }
            Level::OwnUser => {
                "R1, own user: an agent of this user cannot decide requests or change or stop the \
                 gate. It can still act without asking, except through gated tools."
            }
            Level::OwnHost => {
                "R2, own host: the agent cannot reach the gate's host. Nothing runs unapproved if \
                 the program that runs the calls checks permits."
            }
        }
    }
}

/// Where the daemon is asked, and what it said about itself.
pub struct DaemonView {
    /// The endpoint at which it was asked.
    pub asked: Endpoint,
    /// The people API, if its address is known here.
    pub people: Option<Endpoint>,
    /// What it said, or why it did not say it.
    pub installation: Result<DaemonInstallation, String>,
}

impl DaemonView {
    /// Asks the daemon.
    pub fn ask(asked: Endpoint, people: Option<Endpoint>) -> DaemonView {
        // Over the socket the daemon knows its callers; over TCP it needs the agent's token.
        let is_socket = matches!(asked, Endpoint::Unix(_));
        let token = ProcessEnvironment.get("COUNTERSIGN_AGENT_TOKEN").filter(|_| !is_socket);
        let installation = AgentClient::new(asked.clone(), token).installation();
        DaemonView { asked, people, installation: installation.map_err(|error| error.to_string()) }
    }
}

/// Whether an endpoint is on this machine.
pub fn is_here(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Tcp(authority) | Endpoint::Tls { authority, .. } => ports::is_here(authority),
        Endpoint::Unix(_) => true,
    }
}

/// The level that is reached, with each reason why it is not a higher one.
pub fn protection(daemon: &DaemonView, checks: &mut Vec<Check>) -> Level {
    if !is_here(&daemon.asked) {
        return own_host(daemon, checks);
    }
    let me = rustix::process::getuid().as_raw();
    let before = checks.len();
    match &daemon.installation {
        Err(why) => checks.push(Check::note(
            format!("The daemon did not say who it is: {why}. Its level is not known."),
            "countersign serve, or let this user ask: usermod -a -G countersign-agents USER",
        )),
        Ok(_) if me == 0 => checks.push(Check::note(
            "You are root, who can do everything.",
            "run this as the agent's user: sudo -u AGENT countersign doctor",
        )),
        Ok(found) if found.uid == me => {
            others_reach(found, checks);
            checks.push(Check::note(
                format!("The daemon runs as you (user {me}); so does every agent you start."),
                "give it its own user: sudo countersign service install --system --own-user",
            ));
        }
        Ok(found) => {
            checks.extend(identity_reasons(daemon, found));
            checks.extend(access_reasons(found, me));
            checks.extend(privilege_reasons(me, found.gid));
            checks.extend(desktop_reason(me));
        }
    }
    if checks.len() > before {
        return Level::SameUser;
    }
    checks.push(Check::ok("This user can ask the daemon, and can neither change nor stop it."));
    Level::OwnUser
}

/// The daemon is on another host; the level needs a connection that nobody between can read.
fn own_host(daemon: &DaemonView, checks: &mut Vec<Check>) -> Level {
    let is_plain = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Tcp(_)) && !is_here(endpoint);
    for (name, endpoint) in [("agent", Some(&daemon.asked)), ("people", daemon.people.as_ref())] {
        if let Some(endpoint) = endpoint.filter(|endpoint| is_plain(endpoint)) {
            checks.push(Check::bad(
                format!(
                    "The {name} API at {endpoint} is reached over plain HTTP: anyone between \
                     reads tokens and calls."
                ),
                "set tls = true on the daemon's host, and use https://HOST:PORT#sha256:PIN here",
            ));
        }
    }
    if is_plain(&daemon.asked) {
        return Level::SameUser;
    }
    if let Err(why) = &daemon.installation {
        checks.push(Check::bad(
            format!("The daemon on the other host does not take this agent's calls: {why}."),
            "set COUNTERSIGN_AGENT_TOKEN to the token of `countersign agents add NAME`",
        ));
        return Level::SameUser;
    }
    let say = format!("The daemon is on another host, at {}, and proved its key.", daemon.asked);
    checks.push(Check::ok(say));
    Level::OwnHost
}

/// Whether another program answers in place of the daemon: the kernel knows who listens.
fn identity_reasons(daemon: &DaemonView, found: &DaemonInstallation) -> Vec<Check> {
    let mut reasons = Vec::new();
    for (name, endpoint) in [("agent", Some(&daemon.asked)), ("people", daemon.people.as_ref())] {
        let Some(endpoint) = endpoint else { continue };
        let owner = ports::owner(endpoint);
        if owner.is_some_and(|owner| owner != found.uid && owner != 0) {
            let say = format!(
                "Another program serves the {name} API at {endpoint}: it belongs to user {}, and \
                 the daemon to user {}.",
                owner.unwrap_or_default(),
                found.uid
            );
            reasons.push(Check::bad(say, "stop that program, and enter no passphrase there"));
        }
    }
    reasons
}

/// What users other than the daemon's own can open.
fn others_reach(found: &DaemonInstallation, checks: &mut Vec<Check>) {
    for (name, path) in [
        ("state folder", found.state.clone()),
        ("signing key", found.state.join("signing.key")),
        ("store", found.store.clone()),
    ] {
        let is_open = fs::metadata(&path).is_ok_and(|file| file.mode() & 0o077 != 0);
        if is_open && can_read(&path) {
            let say = format!("Other users can read the {name} ({}).", path.display());
            checks.push(Check::bad(say, &format!("chmod go= {}", path.display())));
        }
    }
    if fs::metadata(&found.config).is_ok_and(|file| file.mode() & 0o022 != 0) {
        let say = format!("Other users can change the configuration ({}).", found.config.display());
        checks.push(Check::bad(say, &format!("chmod go-w {}", found.config.display())));
    }
}
