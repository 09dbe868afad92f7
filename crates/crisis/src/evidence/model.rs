//! The weights, and what a score means. Integers only.

use super::features::{CONCEPT_BUCKETS, Features, WORD_BUCKETS};
use super::lexicon::LexiconLanguage;
use crate::concern::Concern;
use crate::screening::Screening;
use crate::signal::SignalKind;

/// The numbers of a model. Scores are thousandths of a logit.
#[derive(Debug, Clone, Copy)]
pub struct ModelNumbers {
    /// The weight of one step of a word, in millionths.
    pub word_scale: i64,
    /// The weight of one step of a concept, in millionths.
    pub concept_scale: i64,
    /// Added to each score.
    pub bias: i32,
    /// From which score a crisis is possible, and likely: English.
    pub english: [i32; 2],
    /// The same for every other language.
    pub others: [i32; 2],
    /// What a match of the rules adds that a frame lowered.
    pub rules_lowered: i32,
    /// What a match of the rules adds.
    pub rules_crisis: i32,
    /// What each level adds, up to that of the match.
    pub levels: [i32; 6],
    /// What the kind of the match adds.
    pub kinds: [i32; 8],
}

/// A model: first the weights of words, then those of concepts, one signed byte each.
#[derive(Debug, Clone, Copy)]
pub struct EvidenceModel<'w> {
    /// The weights.
    pub weights: &'w [u8],
    /// The numbers.
    pub numbers: ModelNumbers,
}

include!(concat!(env!("OUT_DIR"), "/model.rs"));

/// The model of this program.
pub static MODEL: EvidenceModel<'static> =
    EvidenceModel { weights: include_bytes!("../../evidence/weights.bin"), numbers: NUMBERS };

/// Fewer features than this count as this many: a single word is weak evidence.
const LEAST_FEATURES: usize = 4;

impl EvidenceModel<'_> {
    /// The score of a window in thousandths.
    pub fn score(&self, features: &Features) -> i32 {
        let numbers = &self.numbers;
        let words = self.sum(&features.words, 0);
        let concepts = self.sum(&features.concepts, WORD_BUCKETS);
        let words = scaled(words, numbers.word_scale, features.words.len());
        let concepts = scaled(concepts, numbers.concept_scale, features.concepts.len());
        clip(words + concepts + i64::from(numbers.bias))
    }

    /// The weight of one feature of words.
    pub fn weight(&self, feature: u32) -> i32 {
        let at = usize::try_from(feature).ok().and_then(|at| self.weights.get(at));
        at.map_or(0, |byte| i32::from(byte.cast_signed()))
    }

    /// What the rules add to a score.
    pub fn rule_score(&self, by_rules: &Screening) -> i32 {
        let numbers = &self.numbers;
        if !by_rules.by_rules {
            return if by_rules.signals.is_empty() { 0 } else { numbers.rules_lowered };
        }
        let levels = numbers.levels.get(..usize::from(by_rules.level)).unwrap_or(&numbers.levels);
        let kind = by_rules.kind.and_then(|kind| numbers.kinds.get(kind_number(kind)).copied());
        numbers.rules_crisis + levels.iter().sum::<i32>() + kind.unwrap_or_default()
    }

    /// What a score means in a language.
    pub fn concern(&self, score: i32, language: LexiconLanguage) -> Concern {
        let numbers = &self.numbers;
        let [possible, likely] =
            if language.is_english() { numbers.english } else { numbers.others };
        if score >= likely {
            Concern::Likely
        } else if score >= possible {
            Concern::Possible
        } else {
            Concern::None
        }
    }

    fn sum(&self, features: &[u32], first: u32) -> i64 {
        features.iter().map(|f| i64::from(self.weight(first.saturating_add(*f)))).sum()
    }
}

/// The place of a kind among the numbers.
pub const fn kind_number(kind: SignalKind) -> usize {
    match kind {
        SignalKind::Ideation => 0,
        SignalKind::Hopelessness => 1,
        SignalKind::SelfHarm => 2,
        SignalKind::Method => 3,
        SignalKind::Means => 4,
        SignalKind::Goodbye => 5,
        SignalKind::Plan => 6,
        SignalKind::ThirdParty => 7,
    }
}

/// Long windows have more features: the sum is divided by the root of their number.
fn scaled(sum: i64, scale: i64, features: usize) -> i64 {
    let count = u64::try_from(features.max(LEAST_FEATURES)).unwrap_or(u64::MAX);
    let root = count.saturating_mul(1_000_000).isqrt();
    sum.saturating_mul(scale) / i64::try_from(root).unwrap_or(i64::MAX).max(1)
}

fn clip(score: i64) -> i32 {
    i32::try_from(score.clamp(-100_000, 100_000)).unwrap_or_default()
}

const _: () = assert!(MODEL.weights.len() == (WORD_BUCKETS + CONCEPT_BUCKETS) as usize);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::features::{CONCEPT_BUCKETS, WORD_BUCKETS};

    #[test]
    fn the_weights_are_small_and_complete() {
        let weights = MODEL.weights;
        assert!(weights.len() <= 2 << 20, "{} bytes", weights.len());
        assert_eq!(weights.len(), (WORD_BUCKETS + CONCEPT_BUCKETS) as usize);
        let used = weights.iter().filter(|weight| **weight != 0).count();
        assert!(used > weights.len() / 20, "{used} weights are not zero");
    }
}
