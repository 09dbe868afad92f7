//! Assesses a call of an authenticated agent by the rules in force.

use std::sync::Arc;

use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::context::Environment;
use countersign_risk::facts::FactObserver;
use countersign_risk::route::{Route, RouteConditions, route};

use super::answer::Rejection;
use super::call_projects::CallProjects;
use super::caller::Caller;
use super::state::Gate;
use crate::config::DaemonRules;

impl Gate {
    /// Assesses a call without a question, and without the rules of its project.
    pub fn assess<'c>(&self, call: &mut Call<'c>, caller: &'c Caller) -> (Assessment, Route) {
        self.assess_in(call, caller, &CallProjects::default())
    }

    /// Assesses a call without a question.
    pub fn assess_in<'c>(
        &self,
        call: &mut Call<'c>,
        caller: &'c Caller,
        projects: &CallProjects,
    ) -> (Assessment, Route) {
        let rules = self.rules();
        self.assess_call(&rules, call, caller, (true, projects))
    }

    /// Assesses a call that a person edited: the assessment, and whether the crisis rules apply. An
    /// edit cannot approve a call that the policy denies.
    pub fn assess_edit(
        &self,
        call: &Call<'_>,
        projects: &CallProjects,
    ) -> Result<(Assessment, bool), Rejection> {
        let rules = self.rules();
        let mut context = call.context;
        if context.environment != Environment::Production {
            context.environment = rules.environment;
        }
        let call = Call { context, ..call.clone() };
        let mut seen = assess(&call, &rules.assessment);
        let agent = call.agent.as_deref().unwrap_or_default();
        let crisis = self.crises.holds(agent, call.session.as_deref());
        self.apply_policy(&rules, (&call, projects), &mut seen, (crisis, false));
        match route(&seen, RouteConditions { mode: rules.mode, crisis }) {
            Route::Refuse => Err(Rejection::refused(&seen)),
            Route::Ask { crisis } => Ok((seen, crisis)),
            Route::Pass { .. } => Ok((seen, crisis)),
        }
    }

    /// Assesses a call by these rules. `may_permit`: whether a policy rule may let it pass.
    pub(super) fn assess_call<'c>(
        &self,
        rules: &DaemonRules,
        call: &mut Call<'c>,
        caller: &'c Caller,
        (may_permit, projects): (bool, &CallProjects),
    ) -> (Assessment, Route) {
        // The agent is the authenticated one; claims about the environment can only raise the risk.
        call.agent = Some(caller.agent.as_str().into());
        call.context.host = caller.accepted_host(call.context.host);
        if let Some(facts) = &mut call.facts {
            let observer = facts.claim.map(|claim| claim.observer(self.facts_key.get()));
            Arc::make_mut(facts).observer = observer.unwrap_or(FactObserver::Agent);
        }
        if call.context.environment != Environment::Production {
            call.context.environment = rules.environment;
        }
        let mut seen = self.session_memories.assess(call, &rules.assessment);
        let crisis = self.crises.holds(&caller.agent, call.session.as_deref());
        self.apply_policy(rules, (call, projects), &mut seen, (crisis, may_permit));
        let goes = route(&seen, RouteConditions { mode: rules.mode, crisis });
        (seen, goes)
    }
}
