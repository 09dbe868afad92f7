//! The steps of an installation, in order, without doing any of them.

use std::fmt;
use std::path::PathBuf;

use countersign_types::SYSTEM_RUNTIME_FOLDER;

use super::launchd_plist::launchd_plist;
use super::spec::{LABEL, SYSTEM_CONFIG_FOLDER, ServiceAccount, ServiceManager, ServiceSpec, UNIT};
use super::systemd_unit::systemd_unit;
use crate::failure::Failure;
use crate::gate::reach::SYSTEM_KEY;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceStep {
    /// Creates a group, unless it exists.
    Group(String),
    /// Creates an account without login, unless it exists.
    Account {
        /// Its name.
        name: String,
        /// Its home folder.
        home: PathBuf,
    },
    /// Adds a user to a group.
    Member {
        /// The user.
        user: String,
        /// The group.
        group: String,
    },
    /// Creates a folder, or corrects owner and mode.
    Folder(PathBuf, FileAccess),
    /// Copies a program.
    Program {
        /// The running one.
        from: PathBuf,
        /// Where the service starts it.
        to: PathBuf,
    },
    /// Writes a file.
    File {
        /// Its path.
        path: PathBuf,
        /// Its owner and mode.
        access: FileAccess,
        /// Its content.
        text: String,
        /// Whether an existing file stays as it is.
        keep: bool,
    },
    /// Creates `owner` and shows the passphrase, if this is a terminal.
    FirstPassphrase,
    /// Writes the daemon's public key where the agents of every user find it.
    PublicKey(PathBuf),
    /// Removes a file.
    Remove(PathBuf),
    /// Runs a program.
    Run(Vec<String>),
}

/// Owner and mode of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAccess {
    /// User and group; none for those of this process.
    pub owner: Option<(String, String)>,
    /// The permissions.
    pub mode: u32,
}

impl FileAccess {
    fn of(user: &str, group: &str, mode: u32) -> FileAccess {
        FileAccess { owner: Some((user.to_owned(), group.to_owned())), mode }
    }
}

/// The steps that install a service.
pub fn install_steps(spec: &ServiceSpec) -> Result<Vec<ServiceStep>, Failure> {
    let mut steps = Vec::new();
    let mine = |mode| FileAccess { owner: None, mode };
    if let Some(account) = &spec.account {
        system_steps(spec, account, &mut steps);
    } else if let Some(folder) = spec.file.parent() {
        steps.push(ServiceStep::Folder(folder.to_owned(), mine(0o755)));
    }
    let text = match spec.manager {
        ServiceManager::Systemd => systemd_unit(spec)?,
        ServiceManager::Launchd => launchd_plist(spec)?,
    };
    let root = if spec.manager == ServiceManager::Launchd { "wheel" } else { "root" };
    let access = match spec.account {
        Some(_) => FileAccess::of("root", root, 0o644),
        None => mine(0o644),
    };
    steps.push(ServiceStep::File { path: spec.file.clone(), access, text, keep: false });
    steps.push(ServiceStep::FirstPassphrase);
    // Before the start: without the key every risky call of an agent is blocked.
    steps.extend(public_key(spec));
    if spec.start {
        steps.extend(start_commands(spec).into_iter().map(ServiceStep::Run));
    }
    Ok(steps)
}

/// The step that writes the public key; the agents of the daemon's own user read its state folder.
fn public_key(spec: &ServiceSpec) -> Option<ServiceStep> {
    spec.account.as_ref().map(|_| ServiceStep::PublicKey(SYSTEM_KEY.into()))
}

/// Account, programs, folders and configuration of a system service.
fn system_steps(spec: &ServiceSpec, account: &ServiceAccount, steps: &mut Vec<ServiceStep>) {
    let ServiceAccount { name, agents, members, create } = account;
    let state = spec.state.clone().unwrap_or_default();
    if *create {
        steps.push(ServiceStep::Group(agents.clone()));
        steps.push(ServiceStep::Account { name: name.clone(), home: state.clone() });
    }
    for user in members {
        steps.push(ServiceStep::Member { user: user.clone(), group: agents.clone() });
    }
    for from in &spec.sources {
        let to = from.file_name().map(|file| spec.program.with_file_name(file));
        steps.extend(to.map(|to| ServiceStep::Program { from: from.clone(), to }));
    }
    // Agents read the public key in this folder. The configuration may hold tokens of channels: the
    // daemon reads it, and nobody else.
    let folder = FileAccess::of("root", name, 0o755);
    steps.push(ServiceStep::Folder(SYSTEM_CONFIG_FOLDER.into(), folder));
    if let (Some(path), Some(text)) = (spec.config.clone(), spec.configuration()) {
        let access = FileAccess::of("root", name, 0o640);
        steps.push(ServiceStep::File { path, access, text, keep: true });
    }
    steps.push(ServiceStep::Folder(state, FileAccess::of(name, name, 0o700)));
    if spec.manager == ServiceManager::Launchd {
        // systemd creates this folder at each start.
        let access = FileAccess::of(name, agents, 0o755);
        steps.push(ServiceStep::Folder(SYSTEM_RUNTIME_FOLDER.into(), access));
    }
}

