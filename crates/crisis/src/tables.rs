//! The static tables that the build script generates from the rules, and their types.

use super::age_sign::{AgeLanguage, AgeSign};
use super::hash::{SEED, step};
use super::helplines::{CardText, Country, Grade, Helpline};
use super::signal::{Frame, SignalKind};

/// One rule or frame.
pub struct CrisisRule {
    /// Stable id, `language.name`.
    pub id: &'static str,
    /// Which of the languages.
    pub lang: usize,
    /// What a match means.
    pub what: RuleMeaning,
}

/// What a match of a rule means.
#[derive(Clone, Copy)]
pub enum RuleMeaning {
    /// A signal: kind, level, whether the danger is imminent, whether a denial is part of it.
    Signal(SignalKind, u8, bool, bool),
    /// A frame, which changes how signals are read.
    Frame(Frame, Scope),
    /// A mark that rules combine; its number in its language.
    Mark(u8),
}

/// How far a frame reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Only signals that it overlaps.
    Overlap,
    /// Signals in the same sentence.
    Sentence,
    /// About eighty words around it.
    Text,
}

/// The classes that a word belongs to, and the languages it hints at (one bit each).
type Entry = (&'static [u16], u16);

/// Words in hash buckets. Words and classes are one behind the other; the numbers are their ends.
struct Table {
    mask: u32,
    lengths: u64,
    at: &'static [u16],
    text: &'static str,
    word_ends: &'static [u32],
    classes: &'static [u16],
    class_ends: &'static [u32],
    hints: &'static [u16],
}

/// The part of a list that an entry has, by the ends of all entries.
fn part(ends: &[u32], entry: usize) -> Option<std::ops::Range<usize>> {
    let start = entry.checked_sub(1).map_or(Some(&0), |before| ends.get(before))?;
    Some(*start as usize..*ends.get(entry)? as usize)
}

impl Table {
    fn find(&self, hash: u32, word: &str) -> Option<Entry> {
        let bucket = (hash & self.mask) as usize;
        let from = usize::from(*self.at.get(bucket)?);
        let to = usize::from(*self.at.get(bucket + 1)?);
        let is_word = |entry: &usize| {
            part(self.word_ends, *entry).is_some_and(|part| self.text.get(part) == Some(word))
        };
        let entry = (from..to).find(is_word)?;
        let classes = self.classes.get(part(self.class_ends, entry)?)?;
        Some((classes, *self.hints.get(entry)?))
    }

    fn has_length(&self, bytes: usize) -> bool {
        self.lengths >> bytes.min(63) & 1 != 0
    }
}

/// Marks that make a signal when they are close together.
pub struct Combo {
    /// Which of the languages.
    pub lang: usize,
    /// Within how many words.
    pub width: u8,
    /// Whether ends of sentences may be between them.
    pub across: bool,
    /// Required marks, one bit each.
    pub all: u64,
    /// Marks that must not be in the same sentences.
    pub none: u64,
    /// Marks that may be inside another one.
    pub light: u64,
    /// The rule it belongs to.
    pub rule: u16,
}

/// The class that a state expects, past how many other words, whether across sentences, and what
/// follows.
pub type NfaState = (u16, u8, bool, u32);

/// Classes that a pattern requires, whether it crosses sentences, its rule, and its starts.
pub type NfaPattern = ([u16; 3], bool, u16, u32, u32);

/// What may follow a word: another expected word, or a match.
#[derive(Clone, Copy)]
pub enum NfaStep {
    /// A state, by its number.
    Wait(u32, NfaState),
    /// A match of a rule, which may cover this many more words, also across sentences.
    Match(u16, u8, bool),
}

/// The bit that distinguishes a match from a state.
const ACCEPT: u32 = 1 << 31;

include!(concat!(env!("OUT_DIR"), "/crisis.rs"));

/// Adds the classes of a folded word to `into`; returns the languages it hints at.
pub fn classify(word: &str, into: &mut Vec<u16>) -> u16 {
    let mut hash = SEED;
    let mut hints = 0;
    for (at, byte) in word.bytes().enumerate() {
        hash = step(hash, byte);
        let length = at + 1;
        if PREFIX.has_length(length)
            && let Some(head) = word.get(..length)
            && let Some((classes, _)) = PREFIX.find(hash, head)
        {
            into.extend_from_slice(classes);
        }
    }
    if let Some((classes, languages)) = WHOLE.find(hash, word) {
        into.extend_from_slice(classes);
        hints = languages;
    }
    hash = SEED;
    for (at, byte) in word.bytes().rev().enumerate() {
        hash = step(hash, byte);
        if SUFFIX.has_length(at + 1)
            && let Some(tail) = word.get(word.len() - at - 1..)
            && let Some((classes, _)) = SUFFIX.find(hash, tail)
        {
            into.extend_from_slice(classes);
        }
    }
    hints
}

/// Whether the tables contain the whole word.
pub fn knows(word: &str) -> bool {
    let hash = word.bytes().fold(SEED, step);
    WHOLE.find(hash, word).is_some()
}

/// The rules.
pub fn rules() -> &'static [CrisisRule] {
    RULES
}

