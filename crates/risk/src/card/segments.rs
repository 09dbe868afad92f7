//! The parts of a compound command on its card: each with its tier, the risky ones first.

use std::cmp::Reverse;

use serde::Serialize;

use super::Card;
use countersign_redact::{neutralize_markers, redact_text, sanitize_marked};
use countersign_types::tier::Tier;

/// How many parts a card holds.
pub(super) const MAX_SEGMENTS: usize = 16;
/// The longest part on a card, in bytes.
const TEXT: usize = 1024;
/// The longest parts together.
const TEXTS: usize = 3 * 1024;

/// One part of a compound command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CardSegment {
    /// The part, safe to show.
    pub text: String,
    /// Its tier, standing alone.
    pub tier: Tier,
    /// Whether a person is asked about it.
    pub asks: bool,
    /// Whether people approved it before, for this session or longer.
    pub approved: bool,
}

impl CardSegment {
    /// A part with this text; none where the text cannot be shown exactly.
    pub fn new(text: &str, tier: Tier, asks: bool, approved: bool) -> Option<CardSegment> {
        let marked = neutralize_markers(text);
        let shown = sanitize_marked(&redact_text(&marked).text, TEXT);
        (shown.cut == 0 && shown.text == text).then_some(CardSegment {
            text: shown.text,
            tier,
            asks,
            approved,
        })
    }
}

impl Card {
    /// The card with these parts, if a person sees all of the call and all of the parts.
    pub fn set_segments(&mut self, segments: Vec<CardSegment>) -> bool {
        let length: usize = segments.iter().map(|segment| segment.text.len()).sum();
        let fits = (2..=MAX_SEGMENTS).contains(&segments.len()) && length <= TEXTS;
        let set = fits && self.folded == 0 && self.hidden.is_empty();
        if set {
            self.segments = segments;
        }
        set
    }

    /// The parts with their numbers, from 1: those that ask first, the riskiest before the others.
    pub fn segments_by_risk(&self) -> Vec<(usize, &CardSegment)> {
        let mut numbered: Vec<_> = (1..).zip(&self.segments).collect();
        numbered.sort_by_key(|(number, segment)| {
            let asks = segment.asks && !segment.approved;
            (Reverse(asks), Reverse(segment.tier), *number)
        });
        numbered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::assess;
    use crate::call::Call;
    use crate::call_digest::digest;
    use crate::verdict::Policy;

    #[test]
    fn parts_are_read_back_and_the_risky_ones_come_first() {
        let call = Call::shell("ls && rm -rf ../data");
        let seen = assess(&call, &Policy::default());
        let mut card = Card::new(&call, &seen, &digest(&call, b""));
        let part = |text, tier, asks| CardSegment::new(text, tier, asks, false).unwrap();
        let parts = vec![part("ls", Tier::Safe, false), part("rm -rf ../data", Tier::High, true)];
        assert!(!card.clone().set_segments(parts[..1].to_vec()));
        assert!(card.set_segments(parts));
        let numbers: Vec<usize> = card.segments_by_risk().iter().map(|(at, _)| *at).collect();
        assert_eq!(numbers, [2, 1]);
        let text = serde_json::to_string(&card).unwrap();
        let value = countersign_json::parse(&text).unwrap();
        assert_eq!(Card::from_json(&value).unwrap(), card);
        card.folded = 1;
        assert!(!card.set_segments(card.segments.clone()));
    }

    #[test]
    fn a_part_that_cannot_be_shown_exactly_is_none() {
        assert_eq!(CardSegment::new("rm -rf x\u{202e}", Tier::High, true, false), None);
        assert_eq!(CardSegment::new(&"x".repeat(2_000), Tier::High, true, false), None);
        let secret = "curl -H 'Authorization: Bearer ghp_0123456789abcdefghijklmnopqrstuvwxyzAB' x";
        assert_eq!(CardSegment::new(secret, Tier::High, true, false), None);
    }
}
