//! What a call does, as its assessment says. A later call under the same grant may do no more.

use serde::{Deserialize, Serialize};

use countersign_risk::assess::{Assessment, Reason};
use countersign_risk::card::Card;
use countersign_risk::effect::{Effect, EffectClass, Effects};
use countersign_risk::finding::Doubt;
use countersign_risk::impact::Impact;
use countersign_risk::policy_ruling::ADOPTION_NOTE;
use countersign_types::tier::Tier;

/// Lists of the impact that are paths.
const PATHS: [&str; 2] = ["deletes", "writes"];

/// Effects of calls that only an exact grant covers.
const EXACT_ONLY: Effects = Effects::of(&[
    Effect::Send,
    Effect::Money,
    Effect::Secret,
    Effect::SelfChange,
    Effect::Privilege,
    Effect::Crisis,
]);

/// Findings about programs and code that the assessment did not read: the same words may run
/// another text the next time.
const UNREAD: [&str; 8] = [
    "shell.unseen-code",
    "shell.made-executable",
    "shell.inline",
    "shell.inline-code",
    "shell.dynamic-program",
    "shell.unreadable",
    "shell.program-in-odd-place",
    "shell.program-outside-project",
];

/// Doubts with which the words of a command do not say what it does.
const UNKNOWN: [Doubt; 4] =
    [Doubt::DynamicProgram, Doubt::DynamicArguments, Doubt::Unreadable, Doubt::CrisisSigns];

/// What the approved call did. The names are those of the assessment: a grant that has a name which
/// no longer exists covers nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallProfile {
    /// Its tier.
    pub tier: String,
    /// Hundredths of points.
    points: u16,
    /// The codes of its reasons, sorted.
    reasons: Vec<String>,
    /// Its effects.
    effects: Vec<String>,
    /// Its side-effect class.
    class: String,
    /// What the assessment was unsure of.
    doubts: Vec<String>,
    /// Whether ordinary means undo it.
    reversible: bool,
    /// What it touches: the list of the impact, a space, and the entry.
    touches: Vec<String>,
    /// Its words do not say all that it does: it runs what was not read, touches more than was
    /// listed, or has effects that only an exact grant covers.
    open: bool,
}

impl CallProfile {
    /// Of a call.
    pub fn of(seen: &Assessment) -> CallProfile {
        let class = seen.side_effect_class;
        let mut profile = CallProfile::new(seen.tier, &seen.reasons, seen.effects, class);
        profile.points = seen.points.0;
        profile.add(&seen.doubts, seen.reversible, &seen.impact);
        profile
    }

    /// Of a stored call.
    pub fn of_card(card: &Card) -> CallProfile {
        let class = card.side_effect_class;
        let mut profile = CallProfile::new(card.tier, &card.reasons, card.effects, class);
        profile.points = card.points.0;
        profile.add(&card.doubts, card.reversible, &card.impact);
        profile
    }

    fn new(tier: Tier, reasons: &[Reason], effects: Effects, class: EffectClass) -> CallProfile {
        // A note for people is no part of what a call does.
        let mut codes: Vec<String> = reasons
            .iter()
            .filter(|reason| reason.code != ADOPTION_NOTE)
            .map(|reason| reason.code.clone().into_owned())
            .collect();
        codes.sort_unstable();
        codes.dedup();
        CallProfile {
            tier: tier.label().to_owned(),
            points: 0,
            reasons: codes,
            effects: effects.iter().map(|effect| format!("{effect:?}")).collect(),
            class: format!("{class:?}"),
            doubts: Vec::new(),
            reversible: false,
            touches: Vec::new(),
            open: effects.meets(EXACT_ONLY)
                || reasons.iter().any(|reason| UNREAD.contains(&&*reason.code)),
        }
    }

    fn add(&mut self, doubts: &[Doubt], reversible: bool, impact: &Impact) {
        self.doubts = doubts.iter().map(|doubt| format!("{doubt:?}")).collect();
        self.reversible = reversible;
        self.open |= !impact.money.is_empty() || impact.items.is_some();
        self.open |= doubts.iter().any(|doubt| UNKNOWN.contains(doubt));
        for (list, touched) in impact.lists() {
            self.open |= usize::try_from(touched.count) != Ok(touched.listed.len());
            self.touches.extend(touched.listed.iter().map(|entry| format!("{list} {entry}")));
        }
    }

    /// Its tier.
    pub fn tier(&self) -> Option<Tier> {
        Tier::parse(&self.tier)
    }

    /// The hosts that it reached.
    pub fn hosts(&self) -> Vec<&str> {
        self.touches.iter().filter_map(|entry| entry.strip_prefix("hosts ")).collect()
    }

    /// Whether a pattern may stand for calls like this one: never CRITICAL, nothing that is sent to
    /// people, no money, secrets, higher rights or changes of an agent.
    pub fn may_have_pattern(&self) -> bool {
        self.tier().is_some_and(|tier| tier < Tier::Critical) && !self.open
    }

    /// Whether a pattern with a path may stand for calls like this one. What is deleted from HIGH
    /// up is named.
    pub fn may_have_path(&self) -> bool {
        let deletes = self.effects.iter().any(|effect| effect == "Delete");
        self.may_have_pattern() && !(deletes && self.tier() >= Some(Tier::High))
    }

    /// Whether another call does no more than this one: the same reasons, effects and class, no
    /// higher tier, and nothing else touched, except files below the repository.
    pub fn includes(&self, call: &CallProfile, repository: Option<&str>) -> bool {
        let (Some(approved), Some(asked)) = (self.tier(), call.tier()) else { return false };
        let is_named = |entry: &String| {
            self.touches.contains(entry)
                || repository.is_some_and(|folder| is_path_below(entry, folder))
        };
        asked <= approved
            && self.may_have_pattern()
            && call.may_have_pattern()
            && call.points <= self.points
            && call.reasons == self.reasons
            && call.effects == self.effects
            && call.class == self.class
            && call.doubts.iter().all(|doubt| self.doubts.contains(doubt))
            && (call.reversible || !self.reversible)
            && call.touches.iter().all(is_named)
    }
}

/// Whether an entry is a file below a folder, in which relative paths start.
fn is_path_below(entry: &str, folder: &str) -> bool {
    let Some((list, path)) = entry.split_once(' ') else { return false };
    let rest = match path.strip_prefix('/') {
        None if path.starts_with(['~', '$', '<']) => None,
        None => Some(path),
        Some(_) => path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
    };
    PATHS.contains(&list)
        && rest.is_some_and(|rest| rest.split('/').all(|part| !part.is_empty() && part != ".."))
}
