//! The counters themselves, without locks and without output.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;

/// Hours that are remembered one by one.
const HOURS: usize = 24;
/// An hour in milliseconds.
pub const HOUR: i64 = 3_600_000;
const BOUNDS: usize = 9;
/// Upper bounds of answer times, in seconds.
pub const ANSWERED: [f64; BOUNDS] = [1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0];
/// Upper bounds of the times of a guard model and of the model judge, in seconds.
pub const MODEL: [f64; BOUNDS] = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0];
/// Upper bounds of store writes, in seconds.
pub const WRITTEN: [f64; BOUNDS] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 2.0];

/// All counters.
#[derive(Debug, Default)]
pub struct Counts {
    /// By name of the family and its labels.
    pub totals: BTreeMap<(&'static str, String), u64>,
    /// What is counted with every call, by labels that are written only when they are read.
    per_call: Vec<(PerCallCount, u64)>,
    pub agents: BTreeMap<String, u64>,
    /// How long the guard model took, by family.
    pub guards: BTreeMap<&'static str, Histogram>,
    /// How long the model judge took.
    pub judge_times: Histogram,
    pub answered: Histogram,
    pub written: Histogram,
    pub hours: Vec<HourCounts>,
}

/// What is counted with every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerCallCount {
    /// A call: its tier, and where it went.
    Call(Tier, &'static str),
    /// An answer: its status, and from which API.
    Answer(u16, &'static str),
}

impl PerCallCount {
    fn named(self) -> (&'static str, String) {
        match self {
            PerCallCount::Call(tier, route) => {
                let labels = format!("route=\"{route}\",tier=\"{}\"", tier.label());
                ("countersign_calls_total", labels)
            }
            PerCallCount::Answer(status, api) => {
                let labels = format!("api=\"{api}\",status=\"{status}\"");
                ("countersign_http_answers_total", labels)
            }
        }
    }
}

/// What happened in one hour since 1970.
#[derive(Debug, Clone, Copy, Default)]
pub struct HourCounts {
    /// Which hour since 1970.
    pub number: i64,
    /// Calls that no one was asked about.
    pub passes: u64,
    /// Calls that a person was asked about.
    pub asks: u64,
    /// Calls that were refused at once.
    pub refusals: u64,
}

/// How many durations were below each bound.
#[derive(Debug, Default)]
pub struct Histogram {
    below: [u64; BOUNDS],
    count: u64,
    seconds: f64,
}

impl Histogram {
    /// Counts one duration.
    pub fn add(&mut self, bounds: &[f64; BOUNDS], seconds: f64) {
        for (below, bound) in self.below.iter_mut().zip(bounds) {
            *below += u64::from(seconds <= *bound);
        }
        self.count += 1;
        self.seconds += seconds;
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Writes it in the exposition format of Prometheus.
    pub fn write(&self, name: &str, bounds: &[f64; BOUNDS], out: &mut String) {
        self.write_with(name, "", bounds, out);
    }

    /// Writes it with a label such as `family="llama_guard"`; none if it is empty.
    pub fn write_with(&self, name: &str, label: &str, bounds: &[f64; BOUNDS], out: &mut String) {
        let (also, alone) = match label {
            "" => (String::new(), String::new()),
            label => (format!("{label},"), format!("{{{label}}}")),
        };
        for (below, bound) in self.below.iter().zip(bounds) {
            let _ = writeln!(out, "{name}_bucket{{{also}le=\"{bound}\"}} {below}");
        }
        let _ = writeln!(out, "{name}_bucket{{{also}le=\"+Inf\"}} {}", self.count);
        let _ = writeln!(out, "{name}_sum{alone} {}", self.seconds);
        let _ = writeln!(out, "{name}_count{alone} {}", self.count);
    }
}

impl Counts {
    /// Adds one to a counter.
    pub fn add(&mut self, family: &'static str, labels: String) {
        *self.totals.entry((family, labels)).or_default() += 1;
    }

    /// The kinds are few: tiers and routes, APIs and statuses.
    pub fn add_per_call(&mut self, what: PerCallCount) {
        match self.per_call.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.per_call.push((what, 1)),
        }
    }

    /// All totals by family and labels.
    pub fn all(&self) -> BTreeMap<(&'static str, String), u64> {
        let per_call = self.per_call.iter().map(|(what, count)| (what.named(), *count));
        let mut all = self.totals.clone();
        all.extend(per_call);
        all
    }

    /// Counts something in the current hour.
    pub fn hour(&mut self, now: Timestamp, count: impl FnOnce(&mut HourCounts)) {
        let number = now.0.div_euclid(HOUR);
        if self.hours.last().is_none_or(|hour| hour.number < number) {
            if self.hours.len() >= HOURS {
                self.hours.remove(0);
            }
            self.hours.push(HourCounts { number, ..HourCounts::default() });
        }
        if let Some(newest) = self.hours.last_mut() {
            count(newest);
        }
    }
}
