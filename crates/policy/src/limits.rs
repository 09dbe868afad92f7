//! What the rules decide about a call, and what no rule can allow.

use std::collections::BTreeSet;
use std::fmt;

use countersign_risk::assess::{Assessment, Reason};
use countersign_risk::effect::Effect;
use countersign_risk::finding::{Doubt, Factor};
use countersign_risk::policy_ruling::{PolicyRuling, RuleDecision};
use countersign_risk::verdict::Verdict;
use countersign_types::tier::{Points, Tier};
use countersign_workflow::assurance::Assurance;

use crate::annotations::RuleKind;
use crate::compiled::{CompiledPolicy, Matches, PolicyRule};
use crate::facts::PolicyFacts;

/// Why a rule that permits does not let a call pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermitLimit {
    /// A person may be in crisis.
    Crisis,
    /// The tier is above what rules may let pass.
    Tier(Tier),
    /// Money would move.
    Money,
    /// The call changes Countersign, an agent or its tools.
    OwnFiles,
    /// A part of the call is not known.
    Unclear,
    /// The call runs programs, and the rule does not name the command.
    CommandNotNamed,
    /// The tool has no description, and the rule does not name it.
    ToolNotNamed,
    /// No administrator adopted the file of the project.
    NotAdopted,
}

impl fmt::Display for PermitLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PermitLimit::Crisis => f.write_str("no rule lets a call pass in a crisis"),
            PermitLimit::Tier(tier) => {
                write!(f, "the call is {}, above what the rule may let pass", tier.label())
            }
            PermitLimit::Money => f.write_str("no rule lets a call pass that moves money"),
            PermitLimit::OwnFiles => {
                f.write_str("no rule lets a call pass that changes Countersign, an agent or a tool")
            }
            PermitLimit::Unclear => f.write_str("a part of the call is not known"),
            PermitLimit::CommandNotNamed => {
                f.write_str("the call runs programs and the rule does not name the command")
            }
            PermitLimit::ToolNotNamed => {
                f.write_str("the tool is not described and the rule does not name it")
            }
            PermitLimit::NotAdopted => f.write_str("the rule waits for adoption"),
        }
    }
}

/// What the rules say about a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyDecision {
    /// The decision; none if the rules say nothing.
    pub ruling: Option<PolicyRuling>,
    /// Rules that permit the call, but may not let it pass.
    pub held_back: Vec<(String, PermitLimit)>,
}

impl CompiledPolicy {
    /// What the rules say about an assessed call.
    pub fn decide(&self, facts: &PolicyFacts, seen: &Assessment) -> PolicyDecision {
        if self.is_empty() {
            return PolicyDecision::default();
        }
        self.decide_by(&self.matches(facts), facts, seen)
    }

    /// The same with every rule evaluated. It decides the same, which tests check.
    #[doc(hidden)]
    pub fn decide_without_index(&self, facts: &PolicyFacts, seen: &Assessment) -> PolicyDecision {
        self.decide_by(&self.matches_of_all(facts), facts, seen)
    }

    fn decide_by(&self, found: &Matches, facts: &PolicyFacts, seen: &Assessment) -> PolicyDecision {
        let of = |kind| {
            let rules = found.rules.iter().filter_map(|at| self.rules.get(*at));
            rules.filter(move |rule| rule.about.kind == kind).collect::<Vec<_>>()
        };
        let (denies, asks) = (of(RuleKind::Deny), of(RuleKind::Ask));
        if !denies.is_empty() {
            return PolicyDecision::of(RuleDecision::Denied, &denies);
        }
        if !asks.is_empty() {
            return PolicyDecision::of(RuleDecision::Asked, &asks);
        }
        if !found.failed.is_empty() {
            return PolicyDecision { ruling: Some(failed(found)), held_back: Vec::new() };
        }
        self.permit(&of(RuleKind::Permit), facts, seen)
    }

    fn permit(
        &self,
        permits: &[&PolicyRule],
        facts: &PolicyFacts,
        seen: &Assessment,
    ) -> PolicyDecision {
        if seen.verdict != Verdict::Ask {
            return PolicyDecision::default();
        }
        let (mut allowed, mut held_back) = (Vec::new(), Vec::new());
        for rule in permits {
            match self.limit(rule, facts, seen) {
                None => allowed.push(*rule),
                Some(limit) => held_back.push((rule.about.name.clone(), limit)),
            }
        }
        if allowed.is_empty() {
            return PolicyDecision { ruling: None, held_back };
        }
        PolicyDecision { held_back, ..PolicyDecision::of(RuleDecision::Allowed, &allowed) }
    }

