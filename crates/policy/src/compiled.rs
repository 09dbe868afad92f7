//! Rules ready for use: indexed, and evaluated over the facts of a call.

use std::collections::HashMap;
use std::fmt;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use cedar_policy::{Authorizer, Entities, Policy, PolicyId, PolicySet};
use countersign_json::canonical::Digest;
use countersign_types::tier::Tier;

use crate::anchor;
use crate::annotations::{RuleAnnotations, RuleKind};
use crate::facts::PolicyFacts;
use crate::request::{PolicyTypes, SCHEMA};
use crate::source::PolicyCase;

/// How many evaluations are kept; all are forgotten when there are more.
const MAX_CACHED: usize = 4_096;

/// A rule as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRule {
    /// Its annotations.
    pub(crate) about: RuleAnnotations,
    /// The file that it is in.
    pub file: String,
    /// Its Cedar text.
    pub text: String,
    /// Whether it was written as a plain rule of the configuration.
    pub(crate) plain: bool,
    /// Without name and reason: equal for rules that decide the same.
    pub(crate) meaning: String,
    /// Whether it matches only calls whose command it names.
    pub(crate) names_command: bool,
    /// Whether it matches only calls whose tool it names.
    pub(crate) names_tool: bool,
}

impl PolicyRule {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.about.name
    }

    /// allow, ask or deny.
    pub fn word(&self) -> &'static str {
        self.about.kind.word()
    }
}

/// The rules that match a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Matches {
    /// Places in the list of rules.
    pub rules: Vec<usize>,
    /// Rules that could not be evaluated, and why.
    pub failed: Vec<(String, String)>,
}

/// All rules, ready for use.
pub struct CompiledPolicy {
    types: Option<PolicyTypes>,
    pub(crate) rules: Vec<PolicyRule>,
    policies: Vec<Policy>,
    /// Rules by a fact that they require.
    index: HashMap<&'static str, HashMap<String, Vec<usize>>>,
    /// Rules that can match any call.
    unindexed: Vec<usize>,
    pub(crate) permit_up_to: Tier,
    pub(crate) cases: Vec<PolicyCase>,
    hash: Digest,
    sets: Mutex<HashMap<Vec<usize>, Arc<PolicySet>>>,
    cache: Mutex<HashMap<PolicyFacts, Arc<Matches>>>,
}

impl CompiledPolicy {
    /// No rules.
    pub fn none() -> CompiledPolicy {
        CompiledPolicy::of(Vec::new(), Tier::Low, Vec::new())
    }

    pub(crate) fn of(
        read: Vec<(PolicyRule, Policy)>,
        permit_up_to: Tier,
        cases: Vec<PolicyCase>,
    ) -> CompiledPolicy {
        let mut index: HashMap<&'static str, HashMap<String, Vec<usize>>> = HashMap::new();
        let mut unindexed = Vec::new();
        let mut hashed = format!("{SCHEMA}\n{permit_up_to:?}\n");
        let (mut rules, mut policies) = (Vec::new(), Vec::new());
        for (place, (rule, policy)) in read.into_iter().enumerate() {
            let _ = writeln!(hashed, "{}\n{}", rule.about.name, rule.text);
            let required = anchor::required_facts(&policy);
            match anchor::best_keys(&required) {
                Some(keys) => {
                    for (key, fact) in keys {
                        let by_value = index.entry(key).or_default();
                        for value in &fact.values {
                            by_value.entry(value.clone()).or_default().push(place);
                        }
                    }
                }
                None => unindexed.push(place),
            }
            rules.push(rule);
            policies.push(policy);
        }
        CompiledPolicy {
            types: PolicyTypes::new(),
            rules,
            policies,
            index,
            unindexed,
            permit_up_to,
            cases,
            hash: Digest::of(hashed.as_bytes()),
            sets: Mutex::default(),
            cache: Mutex::default(),
        }
    }

    /// The highest tier that a rule may let pass.
    pub fn permit_up_to(&self) -> Tier {
        self.permit_up_to
    }

    /// The hash of the rules: two policies with the same hash decide alike.
    pub fn hash(&self) -> Digest {
        self.hash
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules, in the order in which they were read.
    pub fn rules(&self) -> &[PolicyRule] {
        &self.rules
    }

    /// The channels and rotas that rules announce to, each with its rule.
    pub fn routes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rules.iter().flat_map(|rule| {
            rule.about.route.iter().map(|channel| (rule.about.name.as_str(), channel.as_str()))
        })
    }

