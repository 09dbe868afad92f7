//! The rules in force while nobody knows which rules people confirmed.

use crate::annotations::RuleKind;
use crate::compile::read_source;
use crate::compiled::CompiledPolicy;
use crate::request::PolicyTypes;
use crate::source::PolicySource;
use countersign_types::tier::Tier;

/// Asks about every call: it may be one that a forgotten rule denied.
const ASK_ALWAYS: &str = "@id(\"confirm-policy-rules\")\n@decision(\"ask\")\n\
    @reason(\"The confirmed policy rules are unknown; an administrator must confirm the rules of \
    the configuration.\")\nforbid (principal, action, resource);\n";

impl CompiledPolicy {
    /// These rules without those that allow, and a rule that asks about every call.
    #[must_use]
    pub fn asking_always(&self) -> CompiledPolicy {
        let (types, mut rules, mut problems) = (PolicyTypes::new(), Vec::new(), Vec::new());
        let source = PolicySource { file: "policy.confirmed".to_owned(), text: ASK_ALWAYS.into() };
        read_source(&source, false, types.as_ref(), &mut rules, &mut problems);
        for rule in self.rules.iter().filter(|rule| rule.about.kind != RuleKind::Permit) {
            let source = PolicySource { file: rule.file.clone(), text: rule.text.clone() };
            read_source(&source, rule.plain, types.as_ref(), &mut rules, &mut problems);
        }
        CompiledPolicy::of(rules, Tier::Low, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::PolicySection;

    #[test]
    fn rules_that_restrict_stay_and_every_call_is_asked_about() {
        let text = "permit_up_to = \"MEDIUM\"\n\
                    [[rule]]\nname = \"no\"\ndecision = \"deny\"\ncommands = [\"ls\"]\n\
                    [[rule]]\nname = \"yes\"\ndecision = \"allow\"\ncommands = [\"git status\"]\n";
        let section: PolicySection = toml::from_str(text).unwrap();
        let policy = CompiledPolicy::compile("c.toml", &section, &[]).unwrap();
        let names = |policy: &CompiledPolicy| -> Vec<String> {
            policy.rules().iter().map(|rule| rule.name().to_owned()).collect()
        };
        let asking = policy.asking_always();
        assert_eq!(names(&asking), ["confirm-policy-rules", "no", "no.unclear"]);
        assert!(asking.restricts());
        assert_eq!(names(&CompiledPolicy::none().asking_always()), ["confirm-policy-rules"]);
    }
}
