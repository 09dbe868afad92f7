//! What the judge is asked about: a call without its secrets, and whether a verdict may release it.

use serde::Serialize;

use countersign_json::canonical::{Digest, canonical};
use countersign_risk::assess::Assessment;
use countersign_risk::card::Card;
use countersign_risk::context::{Environment, Platform};
use countersign_risk::effect::Effect;
use countersign_risk::finding::Doubt;
use countersign_risk::tools;
use countersign_text::hidden;
use countersign_types::tier::{Points, Tier};

/// Why no verdict releases a call, whatever the model says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NeverReleased {
    /// A person may be in crisis.
    Crisis,
    /// It moves or commits money.
    Money,
    /// It reads, reveals or contains a secret.
    Credentials,
    /// It changes an agent, its tools or this firewall.
    PolicyChange,
    /// It changes a production system.
    Production,
    /// Not all of it could be shown to the model, or some of it is hidden.
    Incomplete,
    /// Its tier is HIGH.
    High,
    /// Its tier is CRITICAL.
    Critical,
    /// More than one person must approve it.
    Quorum,
    /// A person denied the same before.
    DeniedBefore,
    /// Only a person may decide it again.
    PersonRequired,
}

impl NeverReleased {
    /// The stable word in records.
    pub const fn label(self) -> &'static str {
        match self {
            NeverReleased::Crisis => "crisis",
            NeverReleased::Money => "money",
            NeverReleased::Credentials => "credentials",
            NeverReleased::PolicyChange => "policy_change",
            NeverReleased::Production => "production",
            NeverReleased::Incomplete => "incomplete",
            NeverReleased::High => "high",
            NeverReleased::Critical => "critical",
            NeverReleased::Quorum => "quorum",
            NeverReleased::DeniedBefore => "denied_before",
            NeverReleased::PersonRequired => "person_required",
        }
    }

    /// Whether the call is not even sent to the model: the text could be a person's, a secret, or
    /// more than the model would see.
    pub const fn is_withheld(self) -> bool {
        match self {
            NeverReleased::Crisis
            | NeverReleased::Money
            | NeverReleased::Credentials
            | NeverReleased::PolicyChange
            | NeverReleased::Incomplete => true,
            NeverReleased::Production
            | NeverReleased::High
            | NeverReleased::Critical
            | NeverReleased::Quorum
            | NeverReleased::DeniedBefore
            | NeverReleased::PersonRequired => false,
        }
    }
}

/// A call as the judge sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeSubject {
    /// The digest of the canonical call; a reply must name it.
    pub digest: Digest,
    /// The digest of the arguments as received.
    pub raw_digest: Digest,
    /// The tool.
    pub tool: String,
    /// The arguments as canonical JSON, without secrets and without the agent's explanations.
    pub arguments: String,
    /// The working directory.
    pub cwd: Option<String>,
    /// The kind of machine.
    pub environment: Environment,
    /// Where the agent's user sits; it decides the threshold.
    pub platform: Platform,
    /// Its tier.
    pub tier: Tier,
    /// Its points.
    pub points: Points,
    /// What it does.
    pub effects: Vec<Effect>,
    /// Whether ordinary means undo it.
    pub reversible: bool,
    /// Why it has this tier, in sentences.
    pub reasons: Vec<String>,
    /// What the assessment is unsure of.
    pub doubts: Vec<Doubt>,
    /// What was found on the machine by an observer that the agent cannot imitate.
    pub facts: Vec<String>,
    /// Why no verdict releases it.
    pub limit: Option<NeverReleased>,
}

impl JudgeSubject {
    /// The call on this card. `facts_proved` says that the facts come from a trusted observer; an
    /// agent's own facts are left out.
    pub fn new(card: &Card, seen: &Assessment, crisis: bool, facts_proved: bool) -> JudgeSubject {
        JudgeSubject {
            digest: card.digest,
            raw_digest: card.raw_digest,
            tool: card.tool.clone(),
            arguments: without_notes(card),
            cwd: card.cwd.clone(),
            environment: card.environment,
            platform: card.platform,
            tier: seen.tier,
            points: seen.points,
            effects: seen.effects.iter().collect(),
            reversible: seen.reversible,
            reasons: card.reasons.iter().map(|reason| reason.message.to_string()).collect(),
            doubts: seen.doubts.clone(),
            facts: if facts_proved { card.facts.clone() } else { Vec::new() },
            limit: limit(card, seen, crisis),
        }
    }

    /// The same call under a further limit; the first limit that applies stays.
    #[must_use]
    pub fn limited(mut self, limit: Option<NeverReleased>) -> JudgeSubject {
        self.limit = self.limit.or(limit);
        self
    }
}

/// The arguments of a card without what the agent wrote to explain a command.
fn without_notes(card: &Card) -> String {
    let parsed = countersign_json::parse(&card.arguments).ok();
    let plain = parsed.as_ref().and_then(|value| tools::without_notes(&card.tool, value));
    plain.map_or_else(|| card.arguments.clone(), |value| canonical(&value).text)
}

/// The first limit that the call itself meets. What withholds the call comes first.
fn limit(card: &Card, seen: &Assessment, crisis: bool) -> Option<NeverReleased> {
    let has = |effect| seen.effects.has(effect);
    let signs = seen.doubts.contains(&Doubt::CrisisSigns);
    let changes = !seen.effects.only_reads();
    let limits = [
        (crisis || seen.crisis_sensitive || has(Effect::Crisis) || signs, NeverReleased::Crisis),
        (has(Effect::Money) || !seen.impact.money.is_empty(), NeverReleased::Money),
        (
            has(Effect::Secret) || !seen.impact.secrets.is_empty() || !card.hidden.is_empty(),
            NeverReleased::Credentials,
        ),
        (has(Effect::SelfChange), NeverReleased::PolicyChange),
        (card.folded > 0 || has_hidden_text(card), NeverReleased::Incomplete),
        (seen.tier == Tier::Critical, NeverReleased::Critical),
        (seen.tier == Tier::High, NeverReleased::High),
        (card.environment == Environment::Production && changes, NeverReleased::Production),
    ];
    limits.into_iter().find_map(|(applies, limit)| applies.then_some(limit))
}

/// Whether the call contains characters that a person would not see, or the model would read
/// differently.
fn has_hidden_text(card: &Card) -> bool {
    let texts = [card.tool.as_str(), &card.arguments, card.cwd.as_deref().unwrap_or_default()];
    texts.iter().any(|text| !hidden(text).is_empty())
}