    /// Whether a rule denies or asks: then also a call that only reads has to be checked.
    pub fn restricts(&self) -> bool {
        self.rules.iter().any(|rule| rule.about.kind != RuleKind::Permit)
    }

    /// These rules without those that allow.
    pub(crate) fn restrictions(&self) -> CompiledPolicy {
        let read = self.read().filter(|(rule, _)| rule.about.kind != RuleKind::Permit);
        CompiledPolicy::of(read.collect(), Tier::Low, Vec::new())
    }

    /// The rules as they were read.
    pub(crate) fn read(&self) -> impl Iterator<Item = (PolicyRule, Policy)> + '_ {
        self.rules.iter().cloned().zip(self.policies.iter().cloned())
    }

    /// The rules that match a call.
    pub(crate) fn matches(&self, facts: &PolicyFacts) -> Arc<Matches> {
        let candidates = self.candidates(facts);
        if candidates.is_empty() {
            return Arc::default();
        }
        let known = self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(facts).cloned();
        if let Some(known) = known {
            return known;
        }
        let found = Arc::new(self.evaluate(&candidates, facts));
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(facts.clone(), Arc::clone(&found));
        found
    }

    /// The same with every rule evaluated; for tests of the index.
    pub(crate) fn matches_of_all(&self, facts: &PolicyFacts) -> Matches {
        self.evaluate(&(0..self.rules.len()).collect::<Vec<_>>(), facts)
    }

    /// The rules that can match, in order.
    fn candidates(&self, facts: &PolicyFacts) -> Vec<usize> {
        let mut found = self.unindexed.clone();
        if !self.index.is_empty() {
            for (key, value) in anchor::keys(facts) {
                let listed = self.index.get(key).and_then(|by_value| by_value.get(value));
                found.extend(listed.into_iter().flatten());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn evaluate(&self, candidates: &[usize], facts: &PolicyFacts) -> Matches {
        let failed = |message: &str| {
            let named = candidates.iter().filter_map(|at| self.rules.get(*at));
            let failed = named.map(|rule| (rule.about.name.clone(), message.to_owned())).collect();
            Matches { rules: Vec::new(), failed }
        };
        let Some(request) = self.types.as_ref().and_then(|types| types.request(facts, false))
        else {
            return failed("the facts of the call do not fit the schema");
        };
        let Some(set) = self.policy_set(candidates) else {
            return failed("the rules could not be combined");
        };
        let response = Authorizer::new().is_authorized(&request, &set, &Entities::empty());
        let by_id = |id: &PolicyId| AsRef::<str>::as_ref(id).parse::<usize>().ok();
        let diagnostics = response.diagnostics();
        let mut rules: Vec<usize> = diagnostics.reason().filter_map(by_id).collect();
        rules.sort_unstable();
        // A rule that fails is left out by Cedar, also one that forbids.
        let failed = diagnostics.errors().map(|error| {
            let cedar_policy::AuthorizationError::PolicyEvaluationError(failed) = error;
            let rule = by_id(failed.policy_id()).and_then(|at| self.rules.get(at));
            let name = rule.map_or_else(String::new, |rule| rule.about.name.clone());
            (name, failed.inner().to_string())
        });
        let mut failed: Vec<(String, String)> = failed.collect();
        failed.sort();
        Matches { rules, failed }
    }

    /// These rules as a set that Cedar evaluates.
    fn policy_set(&self, candidates: &[usize]) -> Option<Arc<PolicySet>> {
        let known = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(set) = known.get(candidates).cloned() {
            return Some(set);
        }
        drop(known);
        let policies = candidates.iter().map(|at| {
            let policy = self.policies.get(*at)?;
            Some(policy.new_id(PolicyId::new(at.to_string())))
        });
        let policies: Option<Vec<Policy>> = policies.collect();
        let set = Arc::new(PolicySet::from_policies(policies?).ok()?);
        let mut known = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        known.insert(candidates.to_vec(), Arc::clone(&set));
        Some(set)
    }
}

/// The hash says which policy it is; the debug text of the configuration is part of its hash.
impl fmt::Debug for CompiledPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CompiledPolicy({})", self.hash)
    }
}
