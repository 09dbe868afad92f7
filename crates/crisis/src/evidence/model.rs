//! The weights, and what a score means. Integers only.

use super::features::{CONCEPT_BUCKETS, Features, WORD_BUCKETS};
use super::lexicon::LexiconLanguage;
use crate::concern::Concern;
use crate::screening::Screening;
use crate::signal::SignalKind;

include!(concat!(env!("OUT_DIR"), "/model.rs"));

/// First the weights of words, then those of concepts, one signed byte each.
static WEIGHTS: &[u8] = include_bytes!("../../evidence/weights.bin");

/// Fewer features than this count as this many: a single word is weak evidence.
const LEAST_FEATURES: usize = 4;

/// The score of a window in thousandths.
pub fn score(features: &Features) -> i32 {
    let words = sum(&features.words, 0);
    let concepts = sum(&features.concepts, WORD_BUCKETS);
    let words = scaled(words, WORD_SCALE, features.words.len());
    let concepts = scaled(concepts, CONCEPT_SCALE, features.concepts.len());
    clip(words + concepts + i64::from(BIAS))
}

/// The weight of one feature of words.
pub fn weight(feature: u32) -> i32 {
    byte(feature)
}

/// What the rules add to a score.
pub fn rule_score(by_rules: &Screening) -> i32 {
    if !by_rules.by_rules {
        return if by_rules.signals.is_empty() { RULES_SILENT } else { RULES_LOWERED };
    }
    let level = LEVELS.get(..usize::from(by_rules.level)).unwrap_or(&LEVELS);
    let kind = by_rules.kind.map_or(0, kind_weight);
    RULES_CRISIS + level.iter().sum::<i32>() + kind
}

fn kind_weight(kind: SignalKind) -> i32 {
    let at = match kind {
        SignalKind::Ideation => 0,
        SignalKind::Hopelessness => 1,
        SignalKind::SelfHarm => 2,
        SignalKind::Method => 3,
        SignalKind::Means => 4,
        SignalKind::Goodbye => 5,
        SignalKind::Plan => 6,
        SignalKind::ThirdParty => 7,
    };
    KINDS.get(at).copied().unwrap_or_default()
}

/// What a score means in a language.
pub fn concern(score: i32, language: LexiconLanguage) -> Concern {
    let [possible, likely] = if language.is_english() { ENGLISH } else { OTHERS };
    if score >= likely {
        Concern::Likely
    } else if score >= possible {
        Concern::Possible
    } else {
        Concern::None
    }
}

fn sum(features: &[u32], first: u32) -> i64 {
    features.iter().map(|feature| i64::from(byte(first.saturating_add(*feature)))).sum()
}

fn byte(at: u32) -> i32 {
    let at = usize::try_from(at).ok().and_then(|at| WEIGHTS.get(at));
    at.map_or(0, |byte| i32::from(byte.cast_signed()))
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

const _: () = assert!(WEIGHTS.len() == (WORD_BUCKETS + CONCEPT_BUCKETS) as usize);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::features::{CONCEPT_BUCKETS, WORD_BUCKETS};

    #[test]
    fn the_weights_are_small_and_complete() {
        assert!(WEIGHTS.len() <= 2 << 20, "{} bytes", WEIGHTS.len());
        assert_eq!(WEIGHTS.len(), (WORD_BUCKETS + CONCEPT_BUCKETS) as usize);
        let used = WEIGHTS.iter().filter(|weight| **weight != 0).count();
        assert!(used > WEIGHTS.len() / 20, "{used} weights are not zero");
    }
}
