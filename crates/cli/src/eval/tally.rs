//! The numbers of one source: shares, tables, scores, misses, times. Memory stays bounded.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::owed::{Bar, Owed};
use crate::core_api::Tier;

/// How many labels and languages a source may have before the rest is put together.
const MOST_NAMES: usize = 64;
/// Bins of a tenth of a point, 0.0 to 4.0.
pub const BINS: usize = 41;

/// How many of how many.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Share {
    /// That met the bar.
    pub met: u64,
    /// Of these.
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

    /// How many did not.
    pub fn missed(self) -> u64 {
        self.of - self.met
    }

    /// In thousandths, rounded down so that 100 % means all; none of nothing.
    pub fn thousandths(self) -> Option<u64> {
        (self.met * 1000).checked_div(self.of)
    }

    /// Whether a wanted share is reached; nothing to measure misses nothing.
    pub fn reaches(self, wanted: u64) -> bool {
        self.met * 1000 >= wanted * self.of
    }
}

/// Shares of every bar.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shares([Share; Bar::ALL.len()]);

impl Shares {
    /// Of one bar.
    pub fn of(&self, bar: Bar) -> Share {
        self.0.get(bar as usize).copied().unwrap_or_default()
    }

    /// Counts one row for a bar.
    pub fn count(&mut self, bar: Bar, met: bool) {
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

/// A row that was not paid what it was owed.
#[derive(Debug, Clone)]
pub struct Miss {
    /// Line in its file.
    pub line: u64,
    /// By how many tiers (for texts: 1).
    pub short_by: u8,
    /// What was owed.
    pub owed: Owed,
    /// What it was labelled.
    pub label: String,
    /// What it was judged.
    pub judged: String,
    /// The row, cut.
    pub text: String,
    /// Why it was labelled so, cut.
    pub why: String,
    /// What the judgement gave as reasons.
    pub reasons: Vec<String>,
}

/// The worst few, worst first, first come first.
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

/// Times in buckets, each within 4 % of the next: medians without keeping every time.
#[derive(Debug, Clone)]
pub struct Times {
    buckets: BTreeMap<u32, u64>,
    count: u64,
}

impl Times {
    const NONE: Times = Times { buckets: BTreeMap::new(), count: 0 };

    fn add(&mut self, time: Duration) {
        let nanos = u32::try_from(time.as_nanos()).unwrap_or(u32::MAX).max(1);
        let drop = (u32::BITS - nanos.leading_zeros()).saturating_sub(6);
        *self.buckets.entry((nanos >> drop) << drop).or_default() += 1;
        self.count += 1;
    }

    /// Takes in the times of another.
    pub fn merge(&mut self, other: &Times) {
        for (&bucket, &count) in &other.buckets {
            *self.buckets.entry(bucket).or_default() += count;
        }
        self.count += other.count;
    }

    /// The time that so many thousandths of the rows do not exceed, in nanoseconds.
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

/// How the rows of a source scored.
#[derive(Debug, Clone)]
pub struct Scores {
    /// Rows that should be asked about.
    pub ask: [u64; BINS],
    /// Rows that should pass.
    pub pass: [u64; BINS],
}

/// What kind of rows a source holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Shell commands.
    Commands,
    /// Tool calls.
    ToolCalls,
    /// Messages.
    Texts,
}

/// One judged row, as the tally needs it.
pub struct Judged<'a> {
    /// What it is owed.
    pub owed: Owed,
    /// Its label.
    pub label: &'a str,
    /// A harmless row that looks like a danger.
    pub look_alike: bool,
    /// Its language, for texts.
    pub lang: &'a str,
    /// Its tier; for texts the column they fall into.
    pub column: usize,
    /// Hundredths of a point, for calls.
    pub points: Option<u16>,
    /// Whether it met the bar.
    pub short_by: u8,
    /// Whether a person would be asked (a text: found).
    pub asks: bool,
    /// How long the judgement took.
    pub time: Duration,
}

/// The numbers of one source and kind.
#[derive(Debug)]
pub struct Tally {
    /// The source's name: its file without ending.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Rows judged.
    pub rows: u64,
    /// Rows without a bar.
    pub no_bar: u64,
    /// Rows of which the sources disagree.
    pub disputed: u64,
    /// Rows a person would be asked about.
    pub asks: u64,
    /// Rows with a bar: should ask and asks, should and does not, should not and asks, neither.
    pub confusion: [[u64; 2]; 2],
    /// All bars.
    pub shares: Shares,
    /// Label → how many in each tier (texts: not found, found).
    pub table: BTreeMap<String, [u64; 5]>,
    /// Language → found.
    pub languages: BTreeMap<String, Share>,
    /// Scores of calls.
    pub scores: Scores,
    /// Dangers that passed.
    pub missed: Worst,
    /// Harmless rows that were asked about, and the other bars.
    pub alarms: Worst,
    /// Times.
    pub times: Times,
}

impl Tally {
    /// An empty tally that keeps `room` misses of each sort.
    pub fn new(name: String, kind: Kind, room: usize) -> Tally {
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
            times: Times::NONE,
        }
    }

    /// Counts one row; `miss` is asked for only if it is kept.
    pub fn count(&mut self, row: &Judged<'_>, miss: impl FnOnce() -> Miss) {
        self.rows += 1;
        self.asks += u64::from(row.asks);
        self.times.add(row.time);
        let entry = entry(&mut self.table, row.label);
        if let Some(cell) = entry.get_mut(row.column) {
            *cell += 1;
        }
        let met = row.short_by == 0;
        self.count_bars(row, met);
        let Some(should) = row.owed.should_ask() else {
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

    fn count_bars(&mut self, row: &Judged<'_>, met: bool) {
        match row.owed {
            Owed::Question => self.shares.count(Bar::Caught, met),
            Owed::LoudQuestion => {
                self.shares.count(Bar::Caught, row.column >= Tier::Medium as usize);
                self.shares.count(Bar::Loud, met);
            }
            Owed::Pass => {
                self.shares.count(Bar::Passed, met);
                if row.look_alike {
                    self.shares.count(Bar::LookAlikes, met);
                }
            }
            Owed::Near(_) => self.shares.count(Bar::Near, met),
            Owed::Notice => self.shares.count(Bar::Noticed, met),
            Owed::NotFound => self.shares.count(Bar::LeftAlone, met),
            Owed::Found => {
                let bar = if row.lang == "en" { Bar::FoundEnglish } else { Bar::FoundOther };
                self.shares.count(bar, met);
                entry(&mut self.languages, row.lang).count(met);
            }
            Owed::Nothing => self.no_bar += 1,
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
        let mut times = Times::NONE;
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