/// What may follow, by the number of the list.
pub fn next(list: u32) -> impl Iterator<Item = NfaStep> {
    let list = list as usize;
    let from = NEXT_AT.get(list).map_or(0, |n| *n as usize);
    let to = NEXT_AT.get(list + 1).map_or(0, |n| *n as usize);
    let targets = NEXT.get(from..to).unwrap_or_default();
    targets.iter().filter_map(|target| {
        if target & ACCEPT == 0 {
            return STATES.get(*target as usize).map(|s| NfaStep::Wait(*target, *s));
        }
        let (rule, gap, across) = ACCEPTS.get((target & !ACCEPT) as usize)?;
        Some(NfaStep::Match(*rule, *gap, *across))
    })
}

/// The patterns whose rarest key is this class.
pub fn keyed(class: u16) -> &'static [NfaPattern] {
    let class = usize::from(class);
    let from = PATTERN_AT.get(class).map_or(0, |n| *n as usize);
    let to = PATTERN_AT.get(class + 1).map_or(0, |n| *n as usize);
    PATTERNS.get(from..to).unwrap_or_default()
}

/// The starts of a pattern: classes, and the list of what follows each.
pub fn starts(pattern: &NfaPattern) -> &'static [(u16, u32)] {
    STARTS.get(pattern.3 as usize..pattern.4 as usize).unwrap_or_default()
}

/// The combinations of marks, by language.
pub fn combos() -> &'static [Combo] {
    COMBOS
}

/// How many classes there are.
pub fn classes() -> usize {
    PATTERN_AT.len()
}

/// The languages.
pub fn langs() -> &'static [&'static str] {
    &LANGS
}

/// The texts of the card in a language.
pub fn card_words(lang: usize) -> Option<&'static CardText> {
    CARDS.get(lang)
}

/// All countries.
pub fn countries() -> &'static [Country] {
    COUNTRIES
}

/// The directory of helplines for other countries.
pub fn directory() -> &'static str {
    DIRECTORY
}

/// The signs that a person may be under 18, by their first word.
pub fn age_signs() -> &'static [AgeSign] {
    AGE_SIGNS
}

/// The languages of these signs.
pub fn age_languages() -> &'static [AgeLanguage] {
    AGE_LANGUAGES
}

/// Their examples: language, text, whether it is a sign.
#[cfg(test)]
pub fn age_examples() -> &'static [(&'static str, &'static str, bool)] {
    AGE_EXAMPLES
}

/// A rule as documentation.
pub struct RuleNote {
    /// Stable id, `language.name`.
    pub id: &'static str,
    /// What it signals.
    pub say: &'static str,
    /// Texts that are a crisis.
    pub examples: &'static [&'static str],
    /// Texts that are not.
    pub counter_examples: &'static [&'static str],
}

/// All rules as documentation.
pub fn rule_notes() -> &'static [RuleNote] {
    RULE_NOTES
}

/// The examples of all rules: rule, text, whether it is a crisis.
#[cfg(test)]
pub fn examples() -> &'static [(&'static str, &'static str, bool)] {
    EXAMPLES
}
