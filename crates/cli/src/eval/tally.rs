//! The numbers of one source: shares, tables, scores, misses, times. Memory is bounded.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::expectation::{Expectation, Metric};
use crate::engine::Tier;

/// How many labels and languages a source may have before the rest is combined.
const MOST_NAMES: usize = 64;
/// Bins of a tenth of a point, 0.0 to 4.0.
pub const BINS: usize = 41;

/// A share.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Share {
    /// Rows that met the expectation.
    pub met: u64,
    /// All rows.
    pub of: u64,
}

impl Share {
    /// Counts one.
    pub fn count(&mut self, met: bool) {
        self.of += 1;
        self.met += u64::from(met);
    }

    /// Adds another.
    pub fn add(&mut self, other: Share) {
        self.met += other.met;
        self.of += other.of;
    }

    /// Rows that missed the expectation.
    pub fn missed(self) -> u64 {
        self.of - self.met
    }

    /// In thousandths, rounded down so that 100 % means all; `None` without rows.
    pub fn thousandths(self) -> Option<u64> {
        (self.met * 1000).checked_div(self.of)
    }

    /// Whether a target is reached; without rows it is.
    pub fn reaches(self, wanted: u64) -> bool {
        self.met * 1000 >= wanted * self.of
    }
}

/// The shares of all metrics.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shares([Share; Metric::ALL.len()]);

impl Shares {
    /// Of one bar.
    pub fn of(&self, bar: Metric) -> Share {
        self.0.get(bar as usize).copied().unwrap_or_default()
    }

    /// Counts one row for a bar.
    pub fn count(&mut self, bar: Metric, met: bool) {
        if let Some(share) = self.0.get_mut(bar as usize) {
            share.count(met);
        }
    }

    /// Adds another set.
    pub fn add(&mut self, other: &Shares) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            mine.add(theirs);
        }
    }
}

/// A row that missed its expectation.
#[derive(Debug, Clone)]
pub struct Miss {
    /// Line in its file.
    pub line: u64,
    /// By how many tiers (for texts: 1).
    pub short_by: u8,
    /// The expectation.
    pub expectation: Expectation,
    /// Its label.
    pub label: String,
    /// Its assessment.
    pub assessed: String,
    /// The row, truncated.
    pub text: String,
    /// Why it has this label, truncated.
    pub why: String,
    /// The reasons of the assessment.
    pub reasons: Vec<String>,
}

/// The worst few, worst first.
#[derive(Debug, Default)]
pub struct Worst {
    list: Vec<Miss>,
    room: usize,
}

impl Worst {
    fn keep(&mut self, short_by: u8, miss: impl FnOnce() -> Miss) {
        let at = self.list.partition_point(|m| m.short_by >= short_by);
        if at < self.room {
            self.list.insert(at, miss());
            self.list.truncate(self.room);
        }
    }

    /// The list.
    pub fn list(&self) -> &[Miss] {
        &self.list
    }
}

/// Times in buckets, each within 4 % of the next: medians without storing every time.
#[derive(Debug, Clone)]
pub struct TimeHistogram {
    buckets: BTreeMap<u32, u64>,
    count: u64,
}

impl TimeHistogram {
    const NONE: TimeHistogram = TimeHistogram { buckets: BTreeMap::new(), count: 0 };

    fn add(&mut self, time: Duration) {
        let nanos = u32::try_from(time.as_nanos()).unwrap_or(u32::MAX).max(1);
        let drop = (u32::BITS - nanos.leading_zeros()).saturating_sub(6);
        *self.buckets.entry((nanos >> drop) << drop).or_default() += 1;
        self.count += 1;
    }

    /// Adds the times of another histogram.
    pub fn merge(&mut self, other: &TimeHistogram) {
        for (&bucket, &count) in &other.buckets {
            *self.buckets.entry(bucket).or_default() += count;
        }
        self.count += other.count;
    }

    /// The given quantile in thousandths, in nanoseconds.
    pub fn quantile(&self, thousandths: u64) -> u32 {
        let rank = (self.count * thousandths).div_ceil(1000).max(1);
        let mut passed = 0;
        for (&bucket, &count) in &self.buckets {
            passed += count;
            if passed >= rank {
                return bucket;
            }
        }
        0
    }
}

/// The scores of the rows of a source.
#[derive(Debug, Clone)]
pub struct Scores {
    /// Rows that should ask.
    pub ask: [u64; BINS],
    /// Rows that should pass.
    pub pass: [u64; BINS],
}

/// The kind of rows of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// Shell commands.
    Commands,
    /// Tool calls.
    ToolCalls,
    /// Messages.
    Texts,
}

/// One assessed row for the tally.
pub struct EvaluatedResult<'a> {
    /// The expectation.
    pub expectation: Expectation,
    /// Its label.
    pub label: &'a str,
    /// A harmless row that looks dangerous.
    pub look_alike: bool,
    /// Its language, for texts.
    pub lang: &'a str,
    /// Its tier; for texts the column they fall into.
    pub column: usize,
    /// Hundredths of a point, for calls.
    pub points: Option<u16>,
    /// Whether it met the expectation.
    pub short_by: u8,
    /// Whether a person would be asked (a text: found).
    pub asks: bool,
    /// How long the assessment took.
    pub time: Duration,
}

