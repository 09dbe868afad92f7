//! The shipped rules as people read them: list, explain, and check their own examples.

use crate::context::Context;
use crate::finding::Findings;
use crate::shell;
use crate::shell::tables::{ASSIGNMENTS, RULES};
use crate::tier::Tier;

include!(concat!(env!("OUT_DIR"), "/fingerprint.rs"));

/// One number for all rules of danger in this build: it changes when any of them does.
pub fn fingerprint() -> &'static str {
    FINGERPRINT
}

/// One rule with everything a person may want to know of it.
#[derive(Debug, Clone, Copy)]
pub struct RuleInfo {
    /// Stable id, `family.what.which`.
    pub id: &'static str,
    /// What matching it costs.
    pub tier: Tier,
    /// The sentence for people.
    pub say: &'static str,
    /// The safer way.
    pub safer: Option<&'static str>,
    /// Lines that must match.
    pub examples: &'static [&'static str],
    /// Lines that must not.
    pub counter_examples: &'static [&'static str],
}

impl RuleInfo {
    /// The family: the rule file it stands in.
    pub fn family(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }
}

/// Every rule about commands and variables, in the order of the files.
pub fn commands() -> impl Iterator<Item = RuleInfo> {
    let rules = RULES.iter().map(|r| RuleInfo {
        id: r.id,
        tier: r.tier,
        say: r.say,
        safer: r.safer,
        examples: r.examples,
        counter_examples: r.counter_examples,
    });
    let assignments = ASSIGNMENTS.iter().map(|a| RuleInfo {
        id: a.id,
        tier: a.tier,
        say: a.say,
        safer: None,
        examples: a.examples,
        counter_examples: a.counter_examples,
    });
    rules.chain(assignments)
}

/// Every rule, by family.
pub fn all() -> Vec<RuleInfo> {
    let mut rules: Vec<RuleInfo> = commands().collect();
    rules.sort_by_key(RuleInfo::family);
    rules
}

/// An example that does not do what its rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// The rule.
    pub id: &'static str,
    /// The line.
    pub line: &'static str,
    /// Whether it should have matched.
    pub wanted: bool,
}

/// Holds a rule against its own examples and counter-examples.
pub fn check(rule: &RuleInfo) -> Vec<Mismatch> {
    // Rules that only weigh an unlisted program down leave no finding of their own.
    if rule.id.starts_with("generic.looks") || rule.id == "generic.bare" {
        return Vec::new();
    }
    let lines = rule.examples.iter().map(|l| (*l, true));
    let counters = rule.counter_examples.iter().map(|l| (*l, false));
    lines
        .chain(counters)
        .filter(|(line, wanted)| matches(rule.id, line) != *wanted)
        .map(|(line, wanted)| Mismatch { id: rule.id, line, wanted })
        .collect()
}

fn matches(id: &str, line: &str) -> bool {
    let mut findings = Findings::default();
    shell::read(line, &Context::default(), &mut findings);
    findings.list.iter().any(|f| f.code == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_keeps_its_own_examples() {
        let wrong: Vec<Mismatch> = commands().flat_map(|rule| check(&rule)).collect();
        assert!(wrong.is_empty(), "{} examples fail: {wrong:#?}", wrong.len());
    }

    #[test]
    fn a_wrong_example_is_found() {
        let rule = RuleInfo {
            id: "git.push.force",
            tier: Tier::High,
            say: "",
            safer: None,
            examples: &["git status"],
            counter_examples: &["git push --force"],
        };
        assert_eq!(check(&rule).len(), 2);
    }
}
