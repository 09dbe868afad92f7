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
    /// A sign: kind, level, whether it means danger now.
    Signal(Kind, u8, bool),
    /// Something that changes how signs are read.
    Frame(Frame, Scope),
}

/// How far a frame reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Only signs it overlaps.
    Overlap,
    /// Signs in the same sentence.
    Sentence,
    /// The whole text.
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

/// The class a state waits for.
pub fn class(state: u16) -> u16 {
    STATE_CLASS.get(usize::from(state)).copied().unwrap_or(SPLIT)
}

/// The states after a state; of a match, the rule.
pub fn next(state: u16) -> &'static [u16] {
    let state = usize::from(state);
    let from = STATE_NEXT_AT.get(state).map_or(0, |n| *n as usize);
    let to = STATE_NEXT_AT.get(state + 1).map_or(0, |n| *n as usize);
    STATE_NEXT.get(from..to).unwrap_or_default()
}

/// A state a match may begin in, the classes it cannot do without, and whether it may cross the
/// end of a sentence and is a sign (rather than a frame).
type First = (u16, [u16; 3], [bool; 2]);

/// The states a class may begin in, each with classes its pattern cannot do without.
pub fn first(class: u16) -> &'static [First] {
    let class = usize::from(class);
    let from = FIRST_AT.get(class).map_or(0, |n| *n as usize);
    let to = FIRST_AT.get(class + 1).map_or(0, |n| *n as usize);
    FIRST.get(from..to).unwrap_or_default()
}

/// Whether some pattern cannot do without this class.
pub fn is_key(class: u16) -> bool {
    IS_KEY.get(usize::from(class)).copied().unwrap_or(false)
}

/// How many states there are.
pub fn states() -> usize {
    STATE_CLASS.len()
}

/// How many classes there are.
pub fn classes() -> usize {
    IS_KEY.len()
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

/// The examples of all rules: rule, text, whether it is a crisis.
#[cfg(test)]
pub fn examples() -> &'static [(&'static str, &'static str, bool)] {
    EXAMPLES
}

use super::engine::SPLIT;
use super::hash::{SEED, step};
