//! What two settings do with the same calls.

use serde::Serialize;

use super::setting::{ReplayOutcome, ReplaySetting, mode_name};
use crate::engine::Tier;

/// How many calls are listed whose question is new or gone. Denied calls that would pass are all
/// listed.
const LISTED: usize = 10;

/// What people decided about a recorded call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedDecision {
    /// A person approved it.
    Approved,
    /// A person denied it.
    Denied,
    /// No person decided it.
    None,
}

/// A call in a list.
#[derive(Debug, Clone, Serialize)]
pub struct ReplayedCall {
    /// The request, or the session of a logged call.
    pub place: String,
    /// Its tier with the other settings.
    pub tier: Tier,
    /// The call in one line, without secrets.
    pub call: String,
}

/// What one setting does.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SettingCounts {
    /// The mode.
    pub mode: &'static str,
    /// Questions; with logged calls, answers are remembered for the session.
    pub questions: u64,
    /// Calls that are refused without a question.
    pub refused: u64,
}

/// The comparison.
#[derive(Debug, Default, Serialize)]
pub struct ReplayReport {
    /// All calls.
    pub calls: u64,
    /// How many of them people approved.
    pub approved: u64,
    /// How many of them people denied.
    pub denied: u64,
    /// With the settings in force.
    pub now: SettingCounts,
    /// With the other settings.
    pub then: SettingCounts,
    /// Questions that would not be asked any more.
    pub fewer: u64,
    /// Questions that would be asked in addition.
    pub more: u64,
    /// Denied calls that would pass with the other settings, and do not pass now.
    pub denied_passed: Vec<ReplayedCall>,
    /// Denied calls that pass already now.
    pub denied_pass_now: u64,
    /// Examples of questions that would be asked in addition.
    pub new_questions: Vec<ReplayedCall>,
    /// Examples of questions that would not be asked any more.
    pub gone_questions: Vec<ReplayedCall>,
    /// There are more calls than were compared.
    pub partial: bool,
}

impl ReplayReport {
    /// Nothing compared yet.
    pub fn new(now: &ReplaySetting, then: &ReplaySetting) -> ReplayReport {
        let counts = |of: &ReplaySetting| SettingCounts {
            mode: mode_name(of.mode),
            ..SettingCounts::default()
        };
        ReplayReport { now: counts(now), then: counts(then), ..ReplayReport::default() }
    }

    /// Adds a call.
    pub fn add(
        &mut self,
        now: ReplayOutcome,
        then: ReplayOutcome,
        decision: RecordedDecision,
        shown: impl FnOnce() -> ReplayedCall,
    ) {
        self.calls += 1;
        self.approved += u64::from(decision == RecordedDecision::Approved);
        let denied = decision == RecordedDecision::Denied;
        self.denied += u64::from(denied);
        for (counts, outcome) in [(&mut self.now, now), (&mut self.then, then)] {
            counts.questions += u64::from(outcome == ReplayOutcome::Ask);
            counts.refused += u64::from(outcome == ReplayOutcome::Refuse);
        }
        let passes = |outcome| outcome == ReplayOutcome::Pass;
        self.denied_pass_now += u64::from(denied && passes(now));
        match (now == ReplayOutcome::Ask, then == ReplayOutcome::Ask) {
            (true, false) => self.fewer += 1,
            (false, true) => self.more += 1,
            _ => {}
        }
        if denied && passes(then) && !passes(now) {
            self.denied_passed.push(shown());
        } else if now == ReplayOutcome::Ask && passes(then) && self.gone_questions.len() < LISTED {
            self.gone_questions.push(shown());
        } else if passes(now) && then == ReplayOutcome::Ask && self.new_questions.len() < LISTED {
            self.new_questions.push(shown());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_risk::verdict::{Mode, Policy};

    fn setting(mode: Mode) -> ReplaySetting {
        ReplaySetting {
            mode,
            policy: Policy::default(),
            environment: crate::engine::Environment::Workstation,
        }
    }

    #[test]
    fn every_denied_call_that_would_pass_is_listed() {
        let (now, then) = (setting(Mode::Enforce), setting(Mode::Observe));
        let mut report = ReplayReport::new(&now, &then);
        for number in 0..100 {
            let outcome = |of: &ReplaySetting| of.outcome_of_score(Tier::High, 100, false);
            let decision =
                if number % 2 == 0 { RecordedDecision::Denied } else { RecordedDecision::Approved };
            report.add(outcome(&now), outcome(&then), decision, || ReplayedCall {
                place: number.to_string(),
                tier: Tier::High,
                call: String::new(),
            });
        }
        assert_eq!((report.calls, report.denied, report.fewer, report.more), (100, 50, 100, 0));
        assert_eq!(report.denied_passed.len(), 50);
        assert_eq!(report.gone_questions.len(), LISTED);
    }

    #[test]
    fn a_crisis_asks_in_every_mode_and_confidence_decides_low() {
        for mode in [Mode::Observe, Mode::CrisisOnly, Mode::Enforce] {
            let asked = setting(mode).outcome_of_score(Tier::Safe, 100, true);
            assert_eq!(asked, ReplayOutcome::Ask);
        }
        let enforce = setting(Mode::Enforce);
        assert_eq!(enforce.outcome_of_score(Tier::Low, 79, false), ReplayOutcome::Ask);
        assert_eq!(enforce.outcome_of_score(Tier::Low, 80, false), ReplayOutcome::Pass);
    }
}
