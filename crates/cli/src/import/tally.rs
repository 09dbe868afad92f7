//! Counts what would have been asked in imported sessions.

use std::collections::{BTreeMap, HashMap};

use crate::engine::{Tier, Verdict, sanitize};
use crate::recorded::session_run::RecordedVerdict;
use crate::recorded::source::CallSource;

/// How many different examples of a cause are counted. The most frequent ones come early.
const MAX_EXAMPLES: usize = 5_000;

/// Counts of one session.
#[derive(Debug, Default, Clone)]
pub struct SessionCount {
    /// Questions if no answer were remembered.
    pub asked: u64,
    /// Questions if answers are remembered for the session.
    pub asked_again: u64,
    quiet: u64,
}

/// Counts of one cause.
#[derive(Debug, Clone)]
pub struct CauseCount {
    /// The sentence of its reason.
    pub message: String,
    /// The highest tier of its calls.
    pub tier: Tier,
    /// How many calls.
    pub calls: u64,
    /// How often each example was seen.
    pub examples: HashMap<String, u64>,
}

/// Counts of one source of logs.
#[derive(Debug, Default, Clone)]
pub struct SourceCount {
    /// Its calls.
    pub calls: u64,
    /// Its sessions.
    pub sessions: u64,
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub struct ImportTally {
    /// All calls.
    pub calls: u64,
    /// By agent.
    pub sources: BTreeMap<String, SourceCount>,
    /// By session.
    pub sessions: HashMap<String, SessionCount>,
    /// Questions by tier, if answers are remembered.
    pub tiers: BTreeMap<Tier, u64>,
    /// By the reason that weighs most, if answers are remembered.
    pub causes: HashMap<String, CauseCount>,
    /// Calls that would have been denied without a question, with examples.
    pub denied: HashMap<String, u64>,
    /// The most calls in a row without a question in a session.
    pub longest_quiet: u64,
    /// Calls that the user rejected in the agent.
    pub rejected: u64,
    /// How many of them Countersign would have asked about.
    pub rejected_asked: u64,
    /// Records that cannot be read.
    pub unreadable: u64,
    /// Files that cannot be read.
    pub unreadable_files: u64,
    /// There is more than was read.
    pub partial: bool,
}

impl ImportTally {
    /// Notes what could not be read.
    pub fn note(&mut self, source: &CallSource) {
        self.unreadable = source.unreadable;
        self.unreadable_files = source.unreadable_files;
        self.partial = source.partial;
    }

    /// Counts a call.
    pub fn add(
        &mut self,
        source: &str,
        session: &str,
        seen: &RecordedVerdict,
        rejected: bool,
        example: impl FnOnce() -> String,
    ) {
        self.calls += 1;
        let is_new = !self.sessions.contains_key(session);
        let source = self.sources.entry(sanitize(source, 60)).or_default();
        source.calls += 1;
        source.sessions += u64::from(is_new);
        let asks_again = seen.asks_again();
        let count = self.sessions.entry(session.to_owned()).or_default();
        count.asked += u64::from(seen.asks());
        count.asked_again += u64::from(asks_again);
        count.quiet = if asks_again { 0 } else { count.quiet + 1 };
        self.longest_quiet = self.longest_quiet.max(count.quiet);
        self.rejected += u64::from(rejected);
        self.rejected_asked += u64::from(rejected && seen.asks());
        if seen.assessment.verdict == Verdict::Deny {
            count_example(&mut self.denied, example());
        } else if asks_again {
            self.question(seen, example());
        }
    }

    fn question(&mut self, seen: &RecordedVerdict, example: String) {
        let tier = seen.assessment.tier;
        *self.tiers.entry(tier).or_default() += 1;
        let top = seen.assessment.reasons.first();
        let code = top.map_or("none", |reason| &reason.code);
        let cause = self.causes.entry(code.to_owned()).or_insert_with(|| CauseCount {
            message: top.map_or_else(String::new, |reason| sanitize(&reason.message, 300)),
            tier,
            calls: 0,
            examples: HashMap::new(),
        });
        cause.tier = cause.tier.max(tier);
        cause.calls += 1;
        count_example(&mut cause.examples, example);
    }
}

fn count_example(examples: &mut HashMap<String, u64>, example: String) {
    if let Some(count) = examples.get_mut(&example) {
        *count += 1;
    } else if examples.len() < MAX_EXAMPLES {
        examples.insert(example, 1);
    }
}
