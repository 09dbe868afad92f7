//! The static tables the build script makes of `rules/crisis`, and their shapes.

use super::card::{Country, Grade, Line, Words};
use super::{Frame, Kind};

/// One rule or frame.
pub struct Rule {
    /// Stable id, `language.name`.
    pub id: &'static str,
    /// Which of the languages.
    pub lang: usize,
    /// What a match means.
    pub what: What,
}

/// What a match of a rule means.
#[derive(Clone, Copy)]
pub enum What {
    /// A sign: kind, level, whether it means danger now, whether a denial is part of it.
    Signal(Kind, u8, bool, bool),
    /// Something that changes how signs are read.
    Frame(Frame, Scope),
    /// An idea that rules combine; its number in its language.
    Mark(u8),
}

/// How far a frame reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Only signs it overlaps.
    Overlap,
    /// Signs in the same sentence.
    Sentence,
    /// The text around, some eighty words.
    Text,
}

/// A word, the classes it belongs to, and the languages it hints at (one bit each).
type Entry = (&'static str, &'static [u16], u16);

/// Words in hash buckets.
struct Table {
    mask: u32,
    lengths: u64,
    at: &'static [u16],
    entries: &'static [Entry],
}

impl Table {
    fn find(&self, hash: u32, word: &str) -> Option<&'static Entry> {
        let bucket = (hash & self.mask) as usize;
        let from = usize::from(*self.at.get(bucket)?);
        let to = usize::from(*self.at.get(bucket + 1)?);
        self.entries.get(from..to)?.iter().find(|e| e.0 == word)
    }

    fn has_length(&self, bytes: usize) -> bool {
        self.lengths >> bytes.min(63) & 1 != 0
    }
}

/// Marks that make a sign when they stand close together.
pub struct Combo {
    /// Which of the languages.
    pub lang: usize,
    /// Within how many words.
    pub width: u8,
    /// Whether the ends of sentences may lie between.
    pub across: bool,
    /// Marks needed, a bit each.
    pub all: u64,
    /// Marks that must not be in the same sentences.
    pub none: u64,
    /// Marks that may lie inside another one.
    pub light: u64,
    /// The rule it belongs to.
    pub rule: u16,
}

/// A class waited for, past how many other words, whether across sentences, and what follows.
pub type State = (u16, u8, bool, u32);

/// Classes a pattern cannot do without, whether it crosses sentences, its rule, and its starts.
pub type Pattern = ([u16; 3], bool, u16, u32, u32);

/// What may follow a word: another word to wait for, or a match.
#[derive(Clone, Copy)]
pub enum Next {
    /// A state, by its number.
    Wait(u32, State),
    /// A match of a rule, which may cover so many more words, also across sentences.
    Match(u16, u8, bool),
}

/// The bit that tells a match from a state.
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
            && let Some(entry) = PREFIX.find(hash, head)
        {
            into.extend_from_slice(entry.1);
        }
    }
    if let Some(entry) = WHOLE.find(hash, word) {
        into.extend_from_slice(entry.1);
        hints = entry.2;
    }
    hash = SEED;
    for (at, byte) in word.bytes().rev().enumerate() {
        hash = step(hash, byte);
        if SUFFIX.has_length(at + 1)
            && let Some(tail) = word.get(word.len() - at - 1..)
            && let Some(entry) = SUFFIX.find(hash, tail)
        {
            into.extend_from_slice(entry.1);
        }
    }
    hints
}

/// Whether a word is in the tables as a whole.
pub fn knows(word: &str) -> bool {
    let hash = word.bytes().fold(SEED, step);
    WHOLE.find(hash, word).is_some()
}

/// The rules.
pub fn rules() -> &'static [Rule] {
    RULES
}

/// What may follow, by the number of the list.
pub fn next(list: u32) -> impl Iterator<Item = Next> {
    let list = list as usize;
    let from = NEXT_AT.get(list).map_or(0, |n| *n as usize);
    let to = NEXT_AT.get(list + 1).map_or(0, |n| *n as usize);
    let targets = NEXT.get(from..to).unwrap_or_default();
    targets.iter().filter_map(|target| {
        if target & ACCEPT == 0 {
            return STATES.get(*target as usize).map(|s| Next::Wait(*target, *s));
        }
        let (rule, gap, across) = ACCEPTS.get((target & !ACCEPT) as usize)?;
        Some(Next::Match(*rule, *gap, *across))
    })
}

/// The patterns whose rarest key is this class.
pub fn keyed(class: u16) -> &'static [Pattern] {
    let class = usize::from(class);
    let from = PATTERN_AT.get(class).map_or(0, |n| *n as usize);
    let to = PATTERN_AT.get(class + 1).map_or(0, |n| *n as usize);
    PATTERNS.get(from..to).unwrap_or_default()
}

/// Where a pattern begins: classes, and the list of what follows each.
pub fn starts(pattern: &Pattern) -> &'static [(u16, u32)] {
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

/// The words of the card in a language.
pub fn card_words(lang: usize) -> Option<&'static Words> {
    CARDS.get(lang)
}

/// All countries.
pub fn countries() -> &'static [Country] {
    COUNTRIES
}

/// The directory of helplines for everywhere else.
pub fn directory() -> &'static str {
    DIRECTORY
}

/// A rule as people read it.
pub struct RuleNote {
    /// Stable id, `language.name`.
    pub id: &'static str,
    /// What it is a sign of.
    pub say: &'static str,
    /// Texts that are a crisis.
    pub examples: &'static [&'static str],
    /// Texts that are not.
    pub counter_examples: &'static [&'static str],
}

/// All rules as people read them.
pub fn rule_notes() -> &'static [RuleNote] {
    RULE_NOTES
}

/// The examples of all rules: rule, text, whether it is a crisis.
#[cfg(test)]
pub fn examples() -> &'static [(&'static str, &'static str, bool)] {
    EXAMPLES
}

use super::hash::{SEED, step};
