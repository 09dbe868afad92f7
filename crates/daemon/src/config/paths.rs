//! The folders: by the XDG rules, or as the operator configured.

use std::path::PathBuf;

/// The folders of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The configuration file.
    pub config: PathBuf,
    /// The folder of the store and the keys.
    pub state: PathBuf,
    /// The folder of the socket.
    pub runtime: PathBuf,
}

/// Environment variables.
pub trait EnvironmentVariables {
    /// One variable, if it is set and not empty.
    fn get(&self, name: &str) -> Option<String>;
}

/// The variables of this process.
#[derive(Debug)]
pub struct ProcessEnvironment;

impl EnvironmentVariables for ProcessEnvironment {
    fn get(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }
}

impl Paths {
    /// The folder of the gateways: next to the daemon's folder, which may belong to another user.
    pub fn gateways(&self) -> PathBuf {
        self.state.with_file_name("countersign-gateways")
    }

    /// By the XDG rules; `COUNTERSIGN_CONFIG` and `COUNTERSIGN_STATE` come first.
    pub fn from_environment(variables: &impl EnvironmentVariables) -> Paths {
        let folder = |name: &str, below_home: &str| {
            variables.get(name).map(PathBuf::from).filter(|path| path.is_absolute()).unwrap_or_else(
                || {
                    let home = variables.get("HOME").map_or_else(|| "/".into(), PathBuf::from);
                    home.join(below_home)
                },
            )
        };
        let named = |name: &str| variables.get(name).map(PathBuf::from);
        let state = named("COUNTERSIGN_STATE")
            .unwrap_or_else(|| folder("XDG_STATE_HOME", ".local/state").join("countersign"));
        let config = named("COUNTERSIGN_CONFIG").unwrap_or_else(|| {
            folder("XDG_CONFIG_HOME", ".config").join("countersign/countersign.toml")
        });
        // Without a runtime folder the socket is in the state folder, which is private.
        let runtime = variables
            .get("XDG_RUNTIME_DIR")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute() && variables.get("COUNTERSIGN_STATE").is_none())
            .map_or_else(|| state.clone(), |folder| folder.join("countersign"));
        Paths { config, state, runtime }
    }
}
