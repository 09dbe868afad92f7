//! The card: the record that is stored with a request and shown on every surface.

use std::borrow::Cow;

use serde::Serialize;

use crate::assess::{Assessment, Reason};
use crate::call::Call;
use crate::context::{Environment, Platform};
use crate::effect::{EffectClass, Effects};
use crate::facts::{fact_lines, plan_lines};
use crate::finding::Doubt;
use crate::impact::{CountedList, Impact, Money};
use crate::redact::{RedactedCall, redact_call, shown_command};
use crate::summary;
use crate::word_pair::word_pair;
use countersign_json::canonical::{CallDigest, Digest, canonical};
use countersign_redact::{neutralize_markers, redact_text, sanitize_marked};
use countersign_types::tier::{Points, Tier};

mod field_names;
mod fold;
mod read;
mod segments;

#[cfg(test)]
mod tests;

pub use read::CardError;
pub use segments::CardSegment;

/// The most that a card takes as JSON, in bytes.
pub const LARGEST: usize = 64 * 1024;

/// How many reasons a card holds.
pub const REASONS: usize = 16;

/// Bytes of the card's JSON for each part; together below `LARGEST`.
const ARGUMENTS: usize = 24 * 1024;
const COMMAND: usize = 8 * 1024;
const REASON_TEXT: usize = 160;
const IMPACT: usize = 8 * 1024;
const ENTRY: usize = 160;
const NAME: usize = 256;

/// One kind of secret that was taken out, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RedactedKind {
    /// In words.
    pub kind: String,
    /// How many.
    pub count: u32,
}

/// What is stored and shown of a call. It holds no secret.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    /// What would happen, in one sentence.
    pub brief: String,
    /// The tool, safe to show.
    pub tool: String,
    /// Canonical JSON without secrets; spans of reasons point into its strings.
    pub arguments: String,
    /// The command, safe to show, where the call is one.
    pub command: Option<String>,
    /// SAFE to CRITICAL.
    pub tier: Tier,
    /// 0 to 4.
    pub points: Points,
    /// `points / 4`.
    pub risk: f64,
    /// 0 to 1.
    pub confidence: f64,
    /// Heaviest first.
    pub reasons: Vec<Reason>,
    /// What would be touched.
    pub impact: Impact,
    /// Kinds of effects.
    pub effects: Effects,
    /// Side-effect class.
    pub side_effect_class: EffectClass,
    /// Whether ordinary means undo it.
    pub reversible: bool,
    /// What we are unsure of.
    pub doubts: Vec<Doubt>,
    /// Secrets that were taken out.
    pub hidden: Vec<RedactedKind>,
    /// Bytes of the call that are not on the card: it must not be approved at one tap.
    pub folded: u64,
    /// Of the canonical call.
    pub digest: Digest,
    /// Of the arguments as received.
    pub raw_digest: Digest,
    /// Whether both must match.
    pub both_bind: bool,
    /// Two words from the digest.
    pub phrase: String,
    /// Where the agent's user sits.
    pub platform: Platform,
    /// Working directory.
    pub cwd: Option<String>,
    /// Kind of machine.
    pub environment: Environment,
    /// What was found on the machine where it would run, one line for each fact.
    pub facts: Vec<String>,
    /// What the tool itself says that it would do, or why that is not known; most calls have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<String>,
    /// The parts of a compound command, in its order; empty where it has no separate parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<CardSegment>,
}

impl Card {
    /// The card of a call: without secrets, safe to show, never larger than `LARGEST`.
    pub fn new(call: &Call<'_>, assessment: &Assessment, digest: &CallDigest) -> Card {
        let clean = redact_call(call, assessment);
        let mut card = Card::bare(call, assessment, digest);
        card.folded = 0;
        card.tool = card.cut(&clean.tool, NAME);
        card.brief = summary::of(&clean, assessment);
        let lines = call.facts.as_deref().map(fact_lines).unwrap_or_default();
        for line in lines {
            let line = card.cut(&redact_text(&neutralize_markers(&line)).text, REASON_TEXT);
            card.facts.push(line);
        }
        for line in call.facts.as_deref().map(plan_lines).unwrap_or_default() {
            let line = card.cut(&redact_text(&neutralize_markers(&line)).text, REASON_TEXT);
            card.plan.push(line);
        }
        if let Some(first) = card.facts.first() {
            card.brief = format!("{} ({first})", card.brief);
        }
        card.cwd = clean.cwd.as_deref().map(|cwd| card.cut(cwd, NAME));
        let folded = fold::fold(&clean.arguments, ARGUMENTS);
        card.folded += folded.bytes;
        card.arguments = canonical(&folded.value).text;
        if let Some(command) = shown_command(&clean, COMMAND) {
            card.command = Some(command.text);
            card.folded += command.cut as u64;
        }
        card.reasons(&clean, &folded);
        card.impact = card.impact_of(&clean.impact);
        for one in &clean.hidden {
            match card.hidden.iter_mut().find(|kind| kind.kind == one.kind) {
                Some(kind) => kind.count = kind.count.saturating_add(1),
                None => card.hidden.push(RedactedKind { kind: one.kind.to_owned(), count: 1 }),
            }
        }
        card
    }

