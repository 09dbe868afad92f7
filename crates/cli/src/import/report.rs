//! The report of an import, as JSON has it.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::tally::{CauseCount, ImportTally};
use crate::engine::Tier;

/// How many examples of a cause are shown.
const EXAMPLES: usize = 3;

/// What would have been asked.
#[derive(Debug, Serialize)]
pub struct ImportReport {
    /// Where the calls come from.
    pub sources: Vec<SourceReport>,
    /// How many sessions.
    pub sessions: u64,
    /// How many calls.
    pub calls: u64,
    /// Questions if no answer were remembered.
    pub asked: QuestionCounts,
    /// Questions if answers are remembered for the session.
    pub asked_with_answers: QuestionCounts,
    /// The latter by tier.
    pub by_tier: BTreeMap<&'static str, u64>,
    /// The latter by cause, the most frequent first.
    pub causes: Vec<CauseReport>,
    /// Calls that would have been denied without a question.
    pub denied: ExampleCounts,
    /// The most calls in a row without a question in a session.
    pub longest_quiet_calls: u64,
    /// Calls that the user rejected in the agent itself.
    pub rejected: u64,
    /// How many of them Countersign would have asked about.
    pub rejected_asked: u64,
    /// Records and calls that cannot be read.
    pub unreadable: u64,
    /// Files that cannot be read.
    pub unreadable_files: u64,
    /// Whether there is more than was read.
    pub partial: bool,
}

/// Calls and sessions of one agent.
#[derive(Debug, Serialize)]
pub struct SourceReport {
    /// The agent.
    pub name: String,
    /// Its sessions.
    pub sessions: u64,
    /// Its calls.
    pub calls: u64,
}

/// How often people would have been asked.
#[derive(Debug, Serialize)]
pub struct QuestionCounts {
    /// In all.
    pub total: u64,
    /// Of 100 calls.
    pub per_100_calls: f64,
    /// A session, on average.
    pub session_mean: f64,
    /// Nine of ten sessions had at most this many.
    pub session_p90: u64,
    /// The most in one session.
    pub session_max: u64,
    /// Sessions without any.
    pub sessions_without: u64,
}

/// Calls that ask for the same reason.
#[derive(Debug, Serialize)]
pub struct CauseReport {
    /// The code of the reason.
    pub code: String,
    /// The highest tier of the calls.
    pub tier: Tier,
    /// What the reason says.
    pub message: String,
    /// The calls.
    #[serde(flatten)]
    pub calls: ExampleCounts,
}

/// Calls with their most frequent examples.
#[derive(Debug, Serialize)]
pub struct ExampleCounts {
    /// How many.
    pub calls: u64,
    /// The most frequent ones.
    pub examples: Vec<ExampleReport>,
}

/// One example.
#[derive(Debug, Serialize)]
pub struct ExampleReport {
    /// The call in one line, without secrets.
    pub call: String,
    /// How often it was seen.
    pub times: u64,
}

impl ImportTally {
    /// The report.
    pub fn report(self) -> ImportReport {
        let counts = |count: fn(&super::tally::SessionCount) -> u64| {
            questions(self.sessions.values().map(count).collect(), self.calls)
        };
        let source = |(name, count): (&String, &super::tally::SourceCount)| SourceReport {
            name: name.clone(),
            sessions: count.sessions,
            calls: count.calls,
        };
        let mut causes: Vec<CauseReport> = self.causes.iter().map(cause).collect();
        causes.sort_by(|one, other| {
            other.calls.calls.cmp(&one.calls.calls).then_with(|| one.code.cmp(&other.code))
        });
        ImportReport {
            sources: self.sources.iter().map(source).collect(),
            sessions: self.sessions.len() as u64,
            calls: self.calls,
            asked: counts(|session| session.asked),
            asked_with_answers: counts(|session| session.asked_again),
            by_tier: self.tiers.iter().map(|(tier, count)| (tier.label(), *count)).collect(),
            causes,
            denied: ExampleCounts {
                calls: self.denied.values().sum(),
                examples: most_frequent(&self.denied),
            },
            longest_quiet_calls: self.longest_quiet,
            rejected: self.rejected,
            rejected_asked: self.rejected_asked,
            unreadable: self.unreadable,
            unreadable_files: self.unreadable_files,
            partial: self.partial,
        }
    }
}

fn cause((code, count): (&String, &CauseCount)) -> CauseReport {
    let calls = ExampleCounts { calls: count.calls, examples: most_frequent(&count.examples) };
    CauseReport { code: code.clone(), tier: count.tier, message: count.message.clone(), calls }
}

fn most_frequent(examples: &HashMap<String, u64>) -> Vec<ExampleReport> {
    let mut sorted: Vec<(&String, &u64)> = examples.iter().collect();
    sorted.sort_by(|one, other| other.1.cmp(one.1).then_with(|| one.0.cmp(other.0)));
    let shown = sorted.into_iter().take(EXAMPLES);
    shown.map(|(call, times)| ExampleReport { call: call.clone(), times: *times }).collect()
}

/// The counts over sessions, given the questions of each.
pub fn questions(mut of_sessions: Vec<u64>, calls: u64) -> QuestionCounts {
    of_sessions.sort_unstable();
    let total: u64 = of_sessions.iter().sum();
    let sessions = of_sessions.len();
    QuestionCounts {
        total,
        per_100_calls: ratio(total.saturating_mul(100), calls),
        session_mean: ratio(total, sessions as u64),
        session_p90: of_sessions.get(sessions * 9 / 10).copied().unwrap_or(0),
        session_max: of_sessions.last().copied().unwrap_or(0),
        sessions_without: of_sessions.iter().filter(|asked| **asked == 0).count() as u64,
    }
}

/// A quotient with two decimals.
fn ratio(part: u64, whole: u64) -> f64 {
    let hundredths = (part.saturating_mul(200) + whole) / (2 * whole.max(1));
    f64::from(u32::try_from(hundredths).unwrap_or(u32::MAX)) / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ninetieth_percentile_and_the_mean() {
        let counts = questions(vec![0, 0, 0, 0, 0, 0, 0, 0, 3, 7], 400);
        assert_eq!((counts.total, counts.session_p90, counts.session_max), (10, 7, 7));
        assert_eq!(counts.sessions_without, 8);
        assert!((counts.session_mean - 1.0).abs() < 1e-9);
        assert!((counts.per_100_calls - 2.5).abs() < 1e-9);
        let none = questions(Vec::new(), 0);
        assert_eq!((none.total, none.session_p90), (0, 0));
    }
}
