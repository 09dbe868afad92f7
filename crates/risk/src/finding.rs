//! Findings: what the readers of shell, code, SQL, tools and text see in a call.
//!
//! Every reader gets a `&mut Findings` and adds to it. The list is append-only: an added finding
//! can be read, but neither changed nor removed. A reader that changes what another reader found
//! reads into `Findings` of its own and adds the result with [`Findings::absorb`].

use std::borrow::Cow;

use serde::Serialize;

use crate::command_words::CommandList;
use crate::effect::{Effect, Effects};
use crate::facts::{FactQuery, MAX_QUERIES};
use crate::headline::{Headline, MAX_HEADLINES};
use crate::impact::{HumanImpact, Impact};
use crate::question::CommandSubject;
use crate::session::SessionTrace;
use countersign_types::tier::{Points, Tier};

pub use countersign_types::span::Span;

/// How the weight of a finding counts.
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
    pub message: Cow<'static, str>,
    /// The safer way, where there is one.
    pub suggestion: Option<Cow<'static, str>>,
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
        message: impl Into<Cow<'static, str>>,
    ) -> Finding {
        Finding {
            code: code.into(),
            factor: Factor::Pattern,
            weight: tier.points(),
            message: message.into(),
            suggestion: None,
            argument: Cow::Borrowed(""),
            span: None,
        }
    }

    /// Whether it is of a tier that a person is asked about.
    fn asks(&self) -> bool {
        self.factor == Factor::Pattern && self.weight.tier() >= Tier::Medium
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
    /// Every doubt.
    pub const ALL: [Doubt; 7] = [
        Doubt::UnknownProgram,
        Doubt::DynamicProgram,
        Doubt::DynamicArguments,
        Doubt::Unreadable,
        Doubt::GuessedTool,
        Doubt::VagueArguments,
        Doubt::CrisisSigns,
    ];

    /// What keeps us from being sure, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Doubt::UnknownProgram => "a program without a description",
            Doubt::DynamicProgram => "the program is only known when it runs",
            Doubt::DynamicArguments => "arguments are only known when it runs",
            Doubt::Unreadable => "not all of it can be read",
            Doubt::GuessedTool => "the tool is known by its name only",
            Doubt::VagueArguments => "the arguments are vague or very broad",
            Doubt::CrisisSigns => "a person may be in crisis",
        }
    }
}

/// Everything seen in one call.
#[derive(Debug, Default, Clone)]
pub struct Findings {
    /// In the order seen; nothing outside this module can change or remove an entry.
    list: Vec<Finding>,
    /// All effects together.
    pub effects: Effects,
    /// What would be touched.
    pub impact: Impact,
    /// The commands that would run.
    pub commands: CommandList,
    /// What findings act on, by name.
    headlines: Vec<Headline>,
    /// Set of doubts, one bit each.
    doubts: u8,
    /// Whether everything seen can be undone with ordinary means.
    irreversible: bool,
    /// How near what was seen comes to a person, where a reader knows.
    human: Option<HumanImpact>,
    /// What the call leaves behind for the memory of its session.
    pub trace: SessionTrace,
    /// What the readers would like to know about the machine.
    queries: Vec<FactQuery>,
    /// The command that the next findings are about.
    subject: CommandSubject,
}

/// How many findings are kept with every place they were seen at. Beyond it, a finding is added
/// only if no finding of the same code, kind and argument weighs as much: only a further place is
/// lost.
const MAX_PLACES: usize = 1024;

impl Findings {
    /// No findings yet, of a whole call.
    pub(crate) fn of_call() -> Findings {
        Findings { subject: CommandSubject::call(), ..Findings::default() }
    }

    /// No findings yet, for a reader whose findings are added to these.
    pub(crate) fn inner(&self) -> Findings {
        Findings { subject: self.subject.clone(), ..Findings::default() }
    }

    /// Takes all findings out; the next ones are about the same command.
    pub(crate) fn take(&mut self) -> Findings {
        let inner = self.inner();
        std::mem::replace(self, inner)
    }

    /// The command that the next findings are about.
    pub(crate) fn subject(&self) -> &CommandSubject {
        &self.subject
    }

    /// Sets the command that the next findings are about; returns the one before.
    pub(crate) fn set_subject(&mut self, subject: CommandSubject) -> CommandSubject {
        std::mem::replace(&mut self.subject, subject)
    }

    /// Adds a finding unless the list has the same one: same code, kind, weight, argument and
    /// place.
    pub fn add(&mut self, finding: Finding) {
        let subject = self.subject.text.clone();
        self.add_about(finding, subject.as_deref(), &[]);
    }

    /// Adds a finding that is about something else than the whole command: about `subject`, or less
    /// than each of `wider`.
    pub(crate) fn add_about(&mut self, finding: Finding, subject: Option<&str>, wider: &[String]) {
        if finding.asks() {
            self.trace.question.add(&finding.code, finding.weight.tier(), subject, wider);
        }
        self.push(finding);
    }

    fn push(&mut self, finding: Finding) {
        let full = self.list.len() >= MAX_PLACES;
        let implied = |f: &Finding| {
            f.factor == finding.factor
                && (f.weight == finding.weight && f.span == finding.span
                    || full && f.weight >= finding.weight)
                && f.code == finding.code
                && f.argument == finding.argument
        };
        if !self.list.iter().any(implied) {
            self.list.push(finding);
        }
    }

