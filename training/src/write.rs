//! The model as the integers of the program, and its files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use countersign_crisis::evidence::model::{EvidenceModel, ModelNumbers};

use crate::logistic::Weights;
use crate::model::{CONCEPT_SHARE, Trained, rule_weight};

/// From which score a crisis is possible, and likely.
#[derive(Clone, Copy)]
pub struct ScoreThresholds {
    /// English.
    pub english: [i32; 2],
    /// Every other language.
    pub others: [i32; 2],
}

impl ScoreThresholds {
    /// No score reaches them: only what is certain without a score counts.
    pub const OFF: ScoreThresholds =
        ScoreThresholds { english: [i32::MAX; 2], others: [i32::MAX; 2] };
}

/// The integers of a model.
pub struct QuantizedModel {
    weights: Vec<u8>,
    numbers: ModelNumbers,
}

impl QuantizedModel {
    /// The integers of a trained model.
    pub fn of(trained: &Trained, thresholds: ScoreThresholds) -> QuantizedModel {
        let (mut weights, word_step) = quantized(&trained.words);
        let (concepts, concept_step) = quantized(&trained.concepts);
        weights.extend(concepts);
        let bias = trained.words.bias + CONCEPT_SHARE * trained.concepts.bias + trained.rules.bias;
        let rule = |feature: usize| thousandths(rule_weight(&trained.rules, feature));
        let numbers = ModelNumbers {
            word_scale: i64::from(thousandths(word_step * 1000.0)),
            concept_scale: i64::from(thousandths(concept_step * CONCEPT_SHARE * 1000.0)),
            bias: thousandths(bias),
            english: thresholds.english,
            others: thresholds.others,
            rules_lowered: rule(1),
            rules_crisis: rule(0),
            levels: [2, 3, 4, 5, 6, 7].map(rule),
            kinds: [8, 9, 10, 11, 12, 13, 14, 15].map(rule),
        };
        QuantizedModel { weights, numbers }
    }

    /// The model as the program reads it.
    pub fn model(&self) -> EvidenceModel<'_> {
        EvidenceModel { weights: &self.weights, numbers: self.numbers }
    }

    /// Its files.
    pub fn files(self) -> ModelFiles {
        let model = text(&self.numbers);
        ModelFiles { weights: self.weights, model }
    }
}

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
}

fn text(numbers: &ModelNumbers) -> String {
    let mut text = String::from(
        "# Written by `cargo run -p crisis-training -- train`. Scores are thousandths of a logit.\n",
    );
    let _ = writeln!(text, "word_scale = {}", numbers.word_scale);
    let _ = writeln!(text, "concept_scale = {}", numbers.concept_scale);
    let _ = writeln!(text, "bias = {}", numbers.bias);
    let _ = writeln!(text, "# Possible, likely.");
    let _ = writeln!(text, "english = {:?}", numbers.english);
    let _ = writeln!(text, "others = {:?}", numbers.others);
    let _ = writeln!(text, "rules_lowered = {}", numbers.rules_lowered);
    let _ = writeln!(text, "rules_crisis = {}", numbers.rules_crisis);
    let _ = writeln!(text, "levels = {:?}", numbers.levels);
    let _ = writeln!(text, "kinds = {:?}", numbers.kinds);
    text
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
fn thousandths(value: f64) -> i32 {
    (value * 1000.0).round() as i32
}
