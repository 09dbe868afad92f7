//! The configuration after all checks: what the daemon works with.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use countersign_channels::{ChannelLimits, ChannelSettings};
use countersign_crisis::Preset;
use countersign_guard::GuardSettings;
use countersign_json::canonical::Digest;
use countersign_policy::CompiledPolicy;
use countersign_risk::context::Environment;
use countersign_risk::verdict::{Mode, Policy};
use countersign_types::tier::Tier;
use countersign_types::time::Millis;
use countersign_workflow::assurance::RequiredAssurance;
use countersign_workflow::oncall::Hours;
use countersign_workflow::request::{EscalationTimes, Quorum};

use super::deadlines::DeadlineLimits;
use super::judge_config::JudgeConfig;
use super::learning::LearningConfig;
use super::oncall::{EscalationLevels, OnCall};
use super::review::ReviewConfig;
use super::settings::WrittenSettings;
use super::undo::UndoConfig;
use super::whitelist::Whitelist;

/// The checked configuration.
#[derive(Debug, Clone)]
pub struct DaemonConfig {
    /// The rules of the gate, which a reload may change.
    pub rules: DaemonRules,
    /// Snapshots of files before calls, for `countersign undo`.
    pub undo: UndoConfig,
    /// The address of the agent API.
    pub agents: SocketAddr,
    /// The address of the people API.
    pub people: SocketAddr,
    /// The Unix socket of the agent API, if there is one.
    pub socket: Option<SocketConfig>,
    /// TLS on both TCP listeners, if it is on.
    pub tls: Option<TlsConfig>,
    /// Whether a proxy ends TLS, so that addresses beyond this machine may speak plain HTTP.
    pub tls_proxy: bool,
    /// Further host names of the people API, and with TLS of the agent API.
    pub hosts: Vec<String>,
    /// The store's file.
    pub store: PathBuf,
    /// The folder of the keys.
    pub state: PathBuf,
    /// Whether passes wait for their commit.
    pub strict: bool,
    /// How the ledger is signed and witnessed.
    pub ledger: LedgerConfig,
    /// The interval between tests of the agents' gates, if they are tested.
    pub test_gates_every: Option<Millis>,
    /// Logging.
    pub log: LogConfig,
    /// Whether the first start creates `owner`. False where the passphrase cannot be shown.
    pub create_owner: bool,
}

impl DaemonConfig {
    /// The host names of the agent API beside the loopback ones: none unless TLS protects it.
    pub fn agent_hosts(&self) -> &[String] {
        if self.tls.is_some() || self.tls_proxy { &self.hosts } else { &[] }
    }
}

/// The Unix socket of the agent API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketConfig {
    /// Its path.
    pub path: PathBuf,
    /// Its file mode.
    pub mode: u32,
    /// The group that it belongs to, if not the daemon's own: a name or a number.
    pub group: Option<String>,
}

/// Where the key and the certificate of the TCP listeners come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsConfig {
    /// Generated at the first start, in the state folder.
    Generated,
    /// PEM files of the operator.
    Files {
        /// The certificate and its chain.
        certificate: PathBuf,
        /// Its key.
        key: PathBuf,
    },
}

impl TlsConfig {
    /// The file of the certificate.
    pub fn certificate(&self, state: &Path) -> PathBuf {
        match self {
            TlsConfig::Generated => state.join("tls.crt"),
            TlsConfig::Files { certificate, .. } => certificate.clone(),
        }
    }
}