/// The numbers of one source and kind.
#[derive(Debug)]
pub struct Tally {
    /// The source: its file name without extension.
    pub name: String,
    /// The kind of its rows.
    pub kind: RowKind,
    /// Assessed rows.
    pub rows: u64,
    /// Rows without an expectation.
    pub no_bar: u64,
    /// Rows on which the sources disagree.
    pub disputed: u64,
    /// Rows that ask.
    pub asks: u64,
    /// Rows with an expectation: should ask and asks, should and does not, should not and asks,
    /// neither.
    pub confusion: [[u64; 2]; 2],
    /// All metrics.
    pub shares: Shares,
    /// Label → how many in each tier (texts: not found, found).
    pub table: BTreeMap<String, [u64; 5]>,
    /// Language → found.
    pub languages: BTreeMap<String, Share>,
    /// Scores of calls.
    pub scores: Scores,
    /// Dangerous rows that passed.
    pub missed: Worst,
    /// Harmless rows that asked, and other misses.
    pub alarms: Worst,
    /// Times.
    pub times: TimeHistogram,
}

impl Tally {
    /// An empty tally that keeps `room` misses of each sort.
    pub fn new(name: String, kind: RowKind, room: usize) -> Tally {
        let worst = || Worst { list: Vec::new(), room };
        Tally {
            name,
            kind,
            rows: 0,
            no_bar: 0,
            disputed: 0,
            asks: 0,
            confusion: [[0; 2]; 2],
            shares: Shares::default(),
            table: BTreeMap::new(),
            languages: BTreeMap::new(),
            scores: Scores { ask: [0; BINS], pass: [0; BINS] },
            missed: worst(),
            alarms: worst(),
            times: TimeHistogram::NONE,
        }
    }

    /// Counts one row; `miss` is called only if the row is kept.
    pub fn count(&mut self, row: &EvaluatedResult<'_>, miss: impl FnOnce() -> Miss) {
        self.rows += 1;
        self.asks += u64::from(row.asks);
        self.times.add(row.time);
        let entry = entry(&mut self.table, row.label);
        if let Some(cell) = entry.get_mut(row.column) {
            *cell += 1;
        }
        let met = row.short_by == 0;
        self.count_bars(row, met);
        let Some(should) = row.expectation.should_ask() else {
            if !met {
                self.alarms.keep(row.short_by, miss);
            }
            return;
        };
        let cell = self.confusion.get_mut(usize::from(!should));
        if let Some(cell) = cell.and_then(|cells| cells.get_mut(usize::from(!row.asks))) {
            *cell += 1;
        }
        if let Some(points) = row.points {
            let bins = if should { &mut self.scores.ask } else { &mut self.scores.pass };
            if let Some(bin) = bins.get_mut(usize::from(points / 10)) {
                *bin += 1;
            }
        }
        if !met {
            let list = if should { &mut self.missed } else { &mut self.alarms };
            list.keep(row.short_by, miss);
        }
    }

    fn count_bars(&mut self, row: &EvaluatedResult<'_>, met: bool) {
        match row.expectation {
            Expectation::Question => self.shares.count(Metric::Caught, met),
            Expectation::LoudQuestion => {
                self.shares.count(Metric::Caught, row.column >= Tier::Medium as usize);
                self.shares.count(Metric::Loud, met);
            }
            Expectation::Pass => {
                self.shares.count(Metric::Passed, met);
                if row.look_alike {
                    self.shares.count(Metric::LookAlikes, met);
                }
            }
            Expectation::Near(_) => self.shares.count(Metric::Near, met),
            Expectation::Notice => self.shares.count(Metric::Noticed, met),
            Expectation::NotFound => self.shares.count(Metric::LeftAlone, met),
            Expectation::Found => {
                let bar = if row.lang == "en" { Metric::FoundEnglish } else { Metric::FoundOther };
                self.shares.count(bar, met);
                entry(&mut self.languages, row.lang).count(met);
            }
            Expectation::Nothing => self.no_bar += 1,
        }
    }
}

/// The entry of a name; past the limit all further names share one.
fn entry<'a, T: Default>(map: &'a mut BTreeMap<String, T>, name: &str) -> &'a mut T {
    let known = map.len() < MOST_NAMES || map.contains_key(name);
    let name = if known { name.chars().take(40).collect() } else { "(other)".to_owned() };
    map.entry(name).or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_bucket() {
        let mut times = TimeHistogram::NONE;
        for nanos in 1..=1000 {
            times.add(Duration::from_nanos(nanos));
        }
        assert!((480..=500).contains(&times.quantile(500)), "{}", times.quantile(500));
        assert!((958..=990).contains(&times.quantile(990)), "{}", times.quantile(990));
    }

    #[test]
    fn a_share_is_rounded_down() {
        let share = Share { met: 1999, of: 2000 };
        assert_eq!(share.thousandths(), Some(999));
        assert!(!share.reaches(1000) && share.reaches(999));
        assert_eq!(Share::default().thousandths(), None);
    }
}
