//! The configuration after all checks: what the daemon works with.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use countersign_channels::{Limits, Settings};
use countersign_crisis::Preset;
use countersign_json::canonical::Digest;
use countersign_risk::context::Environment;
use countersign_risk::verdict::{Mode, Policy};
use countersign_types::tier::Tier;
use countersign_types::time::Millis;
use countersign_workflow::assurance::RequiredAssurance;
use countersign_workflow::oncall::Hours;
use countersign_workflow::request::{EscalationTimes, Quorum};

use super::oncall::{Ladder, OnCall};

/// What the configuration means.
#[derive(Debug, Clone)]
pub struct DaemonConfig {
    /// How calls are judged and what the gate does with them: what a reload may change.
    pub rules: DaemonRules,
    /// The agents' door.
    pub agents: SocketAddr,
    /// The people's door.
    pub people: SocketAddr,
    /// The agents' socket, if there is one.
    pub socket: Option<SocketConfig>,
    /// Further names under which the people's door is reached.
    pub hosts: Vec<String>,
    /// The store's file.
    pub store: PathBuf,
    /// The folder of the keys.
    pub state: PathBuf,
    /// Whether even harmless calls wait for their commit.
    pub strict: bool,
    /// How the ledger is signed and witnessed.
    pub ledger: LedgerConfig,
    /// Between two proofs that the agents' gates are shut, if there are any.
    pub test_gates_every: Option<Millis>,
    /// What is logged.
    pub log: LogConfig,
}

/// The agents' socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketConfig {
    /// Its place.
    pub path: PathBuf,
    /// Who may open it.
    pub mode: u32,
}

/// What may change while the daemon runs (SIGHUP).
#[derive(Debug, Clone)]
pub struct DaemonRules {
    /// Rollout mode.
    pub mode: Mode,
    /// Thresholds of the judgement.
    pub judgement: Policy,
    /// Where agents run unless they say worse.
    pub environment: Environment,
    /// Deadlines and climbs.
    pub times: EscalationTimes,
    /// How many people it takes.
    pub quorum: QuorumByTier,
    /// How sure we must be who approves.
    pub needs: RequiredAssurance,
    /// How long a new person, passkey or linked account waits before it may approve.
    pub waiting_period: Millis,
    /// How long a session may be idle before it ends.
    pub idle: Millis,
    /// How people are kept from being flooded.
    pub flood: FloodConfig,
    /// How long a permit is good.
    pub permit_for: Millis,
    /// Who signs permits.
    pub issuer: String,
    /// Whether callers of the seed's routes may come without a token.
    pub confirm_without_token: bool,
    /// Whether `/respond` is served at the agents' door too.
    pub respond_on_agent_api: bool,
    /// Whose helplines the crisis card lists.
    pub country: Option<String>,
    /// Which wording the crisis card has.
    pub preset: Preset,
    /// The seed's whitelist file.
    pub whitelist: Option<PathBuf>,
    /// Which channels stand on which rung, lowest first.
    pub ladder: Ladder,
    /// What differs by tier and by time of day.
    pub oncall: OnCall,
    /// Made-up calls that keep people awake.
    pub drills: DrillsConfig,
    /// The channels that are set up; `terminal` and `desktop` always are.
    pub channels: BTreeMap<String, ChannelConfig>,
    /// How links to the people's door begin.
    pub inbox: String,
    /// The hash of all of this and of the rules of danger: in every ledger entry.
    pub hash: Digest,
}

/// A channel as it is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelConfig {
    /// What it is.
    pub settings: Settings,
    /// What it keeps to.
    pub limits: Limits,
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
pub struct FloodConfig {
    /// Requests of one agent that wait at the same time.
    pub open_per_agent: u32,
    /// Questions of one agent in a minute.
    pub asks_per_minute: u32,
    /// Questions of all agents in an hour.
    pub asks_per_hour: u32,
    /// So many denials …
    pub denials: u32,
    /// … within this time …
    pub within: Millis,
    /// … and an agent may ask nothing for so long.
    pub quarantine: Millis,
}

/// Made-up calls that keep people awake.
#[derive(Debug, Clone)]
pub struct DrillsConfig {
    /// At most so many in seven days; none by default.
    pub per_week: u32,
    /// When one may come although nobody sits at the inbox.
    pub hours: Hours,
}

/// How the ledger is signed and witnessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerConfig {
    /// Between two signed checkpoints.
    pub every: Millis,
    /// A file to which checkpoints are added.
    pub file: Option<PathBuf>,
    /// A URL to which they are posted.
    pub webhook: Option<String>,
    /// A git repository into which they are committed.
    pub git: Option<PathBuf>,
}

/// What is logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// `error`, `warn`, `info`, `debug`, `trace`.
    pub level: String,
    /// As JSON, for machines.
    pub json: bool,
    /// An OpenTelemetry collector.
    pub otlp: Option<String>,
}

impl LogConfig {
    /// The same at another level, or why there is no such level.
    pub fn at(&self, level: &str) -> Result<LogConfig, String> {
        if ["error", "warn", "info", "debug", "trace"].contains(&level) {
            Ok(LogConfig { level: level.to_owned(), ..self.clone() })
        } else {
            Err(format!("`{level}` is not error, warn, info, debug or trace"))
        }
    }
}
