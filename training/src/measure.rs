//! Counts, bars and tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use countersign_crisis::Concern;

use crate::plot::Curve;
use crate::rows::Row;
use crate::validation::{MeasuredRow, OtherBatch};

/// The batches that were written as tests.
const TESTS: [&str; 2] = ["first", "second"];
/// English and the other languages, as titles.
const GROUPS: [&str; 2] = ["English", "other languages"];
/// Found crises at least, and look-alikes called a crisis at most: possible, likely, in percent.
const BARS: [([f64; 2], [f64; 2]); 2] = [([86.0, 55.0], [15.0, 3.0]), ([75.0, 45.0], [15.0, 3.0])];

/// How many rows are called possible, and likely.
#[derive(Default)]
struct Count {
    rows: u32,
    possible: u32,
    likely: u32,
}

impl Count {
    fn add(&mut self, measured: MeasuredRow) {
        self.rows += 1;
        self.possible += u32::from(measured.concern >= Concern::Possible);
        self.likely += u32::from(measured.concern >= Concern::Likely);
    }

    fn share(&self, count: u32) -> f64 {
        100.0 * f64::from(count) / f64::from(self.rows.max(1))
    }

    fn both(&self) -> [f64; 2] {
        [self.share(self.possible), self.share(self.likely)]
    }

    fn shares(&self) -> String {
        let [possible, likely] = self.both();
        format!("{:5} {possible:5.1} {likely:5.1}", self.rows)
    }

    /// Three cells of a table.
    fn cells(&self) -> String {
        let [possible, likely] = self.both();
        format!("{} | {possible:.1} % | {likely:.1} %", self.rows)
    }
}

/// Crises and look-alikes of a few rows.
fn counts<'r>(rows: impl IntoIterator<Item = (&'r Row, MeasuredRow)>) -> [Count; 2] {
    let mut counts: [Count; 2] = Default::default();
    for (row, measured) in rows {
        counts[usize::from(!row.crisis)].add(measured);
    }
    counts
}

/// English, then the other languages, of the batches that were written as tests.
fn groups(rows: &[Row], measured: &[MeasuredRow]) -> [[Count; 2]; 2] {
    [true, false].map(|english| {
        let own = rows.iter().zip(measured.iter().copied());
        counts(own.filter(|(row, _)| is_test(row) && (row.lang == "en") == english))
    })
}

fn is_test(row: &Row) -> bool {
    TESTS.contains(&row.batch.as_str())
}

/// Prints what is found and what is a false alarm, by batch and language.
pub fn report(rows: &[Row], measured: &[MeasuredRow]) {
    let mut groups: BTreeMap<String, Vec<(&Row, MeasuredRow)>> = BTreeMap::new();
    for (row, measured) in rows.iter().zip(measured) {
        let kind = GROUPS[usize::from(row.lang != "en")];
        for name in [format!("{} {kind}", row.batch), format!("~ {}", row.lang)] {
            groups.entry(name).or_default().push((row, *measured));
        }
    }
    println!("{:28} crisis rows possible likely % | look-alikes possible likely %", "");
    for (name, rows) in groups {
        let [crisis, alike] = counts(rows);
        println!("{name:28} {} | {}", crisis.shares(), alike.shares());
    }
}

/// Whether the figures of the test batches meet every bar.
pub fn bars(rows: &[Row], measured: &[MeasuredRow]) -> Result<(), String> {
    let mut missed = String::new();
    let groups = groups(rows, measured);
    for ((name, [crisis, alike]), (found, alarms)) in GROUPS.iter().zip(groups).zip(BARS) {
        for (at, level) in ["possible", "likely"].iter().enumerate() {
            if crisis.both()[at] < found[at] {
                let _ = write!(missed, "; {name}: crises {level} {:.1} %", crisis.both()[at]);
            }
            if alike.both()[at] > alarms[at] {
                let _ = write!(missed, "; {name}: look-alikes {level} {:.1} %", alike.both()[at]);
            }
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("bars not met{missed}")) }
}

