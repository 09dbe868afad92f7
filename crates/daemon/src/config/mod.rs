//! The configuration: the file as written, checked and turned into what the daemon works with.

mod channels;
mod check;
mod deadlines;
mod error;
mod file;
mod flood_limits;
mod guard;
mod judge;
mod judge_config;
mod kinds;
mod learning;
mod listen;
mod model;
mod model_sections;
pub mod oncall;
pub mod paths;
pub mod policy;
mod releasing_judge;
mod resolve;
mod review;
mod safeguards;
mod safeguards_record;
mod sections;
mod settings;
mod strength;
mod unattended;
mod undo;
mod weakened;
mod whitelist;
mod whitelist_keys;

#[cfg(test)]
mod tests;

pub use crate::modes::{mode_from_name, mode_name, strictness};
pub use channels::NO_CHANNEL;
pub use error::ConfigError;
pub use judge_config::{JudgeConfig, JudgeMode, KeySource};
pub use learning::LearningConfig;
pub use model::{
    ChannelConfig, DaemonConfig, DaemonRules, DrillsConfig, FloodConfig, LedgerConfig, LogConfig,
    QuorumByTier, SocketConfig, TlsConfig,
};
pub use oncall::{EscalationLevels, OnCall};
pub use paths::Paths;
pub use review::ReviewConfig;
pub use settings::{WrittenSettings, announced};
pub use unattended::UnattendedSettings;
pub use undo::UndoConfig;
pub use whitelist::{Whitelist, WhitelistEntry};

/// The commented file that `countersign config example` prints; a test reads it.
pub const EXAMPLE: &str = include_str!("../../countersign.toml");

impl DaemonConfig {
    /// Reads the file; a file that is not there means the defaults.
    pub fn load(paths: &Paths) -> Result<DaemonConfig, ConfigError> {
        let text = match std::fs::read_to_string(&paths.config) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(ConfigError::Unreadable(paths.config.clone(), error.to_string()));
            }
        };
        DaemonConfig::read(&text, paths)
    }

    /// Fails if other machines reach an address without TLS. The command line may have changed the
    /// addresses since the file was read.
    pub fn check_exposure(&self) -> Result<(), ConfigError> {
        listen::check_exposure(self)
    }

    /// Reads the text of a file.
    pub fn read(text: &str, paths: &Paths) -> Result<DaemonConfig, ConfigError> {
        let written: file::ConfigFile = toml::from_str(text)
            .map_err(|error| ConfigError::Syntax(error.to_string().trim_end().to_owned()))?;
        let mut config = resolve::resolve(written, paths)?;
        let written = WrittenSettings::of(text);
        let written = written.with_policy_files(&config.rules.policy);
        config.rules.written = written.with_whitelist(&config.rules.whitelist);
        Ok(config)
    }
}
