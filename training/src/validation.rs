//! Cross-validation with the program's own scorer: weights as integers, the rules and the rule for
//! texts of a few words included.

use std::borrow::Borrow;

use countersign_crisis::Concern;
use countersign_crisis::evidence::weigh;

use crate::model::Trained;
use crate::rows::{FOLDS, Row};
use crate::write::{QuantizedModel, ScoreThresholds};

/// How many hard look-alikes may be called possible, and likely.
const MOST_ALARMS: [f64; 2] = [0.15, 0.03];

/// What the program makes of a row.
#[derive(Clone, Copy)]
pub struct MeasuredRow {
    /// The score.
    pub score: i32,
    /// The concern.
    pub concern: Concern,
}

/// What the program would make of a row with this model.
pub fn measured(model: &QuantizedModel, row: &Row) -> MeasuredRow {
    let (concern, evidence) = weigh(&model.model(), &row.text, &row.by_rules);
    MeasuredRow { score: evidence.score, concern: concern.max(row.by_rules.concern) }
}

/// Each row by a model that was trained without its part. The concern is what is certain without
/// the score.
pub fn cross_validate<R: Borrow<Row>>(rows: &[R]) -> Vec<MeasuredRow> {
    by_parts(rows, |known| QuantizedModel::of(&Trained::on(known), ScoreThresholds::OFF))
}

/// Each row by a model whose weights and thresholds were both chosen without its part: the
/// thresholds come from a cross-validation among the other parts.
pub fn nested(rows: &[Row]) -> Vec<MeasuredRow> {
    by_parts(rows, trained)
}

/// A model with thresholds that are chosen among the same rows.
pub fn trained(rows: &[&Row]) -> QuantizedModel {
    let thresholds = thresholds(rows, &cross_validate(rows));
    QuantizedModel::of(&Trained::on(rows), thresholds)
}

fn by_parts<R: Borrow<Row>>(
    rows: &[R],
    train: impl Fn(&[&Row]) -> QuantizedModel,
) -> Vec<MeasuredRow> {
    let mut out = vec![MeasuredRow { score: 0, concern: Concern::None }; rows.len()];
    for part in 0..FOLDS {
        let all = rows.iter().map(Borrow::<Row>::borrow);
        let (own, known): (Vec<&Row>, Vec<&Row>) = all.partition(|row| row.fold == part);
        if own.is_empty() {
            continue;
        }
        let model = train(&known);
        for (row, measured_row) in rows.iter().zip(&mut out) {
            if row.borrow().fold == part {
                *measured_row = measured(&model, row.borrow());
            }
        }
    }
    out
}

/// Thresholds with as many false alarms as allowed among hard look-alikes. What is certain without
/// the score takes its share.
fn thresholds(rows: &[&Row], measured: &[MeasuredRow]) -> ScoreThresholds {
    let group = |english: bool| {
        let is_own =
            |row: &Row| !row.crisis && row.batch != "developer" && row.reads_english == english;
        let own = rows.iter().zip(measured).filter(|(row, _)| is_own(row));
        let own: Vec<MeasuredRow> = own.map(|(_, measured)| *measured).collect();
        let above = |least: Concern, share: f64| {
            let certain = |row: &MeasuredRow| row.concern >= least;
            let scores = own.iter().map(|row| if certain(row) { i32::MAX } else { row.score });
            exceeded(scores.collect(), share)
        };
        [above(Concern::Possible, MOST_ALARMS[0]), above(Concern::Likely, MOST_ALARMS[1])]
    };
    ScoreThresholds { english: group(true), others: group(false) }
}

/// The least threshold that at most this share of a list reaches.
fn exceeded(mut scores: Vec<i32>, share: f64) -> i32 {
    scores.sort_unstable_by(|a, b| b.cmp(a));
    #[expect(clippy::cast_precision_loss, reason = "a few thousand rows")]
    let place = share * scores.len() as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
    let place = place as usize;
    scores.get(place).copied().unwrap_or_default().saturating_add(1)
}

/// A batch that was not learned from, and what the program makes of its rows.
pub struct OtherBatch<'r> {
    /// What was learned from.
    pub known: &'static str,
    /// The batch that was measured.
    pub other: &'static str,
    /// Its rows.
    pub rows: Vec<(&'r Row, MeasuredRow)>,
}

/// Trains without a batch and measures it; also with one of the two test batches alone. Thresholds
/// come from what was learned from.
pub fn across_batches(rows: &[Row]) -> Vec<OtherBatch<'_>> {
    let one = |(known, other): (&'static str, &'static str)| {
        let is_known = |row: &&Row| {
            if known == ALL_OTHERS { row.batch != other } else { row.batch == known }
        };
        let learned: Vec<&Row> = rows.iter().filter(is_known).collect();
        let model = trained(&learned);
        let of_other = rows.iter().filter(|row| row.batch == other);
        let rows = of_other.map(|row| (row, measured(&model, row))).collect();
        OtherBatch { known, other, rows }
    };
    let ways =
        [("first", "second"), ("second", "first"), (ALL_OTHERS, "second"), (ALL_OTHERS, "first")];
    ways.into_iter().map(one).collect()
}

/// All batches but the one that is measured.
const ALL_OTHERS: &str = "all others";
