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

/// What two settings do with a call; none where it cannot be told.
#[derive(Debug, Clone, Copy)]
pub struct ComparedCall {
    /// With the settings in force.
    pub now: Option<ReplayOutcome>,
    /// With the other settings.
    pub then: Option<ReplayOutcome>,
    /// Whether it may pass with the other settings, where that cannot be told.
    pub may_pass: bool,
    /// What people decided.
    pub decision: RecordedDecision,
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
    /// How many of them were only observed: no person answered.
    pub observed: u64,
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
    /// Calls that cannot be compared: their rules need what was not recorded.
    pub not_comparable: u64,
    /// Denied calls among them that may pass with the other settings.
    pub denied_unknown: Vec<ReplayedCall>,
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

    /// Whether no denied call would pass that does not pass now.
    pub fn passes_no_denied(&self) -> bool {
        self.denied_passed.is_empty() && self.denied_unknown.is_empty()
    }

    /// Adds a call.
    pub fn add(&mut self, compared: ComparedCall, shown: impl FnOnce() -> ReplayedCall) {
        self.calls += 1;
        self.approved += u64::from(compared.decision == RecordedDecision::Approved);
        let denied = compared.decision == RecordedDecision::Denied;
        self.denied += u64::from(denied);
        match (compared.now, compared.then) {
            (Some(now), Some(then)) => self.add_outcomes(now, then, denied, shown),
            (_, then) => {
                self.not_comparable += 1;
                if denied && then == Some(ReplayOutcome::Pass) {
                    self.denied_passed.push(shown());
                } else if denied && then.is_none() && compared.may_pass {
                    self.denied_unknown.push(shown());
                }
            }
        }
    }

    fn add_outcomes(
        &mut self,
        now: ReplayOutcome,
        then: ReplayOutcome,
        denied: bool,
        shown: impl FnOnce() -> ReplayedCall,
    ) {
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
    use countersign_daemon::config::{DaemonConfig, Paths};
    use countersign_risk::verdict::Mode;

    fn setting(mode: Mode) -> ReplaySetting {
        let nowhere = std::path::PathBuf::from("/nonexistent");
        let paths = Paths { config: nowhere.clone(), state: nowhere.clone(), runtime: nowhere };
        ReplaySetting::new(DaemonConfig::read("", &paths).unwrap()).in_mode(mode)
    }

    #[test]
    fn every_denied_call_that_would_pass_is_listed() {
        let (now, then) = (setting(Mode::Enforce), setting(Mode::Observe));
        let mut report = ReplayReport::new(&now, &then);
        for number in 0..100 {
            let outcome = |of: &ReplaySetting| Some(of.outcome_of_score(Tier::High, 100, false));
            let decision =
                if number % 2 == 0 { RecordedDecision::Denied } else { RecordedDecision::Approved };
            let (now, then) = (outcome(&now), outcome(&then));
            let compared = ComparedCall { now, then, may_pass: false, decision };
            report.add(compared, || ReplayedCall {
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
    fn what_cannot_be_compared_is_counted_apart() {
        let (now, then) = (setting(Mode::Enforce), setting(Mode::Enforce));
        let mut report = ReplayReport::new(&now, &then);
        let (unknown, pass, ask) = (None, Some(ReplayOutcome::Pass), Some(ReplayOutcome::Ask));
        let denied = RecordedDecision::Denied;
        let mut add = |now, then, may_pass, decision| {
            let compared = ComparedCall { now, then, may_pass, decision };
            let call = ReplayedCall { place: String::new(), tier: Tier::High, call: String::new() };
            report.add(compared, || call);
            (report.not_comparable, report.denied_passed.len(), report.denied_unknown.len())
        };
        assert_eq!(add(ask, unknown, true, RecordedDecision::Approved), (1, 0, 0));
        assert_eq!(add(ask, unknown, false, denied), (2, 0, 0));
        assert_eq!(add(ask, unknown, true, denied), (3, 0, 1));
        assert_eq!(add(unknown, pass, true, denied), (4, 1, 1));
        assert_eq!(add(unknown, ask, true, denied), (5, 1, 1));
        assert!(!report.passes_no_denied());
        assert_eq!((report.fewer, report.now.questions), (0, 0));
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
