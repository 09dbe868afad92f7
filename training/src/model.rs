//! The three parts of the model: words, concepts, rules.

use countersign_crisis::Screening;
use countersign_crisis::evidence::features::{CONCEPT_BUCKETS, Features, WORD_BUCKETS};
use countersign_crisis::evidence::model::kind_number;

use crate::logistic::{Example, Weights, fit};
use crate::rows::{LINES, Row};

/// The price of an error in each part.
const WORD_COST: f64 = 30.0;
const CONCEPT_COST: f64 = 10.0;
const RULE_COST: f64 = 1.0;
/// How much the concepts count beside the words.
pub const CONCEPT_SHARE: f64 = 0.5;
/// The value of a feature of the rules.
const RULE_VALUE: f64 = 0.3;
/// Features of the rules: they match, they are lowered, six levels, eight kinds.
const RULE_FEATURES: usize = 16;
/// A window has at least this many features for the root that divides its sum.
const LEAST_FEATURES: usize = 4;

/// The trained parts.
pub struct Trained {
    /// Words and parts of words.
    pub words: Weights,
    /// Concepts.
    pub concepts: Weights,
    /// Rules.
    pub rules: Weights,
}

impl Trained {
    /// Trains on rows. Long rows count once: first all their windows, then the most telling one.
    pub fn on(rows: &[&Row]) -> Trained {
        let first = |row: &Row| (0..row.windows.len()).collect::<Vec<_>>();
        let words = part(rows, &first, |f| &f.words, WORD_BUCKETS, WORD_COST);
        let concepts = part(rows, &first, |f| &f.concepts, CONCEPT_BUCKETS, CONCEPT_COST);
        let rules = rules(rows);
        let draft = Trained { words, concepts, rules };
        let telling = |row: &Row| {
            if !row.crisis {
                return first(row);
            }
            let best = (0..row.windows.len()).max_by(|a, b| {
                draft.window(&row.windows[*a]).total_cmp(&draft.window(&row.windows[*b]))
            });
            best.into_iter().collect()
        };
        let words = part(rows, &telling, |f| &f.words, WORD_BUCKETS, WORD_COST);
        let concepts = part(rows, &telling, |f| &f.concepts, CONCEPT_BUCKETS, CONCEPT_COST);
        Trained { words, concepts, rules: draft.rules }
    }

    fn window(&self, features: &Features) -> f64 {
        self.words.score(&features.words, value(&features.words))
            + CONCEPT_SHARE * self.concepts.score(&features.concepts, value(&features.concepts))
    }
}

fn value(features: &[u32]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
    let count = features.len().max(LEAST_FEATURES) as f64;
    1.0 / count.sqrt()
}

fn part(
    rows: &[&Row],
    choose: &dyn Fn(&Row) -> Vec<usize>,
    of: fn(&Features) -> &Vec<u32>,
    buckets: u32,
    cost: f64,
) -> Weights {
    let mut examples = Vec::new();
    for row in rows {
        let chosen = choose(row);
        #[expect(clippy::cast_precision_loss, reason = "a few windows")]
        let count = chosen.len().max(1) as f64;
        let share = if row.crisis { 1.0 / count } else { 1.0 / count.sqrt() };
        for at in chosen {
            let features = of(&row.windows[at]);
            let value = value(features);
            examples.push(Example { features, value, positive: row.crisis, share });
        }
    }
    balance(&mut examples);
    fit(&examples, buckets as usize, cost)
}

/// Both labels count the same in the end.
fn balance(examples: &mut [Example]) {
    let of = |positive: bool, list: &[Example]| -> f64 {
        list.iter().filter(|e| e.positive == positive).map(|e| e.share).sum()
    };
    let (yes, no) = (of(true, examples), of(false, examples));
    for example in examples {
        let own = if example.positive { yes } else { no };
        example.share *= (yes + no) / (2.0 * own.max(1e-9));
    }
}

/// The rules were written with the first batch and the lines: there they look better than they are.
fn rules(rows: &[&Row]) -> Weights {
    let unfair = |row: &Row| row.batch == "first" || row.batch == LINES;
    let fair: Vec<&&Row> = rows.iter().filter(|row| !unfair(row)).collect();
    let lists: Vec<Vec<u32>> = fair.iter().map(|row| rule_features(&row.by_rules)).collect();
    let mut examples: Vec<Example> = fair
        .iter()
        .zip(&lists)
        .map(|(row, features)| Example {
            features,
            value: RULE_VALUE,
            positive: row.crisis,
            share: 1.0,
        })
        .collect();
    balance(&mut examples);
    fit(&examples, RULE_FEATURES, RULE_COST)
}

/// What the rules say, as numbers of features.
fn rule_features(by_rules: &Screening) -> Vec<u32> {
    if !by_rules.by_rules {
        return if by_rules.signals.is_empty() { Vec::new() } else { vec![1] };
    }
    let mut out = vec![0];
    out.extend((0..u32::from(by_rules.level)).map(|level| 2 + level));
    out.extend(by_rules.kind.and_then(|kind| u32::try_from(8 + kind_number(kind)).ok()));
    out
}

/// What a feature of the rules adds to a score.
pub fn rule_weight(rules: &Weights, feature: usize) -> f64 {
    RULE_VALUE * rules.features.get(feature).copied().unwrap_or_default()
}
