//! Writes the model as integers.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::logistic::Weights;
use crate::measure::Thresholds;
use crate::model::{CONCEPT_SHARE, RULE_FEATURES, Trained, rule_weight};

/// The files of the model.
pub struct ModelFiles {
    weights: Vec<u8>,
    model: String,
}

impl ModelFiles {
    /// Writes them.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        fs::write(folder.join("weights.bin"), &self.weights).map_err(|e| e.to_string())?;
        fs::write(folder.join("model.toml"), &self.model).map_err(|e| e.to_string())
    }

    /// Whether they are the files of a folder. A weight may differ by one step, because the
    /// logarithm of another machine may round another way.
    pub fn compare(&self, folder: &Path) -> Result<(), String> {
        let weights = fs::read(folder.join("weights.bin")).map_err(|e| e.to_string())?;
        let model = fs::read_to_string(folder.join("model.toml")).map_err(|e| e.to_string())?;
        let apart = |(a, b): (&u8, &u8)| a.cast_signed().abs_diff(b.cast_signed());
        let (most, changed) = weights
            .iter()
            .zip(&self.weights)
            .map(apart)
            .fold((0, 0_u32), |(most, changed), apart| {
                (apart.max(most), changed + u32::from(apart > 0))
            });
        if weights.len() != self.weights.len() || most > 1 || changed > 100 {
            return Err(format!("weights.bin is not what `train` writes: {changed} differ"));
        }
        if model != self.model {
            return Err(format!("model.toml is not what `train` writes:\n{}", self.model));
        }
        println!("weights.bin and model.toml are what `train` writes; {changed} weights differ");
        Ok(())
    }

    /// The files of a model.
    pub fn of(trained: &Trained, thresholds: &Thresholds) -> ModelFiles {
        let (weights, model) = model(trained, thresholds);
        ModelFiles { weights, model }
    }
}

fn model(trained: &Trained, thresholds: &Thresholds) -> (Vec<u8>, String) {
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
    (bytes, text)
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
