//! Whether a policy is weaker than another one, so that a person has to confirm the change.

use std::collections::BTreeSet;

use crate::annotations::RuleKind;
use crate::compiled::{CompiledPolicy, PolicyRule};

impl CompiledPolicy {
    /// What lets more calls pass than `before` did; nothing if every call is treated at least as
    /// strictly. Rules are compared by what they say, not by their names.
    pub fn weaker_than(&self, before: &CompiledPolicy) -> Vec<String> {
        let meanings = |policy: &CompiledPolicy| -> BTreeSet<String> {
            policy.rules.iter().map(|rule| rule.meaning.clone()).collect()
        };
        let (old, new) = (meanings(before), meanings(self));
        let permits = |rule: &&PolicyRule| rule.about.kind == RuleKind::Permit;
        let removed = before.rules.iter().filter(|rule| !permits(rule));
        let removed = removed.filter(|rule| !new.contains(&rule.meaning));
        let added = self.rules.iter().filter(permits).filter(|rule| !old.contains(&rule.meaning));
        let mut changes: Vec<String> = removed
            .map(|rule| format!("rule {} ({}) is gone or changed", rule.name(), rule.word()))
            .collect();
        changes.extend(added.map(|rule| format!("rule {} allows more", rule.name())));
        let any_permit = self.rules.iter().any(|rule| permits(&rule));
        if self.permit_up_to > before.permit_up_to && any_permit {
            changes.push(format!("rules may let calls pass up to {}", self.permit_up_to.label()));
        }
        changes
    }
}
