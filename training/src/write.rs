//! Writes the model as integers.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::logistic::Weights;
use crate::measure::Thresholds;
use crate::model::{CONCEPT_SHARE, RULE_FEATURES, Trained, rule_weight};

/// Writes `weights.bin` and `model.toml`.
pub fn model(folder: &Path, trained: &Trained, thresholds: &Thresholds) -> Result<(), String> {
    let (mut bytes, word_step) = quantized(&trained.words);
    let (concepts, concept_step) = quantized(&trained.concepts);
    bytes.extend(concepts);
    let bias = trained.words.bias + CONCEPT_SHARE * trained.concepts.bias + trained.rules.bias;
    let rule = |feature: usize| thousandths(rule_weight(&trained.rules, feature));
    let levels: Vec<i64> = (2..8).map(rule).collect();
    let kinds: Vec<i64> = (8..RULE_FEATURES).map(rule).collect();
    let mut text = String::from(
        "# Written by `cargo run -p crisis-training -- train`. Scores are thousandths of a logit.\n",
    );
    let _ = writeln!(text, "word_scale = {}", thousandths(word_step * 1000.0));
    let _ =
        writeln!(text, "concept_scale = {}", thousandths(concept_step * CONCEPT_SHARE * 1000.0));
    let _ = writeln!(text, "bias = {}", thousandths(bias));
    let _ = writeln!(text, "# Possible, likely.");
    let _ = writeln!(text, "english = {:?}", thresholds.english.map(thousandths));
    let _ = writeln!(text, "others = {:?}", thresholds.others.map(thousandths));
    let _ = writeln!(text, "rules_silent = 0");
    let _ = writeln!(text, "rules_lowered = {}", rule(1));
    let _ = writeln!(text, "rules_crisis = {}", rule(0));
    let _ = writeln!(text, "levels = {levels:?}");
    let _ = writeln!(text, "kinds = {kinds:?}");
    fs::write(folder.join("weights.bin"), bytes).map_err(|e| e.to_string())?;
    fs::write(folder.join("model.toml"), text).map_err(|e| e.to_string())
}

/// Signed bytes, and the weight of one step.
fn quantized(weights: &Weights) -> (Vec<u8>, f64) {
    let most = weights.features.iter().fold(0.0_f64, |most, w| most.max(w.abs()));
    let step = (most / 127.0).max(1e-9);
    #[expect(clippy::cast_possible_truncation, reason = "between -127 and 127")]
    let byte = |w: &f64| ((w / step).round() as i8).cast_unsigned();
    (weights.features.iter().map(byte).collect(), step)
}

#[expect(clippy::cast_possible_truncation, reason = "scores are small")]
fn thousandths(value: f64) -> i64 {
    (value * 1000.0).round() as i64
}
