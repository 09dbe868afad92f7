//! What a call does, as its assessment says. A later call under the same grant may do no more.

use serde::{Deserialize, Serialize};

use countersign_risk::assess::{Assessment, Reason};
use countersign_risk::card::Card;
use countersign_risk::effect::{Effect, EffectClass, Effects};
use countersign_risk::finding::Doubt;
use countersign_risk::impact::{CountedList, Impact};
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

/// Effects of tool calls that only an exact grant covers: conditions on arguments do not say what
/// runs, which secret is read or what happens later. Money is limited by a budget.
const EXACT_TOOL_CALL: Effects = Effects::of(&[
    Effect::Exec,
    Effect::Secret,
    Effect::SelfChange,
    Effect::Privilege,
    Effect::Persist,
    Effect::Delegate,
    Effect::Crisis,
]);

/// Lists of the impact whose entries a condition on an argument can name.
const NAMED_BY_ARGUMENTS: [&str; 5] = ["tells", "deletes", "writes", "rows", "services"];

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
        CallProfile::new(&AssessedParts::of(seen), EXACT_ONLY)
    }

    /// Of a stored call.
    pub fn of_card(card: &Card) -> CallProfile {
        CallProfile::new(&AssessedParts::of_card(card), EXACT_ONLY)
    }

    /// Of a call of a tool, for a grant with conditions on its arguments.
    pub fn of_tool_call(seen: &Assessment) -> CallProfile {
        CallProfile::new(&AssessedParts::of(seen), EXACT_TOOL_CALL)
    }

    /// The same of a stored call.
    pub fn of_tool_card(card: &Card) -> CallProfile {
        CallProfile::new(&AssessedParts::of_card(card), EXACT_TOOL_CALL)
    }

    fn new(parts: &AssessedParts<'_>, exact_only: Effects) -> CallProfile {
        let (reasons, effects, impact) = (parts.reasons, parts.effects, parts.impact);
        // A note for people is no part of what a call does.
        let mut codes: Vec<String> = reasons
            .iter()
            .filter(|reason| reason.code != ADOPTION_NOTE)
            .map(|reason| reason.code.clone().into_owned())
            .collect();
        codes.sort_unstable();
        codes.dedup();
        let names_money = exact_only.has(Effect::Money) && !impact.money.is_empty();
        let is_whole =
            |touched: &CountedList| usize::try_from(touched.count) == Ok(touched.listed.len());
        let touches = impact.lists().into_iter().flat_map(|(list, touched)| {
            touched.listed.iter().map(move |entry| format!("{list} {entry}"))
        });
        CallProfile {
            tier: parts.tier.label().to_owned(),
            points: parts.points,
            reasons: codes,
            effects: effects.iter().map(|effect| format!("{effect:?}")).collect(),
            class: format!("{:?}", parts.class),
            doubts: parts.doubts.iter().map(|doubt| format!("{doubt:?}")).collect(),
            reversible: parts.reversible,
            touches: touches.collect(),
            open: effects.meets(exact_only)
                || names_money
                || impact.items.is_some()
                || reasons.iter().any(|reason| UNREAD.contains(&&*reason.code))
                || parts.doubts.iter().any(|doubt| UNKNOWN.contains(doubt))
                || !impact.lists().into_iter().all(|(_, touched)| is_whole(touched)),
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

    /// Whether conditions on arguments may stand for calls of a tool like this one.
    pub(super) fn may_have_conditions(&self) -> bool {
        self.tier().is_some_and(|tier| tier <= Tier::Medium) && !self.open
    }

    /// Whether the call moves money, or names an amount of it.
    pub(super) fn names_money(&self) -> bool {
        self.effects.iter().any(|effect| effect == "Money")
            || self.reasons.iter().any(|code| code == "tool.amount")
    }

    /// The paths that the call deletes or writes.
    pub(super) fn changed_paths(&self) -> impl Iterator<Item = &str> {
        let entries = self.touches.iter().filter_map(|entry| entry.split_once(' '));
        entries.filter(|(list, _)| PATHS.contains(list)).map(|(_, path)| path)
    }

    /// Whether the call deletes or writes.
    pub(super) fn changes_files(&self) -> bool {
        self.effects.iter().any(|effect| effect == "Delete" || effect == "Write")
    }

    /// Whether another call of the same tool does no more than this one: no higher tier, no other
    /// reason, effect or doubt, and nothing else touched, except what an argument names.
    pub(super) fn includes_tool_call(
        &self,
        call: &CallProfile,
        is_named: impl Fn(&str) -> bool,
    ) -> bool {
        let is_part = |some: &[String], all: &[String]| some.iter().all(|one| all.contains(one));
        let is_touched = |entry: &String| {
            let named = entry
                .split_once(' ')
                .is_some_and(|(list, name)| NAMED_BY_ARGUMENTS.contains(&list) && is_named(name));
            named || self.touches.contains(entry)
        };
        self.may_have_conditions()
            && call.may_have_conditions()
            && call.tier() <= self.tier()
            && call.points <= self.points
            && is_part(&call.reasons, &self.reasons)
            && is_part(&call.effects, &self.effects)
            && is_part(&call.doubts, &self.doubts)
            && call.class <= self.class
            && (call.reversible || !self.reversible)
            && call.touches.iter().all(is_touched)
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

/// What an assessment and a card both have.
struct AssessedParts<'a> {
    tier: Tier,
    points: u16,
    reasons: &'a [Reason],
    effects: Effects,
    class: EffectClass,
    doubts: &'a [Doubt],
    reversible: bool,
    impact: &'a Impact,
}

impl<'a> AssessedParts<'a> {
    fn of(seen: &'a Assessment) -> AssessedParts<'a> {
        AssessedParts {
            tier: seen.tier,
            points: seen.points.0,
            reasons: &seen.reasons,
            effects: seen.effects,
            class: seen.side_effect_class,
            doubts: &seen.doubts,
            reversible: seen.reversible,
            impact: &seen.impact,
        }
    }

    fn of_card(card: &'a Card) -> AssessedParts<'a> {
        AssessedParts {
            tier: card.tier,
            points: card.points.0,
            reasons: &card.reasons,
            effects: card.effects,
            class: card.side_effect_class,
            doubts: &card.doubts,
            reversible: card.reversible,
            impact: &card.impact,
        }
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
