//! Rules with those of one file replaced, and what that changes.

use std::collections::{BTreeMap, BTreeSet};

use crate::case;
use crate::compile::{PolicyErrors, read_source};
use crate::compiled::CompiledPolicy;
use crate::request::PolicyTypes;
use crate::source::{PolicyProblem, PolicySource};

impl CompiledPolicy {
    /// These rules with those of one file replaced. The rules of that file are the last.
    pub fn with_file(&self, source: &PolicySource) -> Result<CompiledPolicy, PolicyErrors> {
        let is_other = |file: &str| file != source.file;
        let mut rules: Vec<_> = self.read().filter(|(rule, _)| is_other(&rule.file)).collect();
        let names: BTreeSet<String> =
            rules.iter().map(|(rule, _)| rule.name().to_owned()).collect();
        let (others, mut problems) = (rules.len(), Vec::new());
        read_source(source, false, PolicyTypes::new().as_ref(), &mut rules, &mut problems);
        let mut new = BTreeSet::new();
        for (rule, _) in rules.iter().skip(others) {
            if names.contains(rule.name()) || !new.insert(rule.name()) {
                let message = "another rule has the same name";
                problems.push(PolicyProblem::new(&source.file, Some(rule.name()), message));
            }
        }
        let old_place = format!("{}:", source.file);
        let kept = self.cases.iter().filter(|case| !case.place.starts_with(&old_place));
        let mut cases: Vec<_> = kept.cloned().collect();
        cases.extend(case::in_comments(source, &mut problems));
        if problems.is_empty() {
            Ok(CompiledPolicy::of(rules, self.permit_up_to, cases))
        } else {
            Err(PolicyErrors(problems))
        }
    }

    /// What differs from the rules before: one line for each rule.
    pub fn differences(&self, before: &CompiledPolicy) -> Vec<String> {
        let by_name = |policy: &CompiledPolicy| -> BTreeMap<String, (String, &'static str)> {
            let one = |rule: &crate::compiled::PolicyRule| {
                (rule.name().to_owned(), (rule.text.clone(), rule.word()))
            };
            policy.rules.iter().map(one).collect()
        };
        let (old, new) = (by_name(before), by_name(self));
        let mut lines = Vec::new();
        for (name, (text, word)) in &new {
            match old.get(name) {
                None => lines.push(format!("adds rule {name} ({word})")),
                Some((known, _)) if known != text => {
                    lines.push(format!("changes rule {name} ({word})"));
                }
                Some(_) => {}
            }
        }
        let removed = old.iter().filter(|(name, _)| !new.contains_key(*name));
        lines.extend(removed.map(|(name, (_, word))| format!("removes rule {name} ({word})")));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::PolicySection;

    const PLAIN: &str = "[[rule]]\nname = \"no\"\ndecision = \"deny\"\ncommands = [\"ls\"]\n";

    fn source(text: &str) -> PolicySource {
        PolicySource { file: "api.cedar".to_owned(), text: text.to_owned() }
    }

    fn rule(id: &str) -> String {
        format!("// test: ask rm x\n@id(\"{id}\") permit (principal, action, resource);\n")
    }

    #[test]
    fn only_the_rules_of_the_file_change() {
        let section: PolicySection = toml::from_str(PLAIN).unwrap();
        let policy = CompiledPolicy::compile("c.toml", &section, &[]).unwrap();
        let first = policy.with_file(&source(&rule("a"))).unwrap();
        assert_eq!(first.differences(&policy), ["adds rule a (allow)"]);
        assert_eq!(first.case_count(), 1);
        let second = first.with_file(&source(&rule("b"))).unwrap();
        let changes = second.differences(&first);
        assert_eq!(changes, ["adds rule b (allow)", "removes rule a (allow)"]);
        assert_eq!(second.case_count(), 1);
        let again = second.with_file(&source("")).unwrap();
        assert_eq!(again.to_stored(), policy.to_stored());
        // The same as if all files were read at once.
        let whole = CompiledPolicy::compile("c.toml", &section, &[source(&rule("b"))]).unwrap();
        assert_eq!((second.to_stored(), second.hash()), (whole.to_stored(), whole.hash()));
        for wrong in [rule("no"), rule("a") + &rule("a"), "permit (principal".to_owned()] {
            assert!(policy.with_file(&source(&wrong)).is_err(), "{wrong}");
        }
    }
}
