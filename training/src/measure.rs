//! Cross-validation, thresholds and tables.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::model::Trained;
use crate::plot::Curve;
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

/// The batches that were written as tests.
const TESTS: [&str; 2] = ["first", "second"];

/// The score of each row by a model that was trained without its part.
pub fn cross_validate<R: Borrow<Row>>(rows: &[R]) -> Vec<f64> {
    let mut scores = vec![0.0; rows.len()];
    for fold in 0..FOLDS {
        let all = rows.iter().map(Borrow::borrow);
        let known: Vec<&Row> = all.filter(|row: &&Row| row.fold != fold).collect();
        let trained = Trained::on(&known);
        for (row, score) in rows.iter().zip(&mut scores) {
            let row: &Row = row.borrow();
            if row.fold == fold {
                *score = trained.score(row);
            }
        }
    }
    scores
}

/// Thresholds with as many false alarms as allowed among hard look-alikes. A match of the rules is
/// always possible, so it takes its share.
pub fn thresholds<R: Borrow<Row>>(rows: &[R], scores: &[f64]) -> Thresholds {
    let group = |english: bool| {
        let alike = |row: &Row| !row.crisis && row.batch != "developer";
        let own = rows.iter().map(Borrow::<Row>::borrow).zip(scores);
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

    fn share(&self, count: u32) -> f64 {
        100.0 * f64::from(count) / f64::from(self.rows.max(1))
    }

    fn shares(&self) -> String {
        let (possible, likely) = (self.share(self.possible), self.share(self.likely));
        format!("{:5} {possible:5.1} {likely:5.1}", self.rows)
    }

    /// Three cells of a table.
    fn cells(&self) -> String {
        let (possible, likely) = (self.share(self.possible), self.share(self.likely));
        format!("{} | {possible:.1} % | {likely:.1} %", self.rows)
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

/// A batch that was not learned from, and what is found in it.
pub struct OtherBatch {
    /// The batch that was learned from.
    pub known: &'static str,
    /// The batch that was measured.
    pub other: &'static str,
    /// English, then the other languages: crises, then look-alikes.
    counts: [[Count; 2]; 2],
}

/// Trains on one batch and measures the other, both ways. The thresholds come from the batch that
/// was learned from, as in `train`.
pub fn across_batches(rows: &[Row]) -> Vec<OtherBatch> {
    let one = |(known, other): (&'static str, &'static str)| {
        let learned: Vec<&Row> = rows.iter().filter(|row| row.batch == known).collect();
        let thresholds = thresholds(&learned, &cross_validate(&learned));
        let trained = Trained::on(&learned);
        let mut counts: [[Count; 2]; 2] = Default::default();
        for row in rows.iter().filter(|row| row.batch == other) {
            let count = &mut counts[usize::from(row.lang != "en")][usize::from(!row.crisis)];
            count.add(row, trained.score(row), &thresholds);
        }
        OtherBatch { known, other, counts }
    };
    [("first", "second"), ("second", "first")].into_iter().map(one).collect()
}

/// Prints what is found in a batch that was not learned from.
pub fn report_other(list: &[OtherBatch]) {
    for OtherBatch { known, other, counts } in list {
        println!("\nlearned from {known} alone, measured on {other}");
        for (name, [crisis, alike]) in ["English", "other languages"].iter().zip(counts) {
            println!("{name:28} {} | {}", crisis.shares(), alike.shares());
        }
    }
}

/// The tables of the documentation: by language, and for a batch that was not learned from.
pub fn tables(
    rows: &[Row],
    scores: &[f64],
    thresholds: &Thresholds,
    others: &[OtherBatch],
) -> String {
    let head = "crises | possible | likely | look-alikes | possible | likely |";
    let line = "| --- | --- | --- | --- | --- | --- | --- |";
    let mut out = format!("| language | {head}\n{line}\n");
    for lang in languages(rows) {
        let mut counts: [Count; 2] = Default::default();
        for (row, score) in of_language(rows, scores, &lang) {
            counts[usize::from(!row.crisis)].add(row, score, thresholds);
        }
        let [crisis, alike] = counts.map(|count| count.cells());
        let _ = writeln!(out, "| {} | {crisis} | {alike} |", name(&lang));
    }
    let _ = write!(
        out,
        "\nLearned from one of the two batches alone, with thresholds from that batch, and measured \
         on the other one, which other people wrote:\n\n\
         | learned from, measured on | {head}\n{line}\n"
    );
    for OtherBatch { known, other, counts } in others {
        for (group, [crisis, alike]) in ["English", "other languages"].iter().zip(counts) {
            let (crisis, alike) = (crisis.cells(), alike.cells());
            let _ = writeln!(out, "| {known}, {other}: {group} | {crisis} | {alike} |");
        }
    }
    out
}

/// The curve of each language, English first.
pub fn curves(rows: &[Row], scores: &[f64], thresholds: &Thresholds) -> Vec<Curve> {
    languages(rows)
        .iter()
        .map(|lang| {
            let own = of_language(rows, scores, lang);
            let mut counts: [Count; 2] = Default::default();
            for (row, score) in &own {
                counts[usize::from(!row.crisis)].add(row, *score, thresholds);
            }
            let [crisis, alike] = counts;
            let in_use = [
                (alike.share(alike.possible), crisis.share(crisis.possible)),
                (alike.share(alike.likely), crisis.share(crisis.likely)),
            ];
            Curve { title: name(lang).to_owned(), points: falling(own, &crisis, &alike), in_use }
        })
        .collect()
}

/// What is found, and what is a false alarm, as the threshold falls.
fn falling(mut rows: Vec<(&Row, f64)>, crisis: &Count, alike: &Count) -> Vec<(f64, f64)> {
    rows.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let (mut found, mut alarms, mut points) = (0, 0, vec![(0.0, 0.0)]);
    for (row, _) in rows {
        if row.crisis {
            found += 1;
        } else {
            alarms += 1;
        }
        points.push((alike.share(alarms), crisis.share(found)));
    }
    points
}

/// The languages of the batches that were written as tests, English first.
fn languages(rows: &[Row]) -> Vec<String> {
    let tests = rows.iter().filter(|row| TESTS.contains(&row.batch.as_str()));
    let found: BTreeSet<&str> = tests.map(|row| row.lang.as_str()).collect();
    let mut list: Vec<String> = found.into_iter().map(str::to_owned).collect();
    list.sort_by_key(|lang| (lang != "en", name(lang).to_owned()));
    list
}

fn of_language<'r>(rows: &'r [Row], scores: &[f64], lang: &str) -> Vec<(&'r Row, f64)> {
    let own = rows.iter().zip(scores.iter().copied());
    own.filter(|(row, _)| row.lang == lang && TESTS.contains(&row.batch.as_str())).collect()
}

/// The English name of a language.
fn name(lang: &str) -> &str {
    NAMES.iter().find(|(code, _)| *code == lang).map_or(lang, |(_, name)| name)
}

const NAMES: [(&str, &str); 32] = [
    ("ar", "Arabic"),
    ("bn", "Bengali"),
    ("cs", "Czech"),
    ("de", "German"),
    ("el", "Greek"),
    ("en", "English"),
    ("es", "Spanish"),
    ("fa", "Persian"),
    ("fr", "French"),
    ("he", "Hebrew"),
    ("hi", "Hindi"),
    ("hu", "Hungarian"),
    ("id", "Indonesian"),
    ("it", "Italian"),
    ("ja", "Japanese"),
    ("ko", "Korean"),
    ("ms", "Malay"),
    ("nl", "Dutch"),
    ("pl", "Polish"),
    ("pt", "Portuguese"),
    ("ro", "Romanian"),
    ("ru", "Russian"),
    ("sv", "Swedish"),
    ("sw", "Swahili"),
    ("ta", "Tamil"),
    ("th", "Thai"),
    ("tl", "Filipino"),
    ("tr", "Turkish"),
    ("uk", "Ukrainian"),
    ("ur", "Urdu"),
    ("vi", "Vietnamese"),
    ("zh", "Chinese"),
];
