//! Logistic regression with a quadratic penalty, by dual coordinate descent (Yu, Huang, Lin 2011).
//! The order of the examples comes from a fixed seed: the same rows give the same weights.

/// One example: the numbers of its features, all with the same value, and its share in the loss.
pub struct Example<'a> {
    /// Numbers of features.
    pub features: &'a [u32],
    /// The value of each feature.
    pub value: f64,
    /// Whether it is a crisis.
    pub positive: bool,
    /// How much it counts.
    pub share: f64,
}

/// The weights, and the bias.
#[derive(Clone)]
pub struct Weights {
    /// One for each feature.
    pub features: Vec<f64>,
    /// Added to each score.
    pub bias: f64,
}

impl Weights {
    /// The score of an example.
    pub fn score(&self, features: &[u32], value: f64) -> f64 {
        let sum: f64 = features.iter().filter_map(|f| self.features.get(*f as usize)).sum();
        self.bias + value * sum
    }
}

/// How often each example is visited at most.
const PASSES: usize = 60;
/// The largest gradient at which the weights are good enough.
const ENOUGH: f64 = 0.02;
/// The value of the feature that every example has: the larger, the less the bias is penalized.
const BIAS_VALUE: f64 = 3.0;
/// Steps for one example at most.
const STEPS: usize = 100;
/// Where the pseudo-random order begins.
const ORDER_SEED: u64 = 0x5EED;

/// Fits weights; `cost` is the price of an error against the penalty.
pub fn fit(examples: &[Example], features: usize, cost: f64) -> Weights {
    let mut weights = Weights { features: vec![0.0; features], bias: 0.0 };
    let mut duals: Vec<[f64; 2]> = examples
        .iter()
        .map(|example| {
            let most = cost * example.share;
            let first = (0.001 * most).min(1e-8);
            [first, most - first]
        })
        .collect();
    for (example, [first, _]) in examples.iter().zip(&duals) {
        add(&mut weights, example, *first);
    }
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let (mut seed, mut close) = (ORDER_SEED, 1e-2_f64);
    for _ in 0..PASSES {
        shuffle(&mut order, &mut seed);
        let (mut most, mut steps) = (0.0_f64, 0);
        for at in &order {
            let example = &examples[*at];
            let step = descend(&weights, example, &mut duals[*at], close);
            most = most.max(step.gradient);
            steps += step.steps;
            if step.steps > 0 {
                add(&mut weights, example, step.change);
            }
        }
        if most < ENOUGH {
            break;
        }
        if steps <= examples.len() / 10 {
            close = (0.1 * close).max(ENOUGH * 0.01);
        }
    }
    weights
}

/// What became of the two dual variables of an example.
struct DualStep {
    change: f64,
    gradient: f64,
    steps: usize,
}

/// Newton's method for the dual variables of one example, which add up to its price.
fn descend(weights: &Weights, example: &Example, dual: &mut [f64; 2], close: f64) -> DualStep {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
    let count = example.features.len() as f64;
    let square = example.value * example.value * count + BIAS_VALUE * BIAS_VALUE;
    let sign = if example.positive { 1.0 } else { -1.0 };
    let margin = sign * weights.score(example.features, example.value);
    let price = dual[0] + dual[1];
    let flip = 0.5 * square * (dual[1] - dual[0]) + margin < 0.0;
    let (own, side) = if flip { (1, -1.0) } else { (0, 1.0) };
    let before = dual[own];
    let mut now = if price - before < 0.5 * price { 0.1 * before } else { before };
    let slope = |at: f64| square * (at - before) + side * margin + (at / (price - at)).ln();
    let mut gradient = slope(now);
    let first = gradient.abs();
    let mut steps = 0;
    while steps < STEPS && gradient.abs() >= close {
        let next = now - gradient / (square + price / (price - now) / now);
        now = if next <= 0.0 { 0.1 * now } else { next };
        gradient = slope(now);
        steps += 1;
    }
    if steps > 0 {
        dual[own] = now;
        dual[1 - own] = price - now;
    }
    DualStep { change: side * (now - before), gradient: first, steps }
}

fn add(weights: &mut Weights, example: &Example, change: f64) {
    let change = if example.positive { change } else { -change };
    for feature in example.features {
        weights.features[*feature as usize] += change * example.value;
    }
    // The bias is the weight of its feature times the value of that feature.
    weights.bias += change * BIAS_VALUE * BIAS_VALUE;
}

fn shuffle(order: &mut [usize], seed: &mut u64) {
    for at in (1..order.len()).rev() {
        *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let other = (mixed ^ (mixed >> 31)) % (at as u64 + 1);
        order.swap(at, usize::try_from(other).unwrap_or_default());
    }
}
