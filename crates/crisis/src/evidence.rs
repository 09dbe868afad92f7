//! Weighted evidence: a linear model over parts of words, pairs of words and concepts.
//!
//! Rules find the wordings that they list; this finds what resembles them. The weights come from
//! rows that we wrote (`evidence/rows`), by `crisis-training`, and are integers: the same text has
//! the same score on every machine.

pub mod features;
pub mod lexicon;
pub mod model;
pub mod windows;

use countersign_text::fold::is_unspaced;
use countersign_text::words::{FoldedWord, split_words};
use countersign_types::span::Span;

use crate::concern::{Concern, Evidence};
use crate::quote::{self, Region};
use crate::screening::Screening;
use model::EvidenceModel;

/// A text with at most this many different words is short; a character of Chinese, Japanese or
/// Korean counts half.
const SHORT_WORDS: u32 = 6;
/// A quotation with more words than this is a text that is mentioned.
const LONG_QUOTATION: usize = 30;
/// How many words are named at most.
const NAMED_WORDS: usize = 4;

/// The words of a text without code and long quotations, which are mentioned rather than meant.
pub fn own_words(text: &str) -> Vec<FoldedWord> {
    let mut words = split_words(text);
    let mut regions = quote::regions(text);
    let inside = |region: &Region, word: &FoldedWord| {
        word.start >= region.start && word.end <= region.end && !word.text.is_empty()
    };
    regions.retain(|region| {
        region.code || words.iter().filter(|word| inside(region, word)).count() > LONG_QUOTATION
    });
    let mut at = 0;
    words.retain(|word| {
        while regions.get(at).is_some_and(|region| region.end < word.start) {
            at += 1;
        }
        !regions.get(at).is_some_and(|region| inside(region, word))
    });
    words
}

/// Weighs a text that the rules have read.
pub fn weigh(model: &EvidenceModel<'_>, text: &str, by_rules: &Screening) -> (Concern, Evidence) {
    let words = own_words(text);
    let language = lexicon::language(text, &words);
    let mut best: Option<(i32, windows::TextWindow)> = None;
    for window in windows::windows(&words) {
        let Some(part) = words.get(window.from..window.to) else { continue };
        let score = model.score(&features::of(part, language));
        if best.is_none_or(|(highest, _)| score > highest) {
            best = Some((score, window));
        }
    }
    let rules = model.rule_score(by_rules);
    let Some((score, window)) = best else {
        return (Concern::None, Evidence { score: rules, span: None, words: Vec::new() });
    };
    let score = score.saturating_add(rules);
    let certain = by_rules.by_rules && is_short(&words);
    let concern = if certain { Concern::Likely } else { model.concern(score, language) };
    let part = words.get(window.from..window.to).unwrap_or_default();
    let span = part.first().zip(part.last()).map(|(first, last)| Span::new(first.start, last.end));
    let words = if concern == Concern::None { Vec::new() } else { heaviest(model, part) };
    (concern, Evidence { score, span, words })
}

/// Whether a text has so few different words that nothing in it can change what a rule found.
fn is_short(words: &[FoldedWord]) -> bool {
    let mut seen: Vec<&str> = Vec::new();
    let mut weight = 0;
    for word in words {
        if word.text.is_empty() || seen.contains(&word.text.as_str()) {
            continue;
        }
        seen.push(&word.text);
        weight += if word.text.chars().any(is_unspaced) { 1 } else { 2 };
        if weight > 2 * SHORT_WORDS {
            return false;
        }
    }
    true
}

/// The words of a window that weigh most.
fn heaviest(model: &EvidenceModel<'_>, part: &[FoldedWord]) -> Vec<Span> {
    let mut weighed: Vec<(i32, usize)> = Vec::new();
    for at in 0..part.len() {
        let weight = features::of_word(part, at).iter().map(|f| model.weight(*f)).sum();
        weighed.push((weight, at));
    }
    weighed.retain(|(weight, _)| *weight > 0);
    weighed.sort_by_key(|(weight, at)| (std::cmp::Reverse(*weight), *at));
    let words = weighed.into_iter().filter_map(|(_, at)| part.get(at));
    words.take(NAMED_WORDS).map(|word| Span::new(word.start, word.end)).collect()
}
