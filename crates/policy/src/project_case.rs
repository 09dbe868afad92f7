//! A call explained by the rules of the organisation and of its projects.

use countersign_json as json;
use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::policy_ruling::{PolicyRuling, RuleDecision};
use countersign_risk::route::passes_everywhere;
use countersign_risk::verdict::Policy;

use crate::case::{ExplainedCall, call_time};
use crate::compiled::CompiledPolicy;
use crate::facts::PolicyFacts;
use crate::limits::{PermitLimit, apply_ruling};
use crate::project::{ProjectPolicy, strictest};

/// The rules of a project, or the ruling where they could not be read.
pub type ProjectReading = Result<ProjectPolicy, PolicyRuling>;

impl CompiledPolicy {
    /// Assesses a call, given as JSON, and applies these rules and those of its projects, as if no
    /// project were adopted.
    pub fn explain_in(
        &self,
        call: &str,
        settings: &Policy,
        projects: &[ProjectReading],
    ) -> Result<ExplainedCall, String> {
        let value = json::parse(call).map_err(|error| format!("the call is not JSON: {error}"))?;
        let call = Call::from_json(&value).map_err(|error| error.to_string())?;
        let time = call_time(&value)?;
        let mut assessment = assess(&call, settings);
        let without_rules = assessment.verdict;
        let facts = PolicyFacts::new(&call, &assessment, false, time);
        let mut decision = self.decide(&facts, &assessment);
        let mut rulings: Vec<PolicyRuling> = decision.ruling.take().into_iter().collect();
        for project in projects {
            match project {
                Ok(rules) => {
                    rulings.extend(rules.decide(&facts, &assessment, false).ruling);
                    let adopted = rules.decide(&facts, &assessment, true).ruling;
                    let allowed = adopted.filter(|ruling| ruling.decision == RuleDecision::Allowed);
                    let names = allowed.into_iter().flat_map(|ruling| ruling.rules);
                    decision.held_back.extend(names.map(|name| (name, PermitLimit::NotAdopted)));
                }
                Err(_) if passes_everywhere(&assessment) => {}
                Err(unreadable) => rulings.push(unreadable.clone()),
            }
        }
        decision.ruling = strictest(rulings);
        if let Some(ruling) = decision.ruling.clone() {
            apply_ruling(ruling, &mut assessment);
        }
        Ok(ExplainedCall { assessment, without_rules, decision, facts })
    }
}
