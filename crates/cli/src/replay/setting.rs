//! The settings that are compared.

use std::sync::Arc;

use countersign_daemon::config::{DaemonConfig, OnCall};
use countersign_policy::{CallTime, CompiledPolicy, PolicyFacts, PossibleCaller};
use countersign_risk::policy_ruling::PolicyRuling;
use countersign_risk::route::{Route, RouteConditions, route};
use countersign_risk::verdict::{Mode, Policy};
use countersign_types::time::Timestamp;

use crate::engine::{Assessment, Call, Environment, Tier, Verdict};
use crate::failure::Failure;
use crate::gate::reach;
use crate::recorded::session_run::RecordedVerdict;

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// It runs.
    Pass,
    /// A person is asked.
    Ask,
    /// It is refused without a question.
    Refuse,
}

/// The settings that decide which calls ask.
#[derive(Debug, Clone)]
pub struct ReplaySetting {
    /// The mode.
    pub mode: Mode,
    /// Thresholds; assessments are always made as in `enforce`.
    pub policy: Policy,
    /// The environment of agents.
    pub environment: Environment,
    /// The policy rules.
    rules: Arc<CompiledPolicy>,
    /// Whom and when the rules tell apart; none if that cannot be told.
    callers: Option<Arc<[PossibleCaller]>>,
    /// Whether rules go by the project, and by the agent program.
    by_project: bool,
    by_host: bool,
    /// The time zone of the rules.
    oncall: OnCall,
}

impl ReplaySetting {
    /// The settings in a configuration file, or those in force.
    pub fn load(file: Option<&str>) -> Result<ReplaySetting, Failure> {
        let paths = reach::paths(file, None)?;
        let config =
            DaemonConfig::load(&paths).map_err(|error| Failure::Input(error.to_string()))?;
        Ok(ReplaySetting::new(config))
    }

    /// The settings of a configuration.
    pub fn new(config: DaemonConfig) -> ReplaySetting {
        let rules = config.rules;
        ReplaySetting {
            mode: rules.mode,
            policy: Policy { mode: Mode::Enforce, ..rules.assessment },
            environment: rules.environment,
            callers: rules.policy.possible_callers().map(Into::into),
            by_project: rules.policy.reads_fact("project"),
            by_host: rules.policy.reads_fact("host"),
            rules: rules.policy,
            oncall: rules.oncall,
        }
    }

    /// The same in another mode.
    pub fn in_mode(self, mode: Mode) -> ReplaySetting {
        ReplaySetting { mode, ..self }
    }

    /// Whether rules decide beside the tiers.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// What happens to a call of a log. None where it depends on what the log does not say: who
    /// called, when, and perhaps in which project and by which agent program.
    pub fn outcome(&self, call: &Call<'_>, seen: &RecordedVerdict) -> Option<ReplayOutcome> {
        if !self.has_rules() {
            return Some(self.outcome_of(&seen.assessment, seen.remembered, false));
        }
        let (project, host) = (call.context.project, call.context.host);
        if (self.by_project && project.is_none()) || (self.by_host && host.is_none()) {
            return None;
        }
        let mut outcomes = self.callers.as_deref()?.iter().map(|caller| {
            let call = Call { agent: Some(caller.agent.as_str().into()), ..call.clone() };
            let ruled = self.with_rules(&call, &seen.assessment, false, caller.time);
            self.outcome_of(&ruled, seen.remembered, false)
        });
        let first = outcomes.next()?;
        outcomes.all(|outcome| outcome == first).then_some(first)
    }

    /// What happens to a call that the daemon recorded.
    pub fn outcome_at(
        &self,
        call: &Call<'_>,
        seen: &Assessment,
        (crisis, at): (bool, Timestamp),
    ) -> ReplayOutcome {
        let ruled = self.with_rules(call, seen, crisis, self.oncall.call_time(at));
        self.outcome_of(&ruled, false, crisis)
    }

    /// What happens to a call of which only the score is known, as long as no rule decides.
    pub fn outcome_of_score(&self, tier: Tier, confidence: u8, crisis: bool) -> ReplayOutcome {
        let verdict = self.policy.verdict(tier, confidence);
        if crisis || (self.mode == Mode::Enforce && verdict != Verdict::Allow) {
            ReplayOutcome::Ask
        } else {
            ReplayOutcome::Pass
        }
    }

    /// Whether a call that cannot be compared may pass: by its score, or by a rule.
    pub fn may_pass(&self, tier: Tier, confidence: u8, crisis: bool) -> bool {
        let by_score = self.outcome_of_score(tier, confidence, crisis) == ReplayOutcome::Pass;
        by_score || (!crisis && tier != Tier::Critical && self.rules.has_permits())
    }

    fn with_rules(
        &self,
        call: &Call<'_>,
        seen: &Assessment,
        crisis: bool,
        time: CallTime,
    ) -> Assessment {
        let mut seen = seen.clone();
        let facts = PolicyFacts::new(call, &seen, crisis, time);
        self.rules.apply(&facts, &mut seen);
        seen
    }

    /// No answer for the session covers a call for which a rule wants a person.
    fn outcome_of(&self, seen: &Assessment, remembered: bool, crisis: bool) -> ReplayOutcome {
        let needs_person = seen.policy.as_ref().is_some_and(PolicyRuling::needs_person);
        match route(seen, RouteConditions { mode: self.mode, crisis }) {
            Route::Pass { .. } => ReplayOutcome::Pass,
            Route::Ask { .. } if remembered && !needs_person => ReplayOutcome::Pass,
            Route::Ask { .. } => ReplayOutcome::Ask,
            Route::Refuse => ReplayOutcome::Refuse,
        }
    }
}

/// The mode of this name.
pub fn mode_of(name: &str) -> Mode {
    match name {
        "observe" => Mode::Observe,
        "crisis_only" => Mode::CrisisOnly,
        _ => Mode::Enforce,
    }
}

/// The name of a mode in the configuration.
pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Observe => "observe",
        Mode::CrisisOnly => "crisis_only",
        Mode::Enforce => "enforce",
    }
}