    /// Why a rule may not let this call pass.
    fn limit(
        &self,
        rule: &PolicyRule,
        facts: &PolicyFacts,
        seen: &Assessment,
    ) -> Option<PermitLimit> {
        let doubts = [Doubt::Unreadable, Doubt::DynamicProgram, Doubt::DynamicArguments];
        let highest = if rule.about.exact { Tier::High } else { self.permit_up_to };
        let is_guessed = seen.doubts.contains(&Doubt::GuessedTool);
        let names_it = rule.names_command || !facts.runs_programs || seen.tier <= Tier::Low;
        if facts.crisis || seen.crisis_sensitive || seen.effects.has(Effect::Crisis) {
            Some(PermitLimit::Crisis)
        } else if seen.tier == Tier::Critical || seen.tier > highest {
            Some(PermitLimit::Tier(seen.tier))
        } else if seen.effects.has(Effect::Money) || !seen.impact.money.is_empty() {
            Some(PermitLimit::Money)
        } else if seen.effects.has(Effect::SelfChange) {
            Some(PermitLimit::OwnFiles)
        } else if !facts.unclear.is_empty() || doubts.iter().any(|one| seen.doubts.contains(one)) {
            Some(PermitLimit::Unclear)
        } else if !names_it {
            Some(PermitLimit::CommandNotNamed)
        } else if is_guessed && !rule.names_tool {
            Some(PermitLimit::ToolNotNamed)
        } else {
            None
        }
    }

    /// Applies the rules to the verdict of an assessment.
    pub fn apply(&self, facts: &PolicyFacts, seen: &mut Assessment) {
        if let Some(ruling) = self.decide(facts, seen).ruling {
            apply_ruling(ruling, seen);
        }
    }
}

/// Applies what the rules decided to the verdict of an assessment, and shows it as a reason.
pub fn apply_ruling(ruling: PolicyRuling, seen: &mut Assessment) {
    match ruling.decision {
        RuleDecision::Allowed => (seen.verdict, seen.requires_human) = (Verdict::Allow, false),
        RuleDecision::Denied => seen.verdict = Verdict::Deny,
        RuleDecision::Asked | RuleDecision::Failed => {
            if seen.verdict == Verdict::Allow {
                seen.verdict = Verdict::Ask;
            }
            seen.requires_human = true;
        }
    }
    seen.reasons.push(Reason {
        code: "policy.rule".into(),
        factor: Factor::Context,
        weight: Points(0),
        message: ruling.sentence().into(),
        suggestion: None,
        argument: "".into(),
        span: None,
    });
    seen.policy = Some(ruling);
}

impl PolicyDecision {
    fn of(decision: RuleDecision, rules: &[&PolicyRule]) -> PolicyDecision {
        let reasons = rules.iter().map(|rule| &rule.about.reason);
        let reason = reasons.into_iter().find(|reason| !reason.is_empty()).cloned();
        let ruling = PolicyRuling {
            decision,
            rules: rules.iter().map(|rule| rule.about.name.clone()).collect(),
            reason: reason.unwrap_or_default(),
            quorum: rules.iter().filter_map(|rule| rule.about.quorum).max(),
            route: all_of(rules.iter().flat_map(|rule| rule.about.route.iter().cloned())),
            assurance: rules.iter().filter_map(|rule| rule.about.assurance).max().map(label),
        };
        PolicyDecision { ruling: Some(ruling), held_back: Vec::new() }
    }
}

fn failed(found: &Matches) -> PolicyRuling {
    let (rules, errors): (Vec<String>, Vec<String>) = found.failed.iter().cloned().unzip();
    PolicyRuling {
        decision: RuleDecision::Failed,
        rules,
        reason: errors.into_iter().next().unwrap_or_default(),
        quorum: None,
        route: Vec::new(),
        assurance: None,
    }
}

/// The names, each once.
pub(crate) fn all_of(names: impl Iterator<Item = String>) -> Vec<String> {
    names.collect::<BTreeSet<String>>().into_iter().collect()
}

const fn label(assurance: Assurance) -> &'static str {
    assurance.label()
}