/// Steps as lines, with the text of each file below its step.
pub fn listing(steps: &[ServiceStep]) -> String {
    let mut lines = Vec::new();
    for step in steps {
        lines.push(step.to_string());
        if let ServiceStep::File { text, .. } = step {
            lines.extend(text.lines().map(|line| format!("    {line}").trim_end().to_owned()));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The steps that remove a service.
pub fn uninstall_steps(spec: &ServiceSpec) -> Vec<ServiceStep> {
    let is_system = spec.account.is_some();
    let mut steps = vec![ServiceStep::Run(match spec.manager {
        ServiceManager::Systemd => systemctl(is_system, &["disable", "--now", UNIT]),
        ServiceManager::Launchd => launchctl(is_system, "bootout", None),
    })];
    steps.push(ServiceStep::Remove(spec.file.clone()));
    if spec.manager == ServiceManager::Systemd {
        steps.push(ServiceStep::Run(systemctl(is_system, &["daemon-reload"])));
    }
    // The empty folder would tell clients that the service is only stopped.
    if is_system {
        steps.push(ServiceStep::Remove(SYSTEM_RUNTIME_FOLDER.into()));
        steps.push(ServiceStep::Remove(SYSTEM_KEY.into()));
    }
    steps
}

/// The commands that start the service now and at each boot or login.
fn start_commands(spec: &ServiceSpec) -> Vec<Vec<String>> {
    let is_system = spec.account.is_some();
    match spec.manager {
        ServiceManager::Systemd => vec![
            systemctl(is_system, &["daemon-reload"]),
            systemctl(is_system, &["enable", UNIT]),
            systemctl(is_system, &["restart", UNIT]),
        ],
        ServiceManager::Launchd => {
            vec![launchctl(is_system, "bootstrap", Some(spec.file.display().to_string()))]
        }
    }
}

/// A command of systemd.
pub fn systemctl(is_system: bool, words: &[&str]) -> Vec<String> {
    let scope = if is_system { &["systemctl"][..] } else { &["systemctl", "--user"] };
    scope.iter().chain(words).map(|word| (*word).to_owned()).collect()
}

/// A command of launchd.
pub fn launchctl(is_system: bool, action: &str, file: Option<String>) -> Vec<String> {
    let domain = if is_system {
        "system".to_owned()
    } else {
        format!("gui/{}", rustix::process::getuid().as_raw())
    };
    let mut words = vec!["launchctl".to_owned(), action.to_owned()];
    match file {
        Some(file) => words.extend([domain, file]),
        None => words.push(format!("{domain}/{LABEL}")),
    }
    words
}

impl fmt::Display for FileAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((user, group)) = &self.owner {
            write!(f, "{user}:{group}, ")?;
        }
        write!(f, "{:04o}", self.mode)
    }
}

impl fmt::Display for ServiceStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServiceStep::Group(name) => write!(f, "create the group {name}"),
            ServiceStep::Account { name, home } => {
                write!(f, "create the account {name} without login, home {}", home.display())
            }
            ServiceStep::Member { user, group } => write!(f, "add {user} to the group {group}"),
            ServiceStep::Folder(path, access) => {
                write!(f, "create the folder {} ({access})", path.display())
            }
            ServiceStep::Program { from, to } => {
                write!(f, "copy {} to {} (root, 0755)", from.display(), to.display())
            }
            ServiceStep::File { path, access, keep, .. } => {
                let unless = if *keep { ", unless it exists" } else { "" };
                write!(f, "write {} ({access}){unless}", path.display())
            }
            ServiceStep::FirstPassphrase => {
                f.write_str("create `owner` and show the passphrase, on a terminal only")
            }
            ServiceStep::PublicKey(path) => {
                write!(f, "write the daemon's public key to {} (root, 0644)", path.display())
            }
            ServiceStep::Remove(path) => write!(f, "remove {}", path.display()),
            ServiceStep::Run(words) => write!(f, "run {}", words.join(" ")),
        }
    }
}
