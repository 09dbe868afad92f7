//! Logistic regression with a quadratic penalty, by L-BFGS. No randomness: the same rows give the
//! same weights.

use std::collections::VecDeque;

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

/// How many steps at most, and how many former steps shape the next one.
const STEPS: usize = 120;
const MEMORY: usize = 8;
/// The gradient is small enough below this part of its first length.
const ENOUGH: f64 = 1e-4;

/// Fits weights; `cost` is the price of an error against the penalty.
pub fn fit(examples: &[Example], features: usize, cost: f64) -> Weights {
    let mut at = vec![0.0; features + 1];
    let (mut loss, mut gradient) = slope(examples, &at, cost);
    let first = length(&gradient);
    let mut memory: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
    for _ in 0..STEPS {
        let direction = direction(&gradient, &memory);
        let downhill = dot(&direction, &gradient);
        let mut step = if memory.is_empty() { 1.0 / length(&gradient).max(1e-12) } else { 1.0 };
        let mut next = None;
        for _ in 0..30 {
            let trial: Vec<f64> = at.iter().zip(&direction).map(|(a, d)| a + step * d).collect();
            let (trial_loss, trial_gradient) = slope(examples, &trial, cost);
            if trial_loss <= loss + 1e-4 * step * downhill {
                next = Some((trial, trial_loss, trial_gradient));
                break;
            }
            step /= 2.0;
        }
        let Some((trial, trial_loss, trial_gradient)) = next else { break };
        let moved: Vec<f64> = trial.iter().zip(&at).map(|(a, b)| a - b).collect();
        let turned: Vec<f64> = trial_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        if dot(&moved, &turned) > 1e-12 {
            memory.push_back((moved, turned));
            if memory.len() > MEMORY {
                memory.pop_front();
            }
        }
        (at, loss, gradient) = (trial, trial_loss, trial_gradient);
        if length(&gradient) < ENOUGH * first {
            break;
        }
    }
    let bias = at.pop().unwrap_or_default();
    Weights { features: at, bias }
}

/// The loss at a point, and its gradient. The last coordinate is the bias, which has no penalty.
fn slope(examples: &[Example], at: &[f64], cost: f64) -> (f64, Vec<f64>) {
    let (bias, weights) = at.split_last().expect("a bias");
    let mut gradient = at.to_vec();
    let mut bias_gradient = 0.0;
    let mut loss = weights.iter().map(|w| w * w).sum::<f64>() / 2.0;
    for example in examples {
        let sum: f64 = example.features.iter().map(|f| weights[*f as usize]).sum();
        let sign = if example.positive { 1.0 } else { -1.0 };
        let margin = sign * (bias + example.value * sum);
        let error = if margin > 0.0 {
            let small = (-margin).exp();
            loss += cost * example.share * small.ln_1p();
            small / (1.0 + small)
        } else {
            let small = margin.exp();
            loss += cost * example.share * (small.ln_1p() - margin);
            1.0 / (1.0 + small)
        };
        let pull = -cost * example.share * sign * error;
        for feature in example.features {
            gradient[*feature as usize] += pull * example.value;
        }
        bias_gradient += pull;
    }
    *gradient.last_mut().expect("a bias") = bias_gradient;
    (loss, gradient)
}

fn direction(gradient: &[f64], memory: &VecDeque<(Vec<f64>, Vec<f64>)>) -> Vec<f64> {
    let mut out: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut shares = Vec::new();
    for (moved, turned) in memory.iter().rev() {
        let share = dot(moved, &out) / dot(moved, turned);
        add(&mut out, turned, -share);
        shares.push(share);
    }
    if let Some((moved, turned)) = memory.back() {
        let scale = dot(moved, turned) / dot(turned, turned);
        for o in &mut out {
            *o *= scale;
        }
    }
    for ((moved, turned), share) in memory.iter().zip(shares.iter().rev()) {
        let back = dot(turned, &out) / dot(moved, turned);
        add(&mut out, moved, share - back);
    }
    out
}

fn add(to: &mut [f64], from: &[f64], times: f64) {
    for (a, b) in to.iter_mut().zip(from) {
        *a += times * b;
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
