//! The configuration: what was written, turned into what it means, or refused with its place.

mod channels;
pub mod duty;
mod kinds;
mod meaning;
pub mod paths;
mod written;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use countersign_channels::{ChannelLimits, ChannelSettings};
use countersign_crisis::Preset;
use countersign_json::canonical::Digest;
use countersign_risk::context::Environment;
use countersign_risk::verdict::{Mode, Policy};
use countersign_types::tier::Tier;
use countersign_types::time::Span;
use countersign_workflow::assurance::Needs;
use countersign_workflow::oncall::Hours;
use countersign_workflow::request::{Quorum, Times};

pub use duty::{Duty, Ladder};
pub use paths::Paths;

/// The commented file that `countersign config example` prints; a test reads it.
pub const EXAMPLE: &str = include_str!("../../countersign.toml");

/// Why a configuration is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{0}: {1}")]
    Unreadable(PathBuf, String),
    /// It is not TOML, or names a field that we do not know.
    #[error("{0}")]
    Written(String),
    /// A field says something it cannot mean.
    #[error("{field}: {problem}")]
    Meaning {
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

/// What the configuration means.
#[derive(Debug, Clone)]
pub struct Config {
    /// How calls are judged and what the gate does with them: what a reload may change.
    pub rules: Rules,
    /// The agents' door.
    pub agents: SocketAddr,
    /// The people's door.
    pub people: SocketAddr,
    /// The agents' socket, if there is one.
    pub socket: Option<Socket>,
    /// Further names under which the people's door is reached.
    pub hosts: Vec<String>,
    /// The store's file.
    pub store: PathBuf,
    /// The folder of the keys.
    pub state: PathBuf,
    /// Whether even harmless calls wait for their commit.
    pub strict: bool,
    /// How the ledger is signed and witnessed.
    pub ledger: Ledger,
    /// Between two proofs that the agents' gates are shut, if there are any.
    pub prove_every: Option<Span>,
    /// What is logged.
    pub log: Log,
}

/// The agents' socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Socket {
    /// Its place.
    pub path: PathBuf,
    /// Who may open it.
    pub mode: u32,
}

/// What may change while the daemon runs (SIGHUP).
#[derive(Debug, Clone)]
pub struct Rules {
    /// Rollout mode.
    pub mode: Mode,
    /// Thresholds of the judgement.
    pub judgement: Policy,
    /// Where agents run unless they say worse.
    pub environment: Environment,
    /// Deadlines and climbs.
    pub times: Times,
    /// How many people it takes.
    pub quorum: QuorumByTier,
    /// How sure we must be who approves.
    pub needs: Needs,
    /// How long a new person, passkey or linked account waits before it may approve.
    pub waiting_period: Span,
    /// How long a session may be idle before it ends.
    pub idle: Span,
    /// How people are kept from being flooded.
    pub flood: Flood,
    /// How long a permit is good.
    pub permit_for: Span,
    /// Who signs permits.
    pub issuer: String,
    /// Whether callers of the seed's routes may come without a token.
    pub seed_without_token: bool,
    /// Whether `/respond` is served at the agents' door too.
    pub respond_at_agents_door: bool,
    /// Whose helplines the crisis card lists.
    pub country: Option<String>,
    /// Which wording the crisis card has.
    pub preset: Preset,
    /// The seed's whitelist file.
    pub whitelist: Option<PathBuf>,
    /// Which channels stand on which rung, lowest first.
    pub ladder: Ladder,
    /// What differs by tier and by time of day.
    pub duty: Duty,
    /// Made-up calls that keep people awake.
    pub drills: Drills,
    /// The channels that are set up; `terminal` and `desktop` always are.
    pub channels: BTreeMap<String, SetUp>,
    /// How links to the people's door begin.
    pub inbox: String,
    /// The hash of all of this and of the rules of danger: in every ledger entry.
    pub hash: Digest,
}

/// A channel as it is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetUp {
    /// What it is.
    pub settings: ChannelSettings,
    /// What it keeps to.
    pub limits: ChannelLimits,
}

/// How many people it takes, by tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuorumByTier {
    /// LOW where it asks, and MEDIUM.
    pub medium: u8,
    /// HIGH.
    pub high: u8,
    /// CRITICAL.
    pub critical: u8,
    /// In a crisis.
    pub crisis: u8,
    /// So many say no.
    pub deny: u8,
}

impl QuorumByTier {
    /// What a call needs.
    pub fn of(&self, tier: Tier, crisis: bool) -> Quorum {
        let by_tier = match tier {
            Tier::Safe | Tier::Low | Tier::Medium => self.medium,
            Tier::High => self.high,
            Tier::Critical => self.critical,
        };
        let approve = if crisis { by_tier.max(self.crisis) } else { by_tier };
        Quorum { approve, deny: self.deny }
    }
}

/// How people are kept from being flooded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flood {
    /// Requests of one agent that wait at the same time.
    pub open_per_agent: u32,
    /// Questions of one agent in a minute.
    pub asks_per_minute: u32,
    /// Questions of all agents in an hour.
    pub asks_per_hour: u32,
    /// So many denials …
    pub denials: u32,
    /// … within this time …
    pub within: Span,
    /// … and an agent may ask nothing for so long.
    pub quarantine: Span,
}

/// Made-up calls that keep people awake.
#[derive(Debug, Clone)]
pub struct Drills {
    /// At most so many in seven days; none by default.
    pub per_week: u32,
    /// When one may come although nobody sits at the inbox.
    pub hours: Hours,
}

/// How the ledger is signed and witnessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// Between two signed checkpoints.
    pub every: Span,
    /// A file to which checkpoints are added.
    pub file: Option<PathBuf>,
    /// A URL to which they are posted.
    pub webhook: Option<String>,
    /// A git repository into which they are committed.
    pub git: Option<PathBuf>,
}

/// What is logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// `error`, `warn`, `info`, `debug`, `trace`.
    pub level: String,
    /// As JSON, for machines.
    pub json: bool,
    /// An OpenTelemetry collector.
    pub otlp: Option<String>,
}

impl Log {
    /// The same at another level, or why there is no such level.
    pub fn at(&self, level: &str) -> Result<Log, String> {
        if ["error", "warn", "info", "debug", "trace"].contains(&level) {
            Ok(Log { level: level.to_owned(), ..self.clone() })
        } else {
            Err(format!("`{level}` is not error, warn, info, debug or trace"))
        }
    }
}

impl Config {
    /// Reads the file; a file that is not there means the defaults.
    pub fn load(paths: &Paths) -> Result<Config, ConfigError> {
        let text = match std::fs::read_to_string(&paths.config) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(ConfigError::Unreadable(paths.config.clone(), error.to_string()));
            }
        };
        Config::read(&text, paths)
    }

    /// Reads the text of a file.
    pub fn read(text: &str, paths: &Paths) -> Result<Config, ConfigError> {
        let written: written::Written = toml::from_str(text)
            .map_err(|error| ConfigError::Written(error.to_string().trim_end().to_owned()))?;
        meaning::meaning(written, paths)
    }
}
