//! The policy rules' step on the path of a call: after its assessment, before grants.

use std::path::Path;

use countersign_policy::{CompiledPolicy, PolicyFacts, apply_ruling, strictest};
use countersign_risk::assess::{Assessment, Reason};
use countersign_risk::call::Call;
use countersign_risk::finding::Factor;
use countersign_risk::policy_ruling::{ADOPTION_NOTE, PolicyRuling, RuleDecision};
use countersign_risk::verdict::Verdict;
use countersign_types::tier::Points;
use countersign_types::time::Clock as _;

use super::call_projects::CallProjects;
use super::state::Gate;
use crate::config::DaemonRules;

impl Gate {
    /// Applies the policy rules to an assessment. `may_permit`: whether a rule may let the call
    /// pass; where a person must decide again, none does.
    pub(super) fn apply_policy(
        &self,
        rules: &DaemonRules,
        (call, projects): (&Call<'_>, &CallProjects),
        seen: &mut Assessment,
        (crisis, may_permit): (bool, bool),
    ) {
        if rules.policy.is_empty() && projects.is_empty() {
            return;
        }
        let now = self.clock.now();
        let time = rules.oncall.call_time(now.at);
        let facts = PolicyFacts::new(call, seen, crisis, time);
        // The organisation's own reason comes first: an agent can bring rules of a project.
        let own = rules.policy.decide(&facts, seen).ruling;
        let rulings = own.into_iter().chain(projects.rulings(&facts, seen)).collect();
        let ruling = strictest(rulings);
        // A permit is an approval without a person, like a grant.
        let is_permit = |ruling: &PolicyRuling| ruling.decision == RuleDecision::Allowed;
        let may_permit = may_permit
            && !self.freeze.suspends_grants()
            && self.check_automatic_decision(now).is_ok();
        if let Some(ruling) = ruling.filter(|ruling| !is_permit(ruling) || may_permit) {
            apply_ruling(ruling, seen);
        }
        if seen.verdict == Verdict::Ask {
            seen.reasons.extend(projects.waiting().map(adoption_note));
        }
    }

    /// Uses this folder for the files that tell gateways about a freeze, about policy rules and
    /// about the crisis card.
    pub fn set_markers(&self, folder: &Path) {
        self.freeze.set_marker(folder);
        self.policy_marker.set_folder(folder);
        self.card_settings.set_folder(folder);
        self.card_settings.update(&self.rules());
    }

    /// Tells gateways whether rules may be about calls that only read.
    pub(super) fn update_policy_marker(&self, policy: &CompiledPolicy) {
        self.policy_marker.update(self.restricts_reading(policy));
    }

    /// Adopted rules restrict also where the agent deleted the file of its project.
    fn restricts_reading(&self, policy: &CompiledPolicy) -> bool {
        policy.restricts() || self.projects.adopted.restricts()
    }

    /// Creates these files again if an agent deleted them.
    pub fn restore_markers(&self) {
        self.freeze.restore_marker();
        self.policy_marker.restore(self.restricts_reading(&self.rules().policy));
        self.card_settings.update(&self.rules());
    }
}

/// The note for people that rules of the project wait.
fn adoption_note(message: String) -> Reason {
    Reason {
        code: ADOPTION_NOTE.into(),
        factor: Factor::Context,
        weight: Points(0),
        message: message.into(),
        suggestion: None,
        argument: "".into(),
        span: None,
    }
}