    /// All findings in the order they were added.
    pub fn iter(&self) -> std::slice::Iter<'_, Finding> {
        self.list.iter()
    }

    /// Adds everything another reader saw. `change` may move a finding to another place or raise it
    /// before it is added, and cannot lower it; findings that are in this list already are not
    /// touched.
    pub fn absorb(&mut self, inner: Findings, mut change: impl FnMut(Finding) -> Finding) {
        self.effects.extend(inner.effects);
        self.doubts |= inner.doubts;
        self.irreversible |= inner.irreversible;
        self.human = self.human.max(inner.human);
        self.impact.absorb(inner.impact);
        self.commands.absorb(inner.commands);
        self.trace.absorb(inner.trace);
        inner.queries.into_iter().for_each(|query| self.ask(query));
        for headline in inner.headlines {
            let mut finding = Finding::pattern(headline.code.clone(), headline.tier, "");
            finding.span = headline.span;
            let span = change(finding).span;
            self.headline(Headline { span, ..headline });
        }
        for finding in inner.list {
            // The question of the inner reader has it already.
            let (asked, weight) = (finding.asks(), finding.weight);
            let changed = change(finding);
            let raised = Finding { weight: changed.weight.max(weight), ..changed };
            if asked { self.push(raised) } else { self.add(raised) }
        }
    }

    /// Adds what another reading of the same text found, as far as `keep` says so, and its doubts
    /// if `doubts`.
    pub fn absorb_reading(
        &mut self,
        other: Findings,
        doubts: bool,
        keep: impl Fn(&Finding) -> bool,
    ) {
        self.effects.extend(other.effects);
        self.impact.absorb(other.impact);
        self.commands.absorb(other.commands);
        self.doubts |= if doubts { other.doubts } else { 0 };
        self.irreversible |= other.irreversible;
        self.human = self.human.max(other.human);
        self.trace.absorb(other.trace);
        other.queries.into_iter().for_each(|query| self.ask(query));
        let kept: Vec<Finding> = other.list.into_iter().filter(keep).collect();
        let is_kept = |h: &Headline| kept.iter().any(|finding| finding.code == h.code);
        other.headlines.into_iter().filter(is_kept).for_each(|headline| self.headline(headline));
        for finding in kept {
            self.push(finding);
        }
    }

    /// Notes what a finding acts on, once for each object.
    pub(crate) fn headline(&mut self, headline: Headline) {
        if self.headlines.len() < MAX_HEADLINES
            && !self.headlines.iter().any(|known| known.is_same(&headline))
        {
            self.headlines.push(headline);
        }
    }

    /// What the findings act on; nothing where there is too much to know all of it.
    pub(crate) fn take_headlines(&mut self) -> Vec<Headline> {
        let all = std::mem::take(&mut self.headlines);
        if all.len() < MAX_HEADLINES { all } else { Vec::new() }
    }

    /// Notes a question about the machine. Beyond the bound it stays without an answer, as every
    /// question may.
    pub fn ask(&mut self, query: FactQuery) {
        if self.queries.len() < MAX_QUERIES && !self.queries.contains(&query) {
            self.queries.push(query);
        }
    }

    /// Whether a question about the machine was noted.
    pub(crate) fn has_asked(&self, query: &FactQuery) -> bool {
        self.queries.contains(query)
    }

    /// The questions about the machine.
    pub(crate) fn take_queries(&mut self) -> Vec<FactQuery> {
        std::mem::take(&mut self.queries)
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

    /// Whether no doubt was noted.
    pub fn is_certain(&self) -> bool {
        self.doubts == 0
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

impl<'f> IntoIterator for &'f Findings {
    type Item = &'f Finding;
    type IntoIter = std::slice::Iter<'f, Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &'static str, tier: Tier, start: usize) -> Finding {
        Finding::pattern(code, tier, "").at(Span::new(start, start + 1))
    }

    #[test]
    fn only_the_same_finding_at_the_same_place_is_added_once() {
        let mut findings = Findings::default();
        for finding in [
            found("a", Tier::Medium, 0),
            found("a", Tier::Medium, 0),
            found("a", Tier::High, 0),
            found("a", Tier::Medium, 4),
            found("b", Tier::Medium, 0),
        ] {
            findings.add(finding);
        }
        assert_eq!(findings.iter().count(), 4);
    }

    #[test]
    fn a_long_list_loses_places_and_never_weight() {
        let mut findings = Findings::default();
        for at in 0..2 * MAX_PLACES {
            findings.add(found("a", Tier::Low, at));
        }
        assert_eq!(findings.iter().count(), MAX_PLACES);
        findings.add(found("a", Tier::High, 5));
        findings.add(found("b", Tier::Low, 5));
        assert_eq!((findings.iter().count(), findings.tier()), (MAX_PLACES + 2, Tier::High));
    }

    #[test]
    fn what_is_absorbed_changes_nothing_that_was_there() {
        let mut findings = Findings::default();
        findings.add(found("a", Tier::Medium, 0));
        let mut inner = Findings::default();
        inner.add(found("a", Tier::Medium, 0));
        inner.doubt(Doubt::Unreadable);
        inner.irreversible();
        findings.absorb(inner, |f| Finding { weight: Tier::High.points(), ..f });
        let weights: Vec<Points> = findings.iter().map(|f| f.weight).collect();
        assert_eq!(weights, [Tier::Medium.points(), Tier::High.points()]);
        assert!(findings.has_doubt(Doubt::Unreadable) && findings.is_irreversible());
    }

    #[test]
    fn what_is_absorbed_cannot_be_lowered() {
        let mut inner = Findings::default();
        inner.add(found("a", Tier::High, 0));
        let mut findings = Findings::default();
        findings.absorb(inner, |f| Finding { weight: Tier::Safe.points(), ..f });
        assert_eq!(findings.tier(), Tier::High);
    }
}
