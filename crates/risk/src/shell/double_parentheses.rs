//! `((…))`: arithmetic for bash and zsh, two subshells for dash and other plain shells.

use super::evaluator::Evaluator;
use super::program::resolve;
use crate::finding::{Finding, Findings};
use crate::flow::Flow;
use crate::name_lists::ARITHMETIC_FINDINGS;
use countersign_shell::posix::ast::Stage;
use countersign_types::tier::Tier;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Reads arithmetic as the commands that it may be: what asks there counts.
    pub(super) fn as_subshells(&mut self, stage: &'t Stage<'t>) {
        let text = self.text.get(stage.start..stage.end).unwrap_or_default();
        let inside = text.strip_prefix("((").and_then(|text| text.rsplit_once("))"));
        let Some((inside, _)) = inside.filter(|(inside, _)| may_be_command(inside)) else { return };
        let span = self.span(stage.start, stage.end);
        if !self.another_reading(span) {
            return;
        }
        let words = has_adjacent_words(inside);
        let outer = self.shared.out.take();
        self.maybe(|w| w.inside(inside, span, &Flow::none()));
        let inner = std::mem::replace(self.shared.out, outer);
        let counts = |found: &Finding| {
            found.weight.tier() >= Tier::Medium
                && (words || !ARITHMETIC_FINDINGS.contains(&found.code.as_ref()))
        };
        if inner.iter().any(counts) {
            let mut grave = Findings::default();
            grave.absorb_reading(inner, false, counts);
            self.shared.out.absorb(grave, |found| found);
        }
    }
}

/// Whether the first word names a program that is known, or is followed by another word.
fn may_be_command(inside: &str) -> bool {
    let text = inside.trim_start_matches(['(', ' ', '\t', '\n']);
    let first = text.split([' ', '\t', '\n', ';', '|', '&', ')', '<', '>']).next();
    first.is_some_and(|word| word.contains('/') || resolve(word).is_some())
        || has_adjacent_words(inside)
}

/// Whether two words stand side by side, which no arithmetic has: `x y`, `a -b c`.
fn has_adjacent_words(text: &str) -> bool {
    let is_word = |word: &str| {
        let name = word.trim_start_matches(['(', '-', '.']).trim_end_matches([')', ';']);
        let mut bytes = name.bytes();
        bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_' || b == b'/')
            && bytes.all(|b| b.is_ascii_alphanumeric() || b"_./-".contains(&b))
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|pair| match pair {
        [first, second] => {
            is_word(first) && is_word(second) && !second.starts_with('-') && !first.ends_with('-')
        }
        _ => false,
    })
}