    /// The card where a person may be in crisis: no free text, only tool, effects and digests. Its
    /// sentence is made of the kinds of effects alone.
    pub fn minimal(call: &Call<'_>, assessment: &Assessment, digest: &CallDigest) -> Card {
        let mut card = Card::bare(call, assessment, digest);
        card.brief = summary::neutral(assessment.effects);
        // Nothing of the call is on the card.
        card.folded = (call.arguments.to_json().len() as u64).max(1);
        card
    }

    /// What was found about the call, each line with its label: the dry run first.
    pub fn observations(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let plan = self.plan.iter().map(|line| ("dry run", line.as_str()));
        plan.chain(self.facts.iter().map(|line| ("found", line.as_str())))
    }

    /// Whether one tap may approve it: only where all of it can be seen.
    pub fn one_tap(&self) -> bool {
        self.folded == 0
    }

    fn bare(call: &Call<'_>, assessment: &Assessment, digest: &CallDigest) -> Card {
        let tool = neutralize_markers(&call.tool);
        let tool = sanitize_marked(&redact_text(&tool).text, NAME);
        Card {
            brief: String::new(),
            folded: tool.cut as u64,
            tool: tool.text,
            arguments: "{}".to_owned(),
            command: None,
            tier: assessment.tier,
            points: assessment.points,
            risk: assessment.risk,
            confidence: assessment.confidence,
            reasons: Vec::new(),
            impact: Impact::default(),
            effects: assessment.effects,
            side_effect_class: assessment.side_effect_class,
            reversible: assessment.reversible,
            doubts: assessment.doubts.clone(),
            hidden: Vec::new(),
            digest: digest.canonical,
            raw_digest: digest.raw,
            both_bind: digest.both_bind,
            phrase: word_pair(&digest.canonical).to_string(),
            platform: call.context.platform,
            cwd: None,
            environment: call.context.environment,
            facts: Vec::new(),
            plan: Vec::new(),
            segments: Vec::new(),
        }
    }

    /// A text safe to show; what is cut off is counted.
    fn cut(&mut self, text: &str, limit: usize) -> String {
        let shown = sanitize_marked(text, limit);
        self.folded += shown.cut as u64;
        shown.text
    }

    /// The same for a sentence. Those of the rules are ours: short, and safe to show.
    #[expect(clippy::ptr_arg, reason = "whether it is ours or was made is what matters")]
    fn sentence(&mut self, message: &Cow<'static, str>) -> Cow<'static, str> {
        match message {
            Cow::Borrowed(fixed) if fixed.len() <= REASON_TEXT => Cow::Borrowed(fixed),
            other => Cow::Owned(self.cut(other, REASON_TEXT)),
        }
    }

    fn reasons(&mut self, clean: &RedactedCall, folded: &fold::Folded) {
        for reason in clean.reasons.iter().take(REASONS) {
            let mut reason = reason.clone();
            reason.message = self.sentence(&reason.message);
            reason.suggestion =
                reason.suggestion.as_ref().map(|suggestion| self.sentence(suggestion));
            if reason.code.len() > NAME || reason.argument.len() > NAME {
                reason.argument = "".into();
                reason.span = None;
            }
            let whole =
                folded.value.pointer(&reason.argument) == clean.arguments.pointer(&reason.argument);
            reason.span = reason.span.filter(|_| whole);
            self.reasons.push(reason);
        }
        let dropped = clean.reasons.iter().skip(REASONS).map(|reason| reason.message.len() as u64);
        self.folded += dropped.sum::<u64>();
    }

    fn impact_of(&mut self, impact: &Impact) -> Impact {
        let mut room = IMPACT;
        let mut missing = 0;
        let mut list = |touched: &CountedList| {
            let mut listed = Vec::with_capacity(touched.listed.len());
            for entry in &touched.listed {
                let shown = sanitize_marked(entry, ENTRY);
                // Quotes and slashes take two bytes in JSON.
                let cost = shown.text.len() * 2 + 4;
                if cost > room {
                    missing += entry.len() as u64;
                    continue;
                }
                room -= cost;
                missing += shown.cut as u64;
                listed.push(shown.text);
            }
            CountedList { listed, count: touched.count }
        };
        let mut shown = Impact {
            money: Vec::new(),
            recipients: list(&impact.recipients),
            deletes: list(&impact.deletes),
            writes: list(&impact.writes),
            rows: list(&impact.rows),
            services: list(&impact.services),
            secrets: list(&impact.secrets),
            hosts: list(&impact.hosts),
            programs: list(&impact.programs),
            items: impact.items,
        };
        self.folded += missing;
        for one in impact.money.iter().take(REASONS) {
            let amount = self.cut(&one.amount, 48);
            let currency = one.currency.as_ref().map(|currency| self.cut(currency, 48));
            shown.money.push(Money { amount, currency });
        }
        let dropped = impact.money.iter().skip(REASONS).map(|one| one.amount.len() as u64);
        self.folded += dropped.sum::<u64>();
        shown
    }
}
