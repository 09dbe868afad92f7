//! Why a configuration is rejected.

use std::path::PathBuf;

/// Why a configuration is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{0}: {1}")]
    Unreadable(PathBuf, String),
    /// The file is not TOML, or has an unknown field.
    #[error("{0}")]
    Syntax(String),
    /// A field has an invalid value.
    #[error("{field}: {problem}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// The problem.
        problem: String,
    },
    /// Policy rules are invalid, or one of their tests fails.
    #[error("{0}")]
    Policy(String),
    /// A channel is configured incorrectly.
    #[error("channels.{name}: {problem}")]
    Channel {
        /// The channel.
        name: String,
        /// The problem.
        problem: String,
    },
}