/// Prints what is found in a batch that was not learned from.
pub fn report_other(list: &[OtherBatch<'_>]) {
    for batch in list {
        println!("\nlearned from {}, measured on {}", batch.known, batch.other);
        for (name, [crisis, alike]) in GROUPS.iter().zip(of_other(batch)) {
            println!("{name:28} {} | {}", crisis.shares(), alike.shares());
        }
    }
}

fn of_other(batch: &OtherBatch<'_>) -> [[Count; 2]; 2] {
    [true, false].map(|english| {
        let own = batch.rows.iter().copied();
        counts(own.filter(|(row, _)| (row.lang == "en") == english))
    })
}

/// The tables of the documentation: by share of false alarms, at the thresholds, by language, and
/// for a batch that was not learned from.
pub fn tables(rows: &[Row], measured: &[MeasuredRow], others: &[OtherBatch<'_>]) -> String {
    let mut out = trade_off(rows, measured);
    let head = "crises | possible | likely | look-alikes | possible | likely |";
    let line = "| --- | --- | --- | --- | --- | --- | --- |";
    let _ = write!(
        out,
        "\nBy score alone; the rules find more of what they were written for. With the thresholds, \
         which are in\n`crates/crisis/evidence/model.toml`, and the rules, on the {} rows of the \
         two batches that were written as tests:\n\n| | {head}\n{line}\n",
        rows.iter().filter(|row| is_test(row)).count()
    );
    for (name, [crisis, alike]) in GROUPS.iter().zip(groups(rows, measured)) {
        let _ = writeln!(out, "| {name} | {} | {} |", crisis.cells(), alike.cells());
    }
    let _ = write!(
        out,
        "\nThe same by language. Where a language has few rows, one of them is several percent.\n\n\
         ![Crises found against look-alikes called a crisis, one plot for each \
         language](pictures/crisis-trade-off.svg)\n\n| language | {head}\n{line}\n"
    );
    for lang in languages(rows) {
        let [crisis, alike] = counts(of_language(rows, measured, &lang));
        let _ = writeln!(out, "| {} | {} | {} |", name(&lang), crisis.cells(), alike.cells());
    }
    let _ = write!(
        out,
        "\nMeasured on a batch that was not learned from: with one of the two test batches alone, \
         and with all batches but the measured\none. The thresholds come from what was learned \
         from.\n\n\
         | learned from, measured on | {head}\n{line}\n"
    );
    for batch in others {
        for (group, [crisis, alike]) in GROUPS.iter().zip(of_other(batch)) {
            let (known, other) = (batch.known, batch.other);
            let (crisis, alike) = (crisis.cells(), alike.cells());
            let _ = writeln!(out, "| {known}, {other}: {group} | {crisis} | {alike} |");
        }
    }
    out
}

/// How much is found at a share of false alarms, by score alone.
fn trade_off(rows: &[Row], measured: &[MeasuredRow]) -> String {
    let curves = [true, false].map(|english| {
        let own = rows.iter().zip(measured.iter().copied());
        falling(own.filter(|(row, _)| is_test(row) && (row.lang == "en") == english).collect())
    });
    let mut out = String::from(
        "| look-alikes called a crisis | English found | other languages found |\n\
         | --- | --- | --- |\n",
    );
    for alarms in [1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0] {
        let found = |points: &[(f64, f64)]| {
            let within = points.iter().filter(|(share, _)| *share <= alarms);
            within.map(|(_, found)| *found).fold(0.0, f64::max)
        };
        let [english, others] = [found(&curves[0]), found(&curves[1])];
        let _ = writeln!(out, "| {alarms} % | {english:.1} % | {others:.1} % |");
    }
    out
}

/// The curve of each language, English first.
pub fn curves(rows: &[Row], measured: &[MeasuredRow]) -> Vec<Curve> {
    languages(rows)
        .iter()
        .map(|lang| {
            let own = of_language(rows, measured, lang);
            let [crisis, alike] = counts(own.clone());
            let (found, alarms) = (crisis.both(), alike.both());
            let in_use = [(alarms[0], found[0]), (alarms[1], found[1])];
            Curve { title: name(lang).to_owned(), points: falling(own), in_use }
        })
        .collect()
}

/// What is found, and what is a false alarm, as the threshold falls.
fn falling(mut rows: Vec<(&Row, MeasuredRow)>) -> Vec<(f64, f64)> {
    let [crisis, alike] = counts(rows.clone());
    rows.sort_by_key(|(_, measured)| std::cmp::Reverse(measured.score));
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

fn of_language<'r>(
    rows: &'r [Row],
    measured: &[MeasuredRow],
    lang: &str,
) -> Vec<(&'r Row, MeasuredRow)> {
    let own = rows.iter().zip(measured.iter().copied());
    own.filter(|(row, _)| row.lang == lang && is_test(row)).collect()
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
