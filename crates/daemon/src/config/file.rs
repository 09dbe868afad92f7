//! `countersign.toml` as written: every field is optional, unknown fields are rejected.

use std::collections::BTreeMap;

use countersign_policy::PolicySection;
use serde::Deserialize;

pub use super::learning::LearningSection;
pub use super::model_sections::{GuardSection, JudgeSection};
pub use super::review::ReviewSection;
pub use super::undo::UndoSection;

/// The whole file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigFile {
    pub mode: Option<String>,
    pub listen: ListenSection,
    pub times: TimesSection,
    #[serde(alias = "judgement")]
    pub assessment: AssessmentSection,
    pub quorum: QuorumSection,
    pub assurance: AssuranceSection,
    pub people: PeopleSection,
    pub flood: FloodSection,
    pub permits: PermitsSection,
    pub store: StoreSection,
    pub ledger: LedgerSection,
    pub crisis: CrisisSection,
    pub guard: GuardSection,
    pub whitelist: WhitelistSection,
    #[serde(alias = "ladder")]
    pub escalation: EscalationSection,
    pub quiet: Option<QuietSection>,
    pub drills: DrillsSection,
    pub doctor: DoctorSection,
    pub rota: BTreeMap<String, RotaSection>,
    pub channels: BTreeMap<String, toml::Table>,
    pub log: LogSection,
    pub judge: Option<JudgeSection>,
    pub undo: UndoSection,
    pub learning: LearningSection,
    pub review: ReviewSection,
    pub policy: PolicySection,
}

/// The addresses of the agent API and the people API.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListenSection {
    pub agents: Option<String>,
    pub people: Option<String>,
    pub socket: Option<String>,
    pub socket_mode: Option<String>,
    pub socket_group: Option<String>,
    pub hosts: Vec<String>,
    pub url: Option<String>,
    pub tls: Option<bool>,
    pub tls_certificate: Option<String>,
    pub tls_key: Option<String>,
    pub tls_proxy: Option<bool>,
    pub confirm_without_token: Option<bool>,
    pub respond_on_agent_api: Option<bool>,
    pub respond_without_word: Option<bool>,
}

/// Deadlines and escalation.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TimesSection {
    pub profile: Option<String>,
    pub usual_seconds: Option<u32>,
    pub longest_seconds: Option<u32>,
    #[serde(alias = "medium_climb_seconds")]
    pub medium_escalation_seconds: Option<u32>,
    #[serde(alias = "high_climb_seconds")]
    pub high_escalation_seconds: Option<u32>,
    #[serde(alias = "critical_climb_seconds")]
    pub critical_escalation_seconds: Option<u32>,
    pub crisis_escalation_seconds: Option<u32>,
    pub deadlines: DeadlinesSection,
}

/// The longest deadlines by tier and agent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeadlinesSection {
    pub medium_seconds: Option<u32>,
    pub high_seconds: Option<u32>,
    pub critical_seconds: Option<u32>,
    pub agents: BTreeMap<String, u32>,
}

/// How calls are assessed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AssessmentSection {
    pub low_confidence: Option<f64>,
    pub environment: Option<String>,
    pub api_threshold: Option<f64>,
    pub telegram_threshold: Option<f64>,
    pub discord_threshold: Option<f64>,
    pub cli_threshold: Option<f64>,
}

/// How many people must approve.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QuorumSection {
    pub medium: Option<u8>,
    pub high: Option<u8>,
    pub critical: Option<u8>,
    pub crisis: Option<u8>,
    pub deny: Option<u8>,
}

/// The assurance that an approval needs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AssuranceSection {
    pub medium: Option<String>,
    pub high: Option<String>,
    pub critical: Option<String>,
}

/// Waiting periods of new people, passkeys and links, and the idle time of sessions.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PeopleSection {
    pub waiting_seconds: Option<u32>,
    pub idle_seconds: Option<u32>,
}

/// Limits that protect people from floods.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FloodSection {
    pub open_per_agent: Option<u32>,
    pub asks_per_minute: Option<u32>,
    pub asks_per_hour: Option<u32>,
    pub disk_mib_per_hour: Option<u32>,
    pub denials: Option<u32>,
    pub within_minutes: Option<u32>,
    pub quarantine_minutes: Option<u32>,
    pub digest_from: Option<u32>,
}

/// Permits.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PermitsSection {
    pub seconds: Option<u32>,
    pub return_seconds: Option<u32>,
    pub issuer: Option<String>,
}

/// The store.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreSection {
    pub path: Option<String>,
    pub strict: Option<bool>,
}

/// The ledger and its witnesses.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LedgerSection {
    pub checkpoint_seconds: Option<u32>,
    pub witness_file: Option<String>,
    pub witness_webhook: Option<String>,
    pub witness_git: Option<String>,
}

/// The crisis card.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CrisisSection {
    pub country: Option<String>,
    pub preset: Option<String>,
}

/// The whitelist file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WhitelistSection {
    pub file: Option<String>,
}

/// The channels of each escalation level.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EscalationSection {
    pub first: Option<Vec<String>>,
    pub next: Vec<String>,
    pub administrators: Vec<String>,
    pub emergency: Vec<String>,
    pub time_zone: Option<String>,
    pub at_keyboard_seconds: Option<u32>,
    pub medium: Option<LevelsSection>,
    pub high: Option<LevelsSection>,
    pub critical: Option<LevelsSection>,
    pub crisis: Option<LevelsSection>,
    pub hours: Vec<HoursSection>,
}

/// Escalation levels that replace the default ones.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LevelsSection {
    pub first: Option<Vec<String>>,
    pub next: Option<Vec<String>>,
    pub administrators: Option<Vec<String>>,
    pub emergency: Option<Vec<String>>,
}

impl LevelsSection {
    /// Lowest first.
    pub const fn in_order(&self) -> [Option<&Vec<String>>; 4] {
        let LevelsSection { first, next, administrators, emergency } = self;
        [first.as_ref(), next.as_ref(), administrators.as_ref(), emergency.as_ref()]
    }
}

/// The escalation levels at certain hours of the week.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HoursSection {
    pub days: Vec<String>,
    pub from: Option<String>,
    pub to: Option<String>,
    pub first: Option<Vec<String>>,
    pub next: Option<Vec<String>>,
    pub administrators: Option<Vec<String>>,
    pub emergency: Option<Vec<String>>,
}

impl HoursSection {
    /// Only the escalation levels.
    pub fn levels(&self) -> LevelsSection {
        LevelsSection {
            first: self.first.clone(),
            next: self.next.clone(),
            administrators: self.administrators.clone(),
            emergency: self.emergency.clone(),
        }
    }
}

/// Quiet hours.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QuietSection {
    pub days: Vec<String>,
    pub from: Option<String>,
    pub to: Option<String>,
    pub digest: Vec<String>,
}

/// Drills: made-up requests that keep people attentive.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DrillsSection {
    pub per_week: Option<u32>,
    pub days: Option<Vec<String>>,
    pub from: Option<String>,
    pub to: Option<String>,
}

/// How often the gates of the agents are tested.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DoctorSection {
    pub every_hours: Option<u32>,
}

/// An on-call rotation.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RotaSection {
    pub channels: Vec<String>,
    pub turn: Option<String>,
    pub since: Option<String>,
}

/// Logging.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSection {
    pub level: Option<String>,
    pub format: Option<String>,
    pub otlp: Option<String>,
}
