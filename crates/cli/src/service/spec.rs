//! What is installed where: the layout of a service, without looking at the machine.

use std::path::{Path, PathBuf};

use countersign_client::SYSTEM_SERVICE_FILE;
use countersign_types::SYSTEM_RUNTIME_FOLDER;

/// The program that runs services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceManager {
    /// Linux.
    Systemd,
    /// macOS.
    Launchd,
}

impl ServiceManager {
    /// The one of this operating system.
    pub const fn here() -> ServiceManager {
        if cfg!(target_os = "macos") { ServiceManager::Launchd } else { ServiceManager::Systemd }
    }
}

/// The name of the systemd unit.
pub const UNIT: &str = "countersign.service";
/// The label of the launchd job.
pub const LABEL: &str = "countersign.daemon";

/// Who runs the daemon, and who may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAccount {
    /// The user of the daemon.
    pub name: String,
    /// The group whose members may connect to the socket.
    pub agents: String,
    /// Users who become members of the group.
    pub members: Vec<String>,
    /// Whether account and group are created.
    pub create: bool,
}

/// A service to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceSpec {
    /// The manager.
    pub manager: ServiceManager,
    /// The account of a system service; none for a service of this user.
    pub account: Option<ServiceAccount>,
    /// The running program, and the small one for hooks if it exists.
    pub sources: Vec<PathBuf>,
    /// The program that the service starts.
    pub program: PathBuf,
    /// The configuration, if it is not at the standard path of this user.
    pub config: Option<PathBuf>,
    /// The state folder, if it is not at the standard path of this user.
    pub state: Option<PathBuf>,
    /// The unit or property list.
    pub file: PathBuf,
    /// The file for the output of the daemon; systemd has a journal.
    pub log: PathBuf,
    /// Whether the service is started.
    pub start: bool,
}

/// Where a system service keeps its programs.
const PROGRAMS: &str = "/usr/local/bin";
/// Where a system service keeps its configuration.
pub const SYSTEM_CONFIG_FOLDER: &str = "/etc/countersign";

impl ServiceSpec {
    /// A system service.
    pub fn system(
        manager: ServiceManager,
        account: ServiceAccount,
        sources: Vec<PathBuf>,
    ) -> ServiceSpec {
        let state = match manager {
            ServiceManager::Systemd => "/var/lib/countersign",
            ServiceManager::Launchd => "/var/db/countersign",
        };
        ServiceSpec {
            manager,
            account: Some(account),
            sources,
            program: PathBuf::from(PROGRAMS).join("countersign"),
            config: Some(PathBuf::from(SYSTEM_CONFIG_FOLDER).join("countersign.toml")),
            state: Some(state.into()),
            file: SYSTEM_SERVICE_FILE.into(),
            log: "/var/log/countersign.log".into(),
            start: true,
        }
    }

    /// A service of the user with this home folder.
    pub fn user(manager: ServiceManager, home: &Path, program: PathBuf) -> ServiceSpec {
        let file = match manager {
            ServiceManager::Systemd => home.join(".config/systemd/user").join(UNIT),
            ServiceManager::Launchd => {
                home.join("Library/LaunchAgents").join(format!("{LABEL}.plist"))
            }
        };
        ServiceSpec {
            manager,
            account: None,
            sources: Vec::new(),
            program,
            config: None,
            state: None,
            file,
            log: home.join("Library/Logs/countersign.log"),
            start: true,
        }
    }

    /// The words that start the daemon.
    pub fn command(&self) -> Vec<String> {
        let mut words = vec![self.program.display().to_string(), "serve".to_owned()];
        for (flag, path) in [("--config", &self.config), ("--state", &self.state)] {
            if let Some(path) = path {
                words.extend([flag.to_owned(), path.display().to_string()]);
            }
        }
        words
    }

    /// The configuration of a system service.
    pub fn configuration(&self) -> Option<String> {
        let account = self.account.as_ref()?;
        Some(format!(
            "# Written by `countersign service install`. `countersign config example` shows every\n\
             # setting. Restart the service after a change of this section.\n\
             [listen]\n\
             socket = \"{SYSTEM_RUNTIME_FOLDER}/agents.sock\"\n\
             socket_mode = \"0660\"\n\
             # Members of this group may ask; the daemon knows them by their Unix user.\n\
             socket_group = \"{}\"\n\
             # Programs that ask over port 6000 need a token: `countersign agents add`.\n\
             confirm_without_token = false\n\
             \n\
             [doctor]\n\
             # The account of the daemon has no agents to test.\n\
             every_hours = 0\n",
            account.agents
        ))
    }
}

/// Whether a name can be one of an account or group: it ends up in files that root reads.
pub fn is_account_name(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let rest =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    first && name.len() <= 32 && name.bytes().all(rest)
}
