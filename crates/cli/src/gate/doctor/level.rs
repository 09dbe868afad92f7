//! The protection level: who runs the daemon, and what this user could do to it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use countersign_client::Endpoint;
use countersign_daemon::config::{DaemonConfig, Paths};

use super::check::Check;
use super::ports;

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

/// Checks the owners of files and what this user can open.
pub fn protection(
    config: &DaemonConfig,
    paths: &Paths,
    agents: &Endpoint,
    checks: &mut Vec<Check>,
) -> Level {
    let me = rustix::process::getuid().as_raw();
    if let Endpoint::Tcp(authority) = agents
        && !ports::is_here(authority)
    {
        return Level::OwnHost;
    }
    let owner = ports::owner(agents).or_else(|| fs::metadata(&paths.state).ok().map(|m| m.uid()));
    let Some(owner) = owner else {
        checks.push(Check::note(
            "Nothing is installed yet: neither a daemon nor its folder is there.",
            "countersign serve",
        ));
        return Level::SameUser;
    };
    reach_of(config, paths, me, checks);
    if me == 0 {
        checks.push(Check::note(
            "You are root, who can do everything.",
            "run this as the agent's user: sudo -u AGENT countersign doctor",
        ));
        return Level::SameUser;
    }
    if owner == me {
        checks.push(Check::note(
            format!("The daemon runs as you (user {me}); so does every agent you start."),
            "give it its own user: run `countersign serve` as a system user, agents as you",
        ));
        return Level::SameUser;
    }
    let open = can_read(&paths.state) || can_write(&paths.config);
    if open { Level::SameUser } else { Level::OwnUser }
}

/// What this user can open of the daemon's own things.
fn reach_of(config: &DaemonConfig, paths: &Paths, me: u32, checks: &mut Vec<Check>) {
    for (name, path) in [
        ("state folder", paths.state.clone()),
        ("signing key", paths.state.join("signing.key")),
        ("store", config.store.clone()),
    ] {
        let Ok(found) = fs::metadata(&path) else { continue };
        if found.mode() & 0o077 != 0 {
            let say = format!("Others can get at the {name} ({}).", path.display());
            checks.push(Check::bad(say, &format!("chmod go= {}", path.display())));
        } else if found.uid() != me && me != 0 && can_read(&path) {
            let say = format!("This user can read the {name}, which is not its own.");
            checks.push(Check::bad(say, "look at ACLs and group rights of the folder"));
        }
    }
    let others = fs::metadata(&paths.config).is_ok_and(|found| found.mode() & 0o022 != 0);
    if others {
        let say = format!("Others can change the configuration ({}).", paths.config.display());
        checks.push(Check::bad(say, &format!("chmod go-w {}", paths.config.display())));
    }
}

fn can_read(path: &Path) -> bool {
    if path.is_dir() { fs::read_dir(path).is_ok() } else { File::open(path).is_ok() }
}

fn can_write(path: &Path) -> bool {
    // Opened without a change: neither created nor cut.
    OpenOptions::new().append(true).open(path).is_ok()
}
