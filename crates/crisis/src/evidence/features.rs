//! The features of a window: words, pairs, parts of words, and concepts of the lexicon.

use countersign_text::fold::is_unspaced;
use countersign_text::words::FoldedWord;

use super::lexicon::{self, LexiconLanguage};
use crate::hash::{SEED, step};

/// How many weights words and parts of words share.
pub const WORD_BUCKETS: u32 = 1 << 19;
/// How many weights concepts and pairs of concepts share.
pub const CONCEPT_BUCKETS: u32 = 1 << 14;

/// The features of a window, each once, as numbers of weights.
#[derive(Debug, Default, Clone)]
pub struct Features {
    /// Words, pairs and triples of words, parts of words.
    pub words: Vec<u32>,
    /// Concepts, and pairs of them.
    pub concepts: Vec<u32>,
}

/// What kind of feature a hash is of.
#[derive(Clone, Copy)]
enum Kind {
    Word = 1,
    Pair = 2,
    Triple = 3,
    Apart = 4,
    Part = 5,
    Concept = 6,
    Together = 7,
    InOrder = 8,
}

/// The features of a window.
pub fn of(words: &[FoldedWord], language: LexiconLanguage) -> Features {
    let mut out = Features::default();
    for sentence in words.split(|word| word.text.is_empty()) {
        for at in 0..sentence.len() {
            word_features(sentence, at, &mut out.words);
        }
        part_features(sentence, &mut out.words);
        concept_features(sentence, language, &mut out.concepts);
    }
    for list in [&mut out.words, &mut out.concepts] {
        list.sort_unstable();
        list.dedup();
    }
    out
}

/// The features that one word is part of, to explain a score.
pub fn of_word(words: &[FoldedWord], at: usize) -> Vec<u32> {
    let mut out = Vec::new();
    let Some(word) = words.get(at).filter(|word| !word.text.is_empty()) else { return out };
    word_features(words, at, &mut out);
    if let Some(before) = at.checked_sub(1).and_then(|at| words.get(at)) {
        out.push(bucket(Kind::Pair, &[&before.text, &word.text]));
    }
    part_features(std::slice::from_ref(word), &mut out);
    out.sort_unstable();
    out.dedup();
    out
}

fn word_features(sentence: &[FoldedWord], at: usize, out: &mut Vec<u32>) {
    let word = |offset: usize| sentence.get(at + offset).map(|word| word.text.as_str());
    let Some(first) = word(0) else { return };
    out.push(bucket(Kind::Word, &[first]));
    if let Some(second) = word(1) {
        out.push(bucket(Kind::Pair, &[first, second]));
        if let Some(third) = word(2) {
            out.push(bucket(Kind::Triple, &[first, second, third]));
            out.push(bucket(Kind::Apart, &[first, third]));
        }
        if let Some(fourth) = word(3) {
            out.push(bucket(Kind::Apart, &[first, fourth]));
        }
    }
}

/// Three to five letters in a row, also across words.
fn part_features(sentence: &[FoldedWord], out: &mut Vec<u32>) {
    let mut letters: Vec<char> = vec![' '];
    let mut unspaced = false;
    for (at, word) in sentence.iter().enumerate() {
        let now = word.text.chars().next().is_some_and(is_unspaced);
        if at > 0 && !(unspaced && now) {
            letters.push(' ');
        }
        letters.extend(word.text.chars());
        unspaced = now;
    }
    letters.push(' ');
    for length in 3..=5 {
        for part in letters.windows(length) {
            let mut hash = step(SEED, Kind::Part as u8);
            for letter in part {
                hash = hash_letter(hash, *letter);
            }
            out.push(mix(hash) % WORD_BUCKETS);
        }
    }
}

fn concept_features(sentence: &[FoldedWord], language: LexiconLanguage, out: &mut Vec<u32>) {
    let found = lexicon::concepts(sentence, language);
    let mut distinct = found.clone();
    distinct.sort_unstable();
    distinct.dedup();
    for (at, first) in distinct.iter().enumerate() {
        out.push(concept_bucket(Kind::Concept, *first, 0));
        for second in distinct.iter().skip(at + 1) {
            out.push(concept_bucket(Kind::Together, *first, *second));
        }
    }
    for apart in [1, 2] {
        for (first, second) in found.iter().zip(found.iter().skip(apart)) {
            out.push(concept_bucket(Kind::InOrder, *first, *second));
        }
    }
}

fn bucket(kind: Kind, words: &[&str]) -> u32 {
    let mut hash = step(SEED, kind as u8);
    for word in words {
        hash = word.bytes().fold(step(hash, b' '), step);
    }
    mix(hash) % WORD_BUCKETS
}

fn concept_bucket(kind: Kind, first: u8, second: u8) -> u32 {
    mix([kind as u8, first, second].into_iter().fold(SEED, step)) % CONCEPT_BUCKETS
}

fn hash_letter(hash: u32, letter: char) -> u32 {
    let mut bytes = [0; 4];
    letter.encode_utf8(&mut bytes).bytes().fold(hash, step)
}

/// FNV leaves patterns in its low bits.
fn mix(hash: u32) -> u32 {
    let hash = (hash ^ (hash >> 16)).wrapping_mul(0x85EB_CA6B);
    let hash = (hash ^ (hash >> 13)).wrapping_mul(0xC2B2_AE35);
    hash ^ (hash >> 16)
}
