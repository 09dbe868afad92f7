//! Cross-validation, thresholds and tables.

use std::collections::BTreeMap;

use crate::model::Trained;
use crate::rows::{FOLDS, Row};

/// From which score a crisis is possible, and likely.
pub struct Thresholds {
    /// English.
    pub english: [f64; 2],
    /// Every other language.
    pub others: [f64; 2],
}

/// How many hard look-alikes may be called possible, and likely: English, then other languages, of
/// which we have fewer rows about ordinary distress than people write.
const MOST_ALARMS: [[f64; 2]; 2] = [[0.15, 0.03], [0.15, 0.03]];

/// The score of each row by a model that was trained without its part.
pub fn cross_validate(rows: &[Row]) -> Vec<f64> {
    let mut scores = vec![0.0; rows.len()];
    for fold in 0..FOLDS {
        let known: Vec<&Row> = rows.iter().filter(|row| row.fold != fold).collect();
        let trained = Trained::on(&known);
        for (row, score) in rows.iter().zip(&mut scores).filter(|(row, _)| row.fold == fold) {
            *score = trained.score(row);
        }
    }
    scores
}

/// Thresholds with as many false alarms as allowed among hard look-alikes. A match of the rules is
/// always possible, so it takes its share.
pub fn thresholds(rows: &[Row], scores: &[f64]) -> Thresholds {
    let group = |english: bool| {
        let alike = |row: &Row| !row.crisis && row.batch != "developer";
        let own = rows.iter().zip(scores);
        let own = own.filter(|(row, _)| alike(row) && row.reads_english == english);
        let unless = |certain: bool, score: f64| if certain { f64::MAX } else { score };
        let possible = own.clone().map(|(row, score)| unless(row.by_rules.by_rules, *score));
        let likely = own.map(|(row, score)| unless(row.by_rules.crisis, *score));
        let (possible, likely) = (possible.collect(), likely.collect());
        let [most_possible, most_likely] = MOST_ALARMS[usize::from(!english)];
        [above(possible, most_possible), above(likely, most_likely)]
    };
    Thresholds { english: group(true), others: group(false) }
}

/// The score that this share of a list exceeds.
fn above(mut scores: Vec<f64>, share: f64) -> f64 {
    scores.sort_by(|a, b| b.total_cmp(a));
    #[expect(clippy::cast_precision_loss, reason = "a few thousand rows")]
    let place = share * scores.len() as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
    let place = place as usize;
    scores.get(place).copied().unwrap_or_default()
}

/// How many rows are called possible, and likely.
#[derive(Default)]
struct Count {
    rows: u32,
    possible: u32,
    likely: u32,
}

impl Count {
    fn add(&mut self, row: &Row, score: f64, thresholds: &Thresholds) {
        let [possible, likely] =
            if row.reads_english { thresholds.english } else { thresholds.others };
        self.rows += 1;
        self.possible += u32::from(score >= possible || row.by_rules.by_rules);
        self.likely += u32::from(score >= likely || row.by_rules.crisis);
    }

    fn shares(&self) -> String {
        let share = |n: u32| 100.0 * f64::from(n) / f64::from(self.rows.max(1));
        format!("{:5} {:5.1} {:5.1}", self.rows, share(self.possible), share(self.likely))
    }
}

/// Prints what is found and what is a false alarm, by batch and language.
pub fn report(rows: &[Row], scores: &[f64], thresholds: &Thresholds) {
    let mut groups: BTreeMap<String, [Count; 2]> = BTreeMap::new();
    for (row, score) in rows.iter().zip(scores) {
        let kind = if row.lang == "en" { "English" } else { "other languages" };
        for name in [format!("{} {kind}", row.batch), format!("~ {}", row.lang)] {
            let counts = groups.entry(name).or_default();
            counts[usize::from(!row.crisis)].add(row, *score, thresholds);
        }
    }
    println!("{:28} crisis rows possible likely % | look-alikes possible likely %", "");
    for (name, [crisis, alike]) in groups {
        println!("{name:28} {} | {}", crisis.shares(), alike.shares());
    }
}

/// Trains on one batch and measures the other, both ways.
pub fn across_batches(rows: &[Row], thresholds: &Thresholds) {
    for (known, other) in [("first", "second"), ("second", "first")] {
        let learned: Vec<&Row> = rows.iter().filter(|row| row.batch == known).collect();
        let trained = Trained::on(&learned);
        let (mut crisis, mut alike) =
            ([Count::default(), Count::default()], [Count::default(), Count::default()]);
        for row in rows.iter().filter(|row| row.batch == other) {
            let counts = if row.crisis { &mut crisis } else { &mut alike };
            counts[usize::from(row.lang != "en")].add(row, trained.score(row), thresholds);
        }
        println!("\nlearned from {known} alone, measured on {other}");
        for (name, at) in [("English", 0), ("other languages", 1)] {
            println!("{name:28} {} | {}", crisis[at].shares(), alike[at].shares());
        }
    }
}
