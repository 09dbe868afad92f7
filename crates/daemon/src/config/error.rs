//! Why a configuration is rejected.

use std::path::PathBuf;

/// Why a configuration is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{0}: {1}")]
    Unreadable(PathBuf, String),
    /// It is not TOML, or names a field that we do not know.
    #[error("{0}")]
    Syntax(String),
    /// A field says something it cannot mean.
    #[error("{field}: {problem}")]
    Invalid {
        /// Which field.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A channel cannot be set up like this.
    #[error("channels.{name}: {problem}")]
    Channel {
        /// Which channel.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
}
