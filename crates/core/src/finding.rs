//! Findings: what the readers of shell, code, SQL, tools and text see in a call.
//!
//! Every reader gets a `&mut Findings` and adds to it; nothing ever takes one away.

use std::borrow::Cow;

use serde::Serialize;

use crate::assess::HumanImpact;
use crate::effect::{Effect, Effects};
use crate::impact::Impact;
use crate::tier::{Points, Tier};

/// Byte offsets into the argument a finding points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span from offsets; offsets past 4 GiB cannot occur (input is bounded far below).
    pub fn new(start: usize, end: usize) -> Span {
        let clip = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span { start: clip(start), end: clip(end.max(start)) }
    }
}

/// Which of the seed's three kinds of weight a finding carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Factor {
    /// What the call does. Patterns combine by `max`.
    Pattern,
    /// How the agent behaves (asks for credentials, changes itself …). Adds up.
    Behaviour,
    /// Where it happens (production, root …). Adds up.
    Context,
}

/// One thing seen in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Stable code, e.g. `filesystem.delete.recursive`.
    pub code: Cow<'static, str>,
    /// Kind of weight.
    pub factor: Factor,
    /// Hundredths of a point.
    pub weight: Points,
    /// A sentence a person understands.
    pub say: Cow<'static, str>,
    /// The safer way, where there is one.
    pub safer: Option<Cow<'static, str>>,
    /// Which argument, as a JSON pointer (empty for the whole call).
    pub argument: Cow<'static, str>,
    /// Where in that argument.
    pub span: Option<Span>,
}

impl Finding {
    /// A pattern finding of a tier, without a place.
    pub fn pattern(
        code: impl Into<Cow<'static, str>>,
        tier: Tier,
        say: impl Into<Cow<'static, str>>,
    ) -> Finding {
        Finding {
            code: code.into(),
            factor: Factor::Pattern,
            weight: tier.points(),
            say: say.into(),
            safer: None,
            argument: Cow::Borrowed(""),
            span: None,
        }
    }

    /// The same finding at a place.
    #[must_use]
    pub fn at(mut self, span: Span) -> Finding {
        self.span = Some(span);
        self
    }
}

/// Why an assessment is less than certain. Each costs confidence once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Doubt {
    /// A program or tool nobody described to us.
    UnknownProgram,
    /// A program name or code that is only known when it runs.
    DynamicProgram,
    /// Arguments that are only known when it runs.
    DynamicArguments,
    /// Text that could not be read to the end.
    Unreadable,
    /// A tool known only by reading its name.
    GuessedTool,
    /// Vague or very broad arguments.
    VagueArguments,
    /// Possible signs of a person in crisis.
    CrisisSigns,
}

impl Doubt {
    /// What keeps us from being sure, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Doubt::UnknownProgram => "a program nobody described",
            Doubt::DynamicProgram => "the program is only known when it runs",
            Doubt::DynamicArguments => "arguments are only known when it runs",
            Doubt::Unreadable => "not all of it can be read",
            Doubt::GuessedTool => "the tool is known by its name only",
            Doubt::VagueArguments => "the arguments are vague or very broad",
            Doubt::CrisisSigns => "somebody may be in crisis",
        }
    }
}

/// Everything seen in one call.
#[derive(Debug, Default, Clone)]
pub struct Findings {
    /// In the order seen.
    pub list: Vec<Finding>,
    /// All effects together.
    pub effects: Effects,
    /// What would be touched.
    pub impact: Impact,
    /// Set of doubts, one bit each.
    doubts: u8,
    /// Whether everything seen can be undone with ordinary means.
    irreversible: bool,
    /// How near what was seen comes to a person, where a reader knows.
    human: Option<HumanImpact>,
}

impl Findings {
    /// Adds a finding, once per code and place.
    pub fn add(&mut self, finding: Finding) {
        let same = |f: &Finding| f.code == finding.code && f.argument == finding.argument;
        if let Some(old) = self.list.iter_mut().find(|f| same(f)) {
            if finding.weight > old.weight {
                *old = finding;
            }
        } else {
            self.list.push(finding);
        }
    }

    /// Takes over what another reading of the same text found, as far as `keep` says so, and its
    /// doubts where they count.
    pub fn absorb(&mut self, other: Findings, doubts: bool, keep: impl Fn(&Finding) -> bool) {
        for finding in other.list.into_iter().filter(keep) {
            self.add(finding);
        }
        self.effects.extend(other.effects);
        self.impact.absorb(other.impact);
        self.doubts |= if doubts { other.doubts } else { 0 };
        self.irreversible |= other.irreversible;
        self.human = self.human.max(other.human);
    }

    /// Notes an effect.
    pub fn effect(&mut self, effect: Effect) {
        self.effects.insert(effect);
    }

    /// Notes a doubt.
    pub fn doubt(&mut self, doubt: Doubt) {
        self.doubts |= 1 << (doubt as u8);
    }

    /// Whether a doubt was noted.
    pub fn has_doubt(&self, doubt: Doubt) -> bool {
        self.doubts & (1 << (doubt as u8)) != 0
    }

    /// Notes that something cannot be undone.
    pub fn irreversible(&mut self) {
        self.irreversible = true;
    }

    /// Whether something seen cannot be undone.
    pub fn is_irreversible(&self) -> bool {
        self.irreversible
    }

    /// Notes how near something comes to a person; the nearest stays.
    pub fn human(&mut self, human: HumanImpact) {
        self.human = self.human.max(Some(human));
    }

    /// How near it comes to a person, as far as a reader knew.
    pub fn nearest_human(&self) -> Option<HumanImpact> {
        self.human
    }

    /// The highest tier among the patterns so far.
    pub fn tier(&self) -> Tier {
        self.list
            .iter()
            .filter(|f| f.factor == Factor::Pattern)
            .map(|f| f.weight.tier())
            .max()
            .unwrap_or(Tier::Safe)
    }
}
