//! The names in the JSON of a card: its fields, and the values of those that name a variant.

use crate::context::Platform;
use crate::effect::{Effect, EffectClass};
use crate::finding::{Doubt, Factor};

pub(super) const FIELDS: [&str; 26] = [
    "brief",
    "tool",
    "arguments",
    "command",
    "tier",
    "points",
    "risk",
    "confidence",
    "reasons",
    "impact",
    "effects",
    "side_effect_class",
    "reversible",
    "doubts",
    "hidden",
    "folded",
    "digest",
    "raw_digest",
    "both_bind",
    "phrase",
    "platform",
    "cwd",
    "environment",
    "facts",
    "plan",
    "segments",
];

pub(super) const EFFECTS: [(&str, Effect); 17] = [
    ("read", Effect::Read),
    ("write", Effect::Write),
    ("delete", Effect::Delete),
    ("exec", Effect::Exec),
    ("net_out", Effect::NetOut),
    ("net_in", Effect::NetIn),
    ("privilege", Effect::Privilege),
    ("persist", Effect::Persist),
    ("publish", Effect::Publish),
    ("service", Effect::Service),
    ("send", Effect::Send),
    ("money", Effect::Money),
    ("secret", Effect::Secret),
    ("self_change", Effect::SelfChange),
    ("delegate", Effect::Delegate),
    ("remote", Effect::Remote),
    ("crisis", Effect::Crisis),
];

pub(super) const DOUBTS: [(&str, Doubt); 7] = [
    ("unknown_program", Doubt::UnknownProgram),
    ("dynamic_program", Doubt::DynamicProgram),
    ("dynamic_arguments", Doubt::DynamicArguments),
    ("unreadable", Doubt::Unreadable),
    ("guessed_tool", Doubt::GuessedTool),
    ("vague_arguments", Doubt::VagueArguments),
    ("crisis_signs", Doubt::CrisisSigns),
];

pub(super) const CLASSES: [(&str, EffectClass); 4] = [
    ("read_only", EffectClass::A),
    ("local_reversible", EffectClass::B),
    ("external", EffectClass::C),
    ("critical", EffectClass::D),
];

pub(super) const PLATFORMS: [(&str, Platform); 5] = [
    ("cli", Platform::Cli),
    ("api", Platform::Api),
    ("telegram", Platform::Telegram),
    ("discord", Platform::Discord),
    ("other", Platform::Other),
];

pub(super) const FACTORS: [(&str, Factor); 3] =
    [("pattern", Factor::Pattern), ("behaviour", Factor::Behaviour), ("context", Factor::Context)];

pub(super) const LISTS: [&str; 10] = [
    "money",
    "recipients",
    "deletes",
    "writes",
    "rows",
    "services",
    "secrets",
    "hosts",
    "programs",
    "items",
];