/// The rules, which may change while the daemon runs (SIGHUP).
#[derive(Debug, Clone)]
pub struct DaemonRules {
    /// Rollout mode.
    pub mode: Mode,
    /// Thresholds of the assessment.
    pub assessment: Policy,
    /// The environment of agents, unless they claim a riskier one.
    pub environment: Environment,
    /// Deadlines and escalation.
    pub times: EscalationTimes,
    /// The longest deadlines by tier and agent.
    pub deadlines: DeadlineLimits,
    /// How many people must approve.
    pub quorum: QuorumByTier,
    /// The assurance that an approval needs.
    pub needs: RequiredAssurance,
    /// How long a new person, passkey or linked account waits before it may approve.
    pub waiting_period: Millis,
    /// How long a session may be idle before it ends.
    pub idle: Millis,
    /// Limits that protect people from floods.
    pub flood: FloodConfig,
    /// How long a permit is valid.
    pub permit_for: Millis,
    /// How long the permit of a call is valid whose agent comes back for the answer.
    pub return_for: Millis,
    /// The issuer of permits.
    pub issuer: String,
    /// Whether the compatibility routes work without a token.
    pub confirm_without_token: bool,
    /// Whether the agent API serves `/respond` too.
    pub respond_on_agent_api: bool,
    /// Whether `/respond` approves HIGH without the digest and a word of the call.
    pub respond_without_word: bool,
    /// The country of the helplines on the crisis card.
    pub country: Option<String>,
    /// The wording of the crisis card.
    pub preset: Preset,
    /// The guard model, if one is configured.
    pub guard: Option<GuardSettings>,
    /// The whitelist.
    pub whitelist: Whitelist,
    /// The channels of each escalation level, lowest first.
    pub escalation: EscalationLevels,
    /// Exceptions by tier and time of day.
    pub oncall: OnCall,
    /// Drills.
    pub drills: DrillsConfig,
    /// The configured channels; `terminal` and `desktop` always are.
    pub channels: BTreeMap<String, ChannelConfig>,
    /// The base URL of the inbox.
    pub inbox: String,
    /// The model judge, if one is configured.
    pub judge: Option<JudgeConfig>,
    /// What is learned from approvals.
    pub learning: LearningConfig,
    /// Which calls may run before a person looks at them, if any.
    pub review: Option<ReviewConfig>,
    /// The policy rules.
    pub policy: Arc<CompiledPolicy>,
    /// The settings as written, to tell people what changed.
    pub written: WrittenSettings,
    /// The hash of all of this and of the risk rules; it is in every ledger entry.
    pub hash: Digest,
}

/// A configured channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelConfig {
    /// Its kind and settings.
    pub settings: ChannelSettings,
    /// Its limits.
    pub limits: ChannelLimits,
    /// The digest of its settings without its limits: who is heard through it.
    pub fingerprint: Digest,
}

/// How many people must approve, by tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuorumByTier {
    /// MEDIUM, and LOW where it needs a decision.
    pub medium: u8,
    /// HIGH.
    pub high: u8,
    /// CRITICAL.
    pub critical: u8,
    /// In a crisis.
    pub crisis: u8,
    /// How many denials deny.
    pub deny: u8,
}

impl QuorumByTier {
    /// The quorum of a call.
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

/// Limits that protect people from floods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FloodConfig {
    /// Pending requests of one agent.
    pub open_per_agent: u32,
    /// Requests of one agent per minute.
    pub asks_per_minute: u32,
    /// Requests of all agents per hour.
    pub asks_per_hour: u32,
    /// Bytes that the passes and refusals of all agents may write per hour.
    pub disk_per_hour: u64,
    /// This many denials …
    pub denials: u32,
    /// … within this time …
    pub within: Millis,
    /// … put an agent in quarantine for this long.
    pub quarantine: Millis,
    /// From this many pending questions of one session on, they are announced and shown as one
    /// digest; 0 for never.
    pub digest_from: u32,
}

/// Drills: made-up requests that keep people attentive.
#[derive(Debug, Clone)]
pub struct DrillsConfig {
    /// The maximum number in seven days; 0 by default.
    pub per_week: u32,
    /// The hours in which one may come although no one is active in the inbox.
    pub hours: Hours,
}

/// How the ledger is signed and witnessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerConfig {
    /// The interval between signed checkpoints.
    pub every: Millis,
    /// A file to which checkpoints are added.
    pub file: Option<PathBuf>,
    /// A URL to which they are posted.
    pub webhook: Option<String>,
    /// A git repository into which they are committed.
    pub git: Option<PathBuf>,
}

/// Logging.
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
    /// The same at another level; fails for an unknown level.
    pub fn at(&self, level: &str) -> Result<LogConfig, String> {
        if ["error", "warn", "info", "debug", "trace"].contains(&level) {
            Ok(LogConfig { level: level.to_owned(), ..self.clone() })
        } else {
            Err(format!("`{level}` is not error, warn, info, debug or trace"))
        }
    }
}
