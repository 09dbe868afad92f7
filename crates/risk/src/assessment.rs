//! The assessment of a call: everything that is known of its risk.

use std::borrow::Cow;

use serde::Serialize;

use crate::command_words::CommandList;
use crate::effect::{EffectClass, Effects};
use crate::facts::FactQuery;
use crate::finding::{Doubt, Factor, Span};
use crate::headline::Headline;
use crate::impact::{HumanImpact, Impact};
use crate::policy_ruling::PolicyRuling;
use crate::session::SessionTrace;
use crate::verdict::Verdict;
use countersign_types::tier::{Points, Tier};

/// Which of the three confirmation patterns fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// A person decides before it runs.
    PreExecutionGate,
    /// It runs, a person looks at what happened and can undo it.
    PostExecutionReview,
    /// It runs when risk is low and we are sure.
    ConfidenceThreshold,
}

/// One reason, as shown to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Stable code.
    pub code: Cow<'static, str>,
    /// Pattern, behaviour or context.
    pub factor: Factor,
    /// Its share of the points.
    pub weight: Points,
    /// The sentence.
    #[serde(rename = "say")]
    pub message: Cow<'static, str>,
    /// A safer way, where there is one.
    #[serde(rename = "safer", skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<Cow<'static, str>>,
    /// Which argument (JSON pointer).
    #[serde(skip_serializing_if = "str::is_empty")]
    pub argument: Cow<'static, str>,
    /// Where in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

/// The whole assessment of one call.
#[derive(Debug, Clone, Serialize)]
pub struct Assessment {
    /// The tool.
    pub tool: String,
    /// SAFE to CRITICAL.
    pub tier: Tier,
    /// 0 to 4.
    pub points: Points,
    /// `points / 4`.
    pub risk: f64,
    /// 0 to 1, in the assessment itself.
    pub confidence: f64,
    /// What the gate would do.
    pub verdict: Verdict,
    /// Side-effect class A to D.
    pub side_effect_class: EffectClass,
    /// Which confirmation pattern fits.
    pub pattern: Pattern,
    /// Whether a person must answer.
    pub requires_human: bool,
    /// Whether ordinary means undo it.
    pub reversible: bool,
    /// How near it comes to a person.
    pub human_impact: HumanImpact,
    /// Whether it touches the crisis protocol.
    pub crisis_sensitive: bool,
    /// All effects.
    pub effects: Effects,
    /// Heaviest first.
    pub reasons: Vec<Reason>,
    /// What we are unsure of.
    pub doubts: Vec<Doubt>,
    /// What would be touched.
    pub impact: Impact,
    /// What a policy rule says about it, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyRuling>,
    /// The commands that would run.
    #[serde(skip)]
    pub commands: CommandList,
    /// What the findings act on, by name; the summary is made from it.
    #[serde(skip)]
    pub(crate) headlines: Vec<Headline>,
    /// What the call leaves behind for the memory of its session.
    #[serde(skip)]
    pub trace: SessionTrace,
    /// What would be good to know about the machine; empty unless the call came with facts.
    #[serde(skip)]
    pub queries: Vec<FactQuery>,
}
