//! Rules from their files: read, checked, and made ready for use.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr as _;

use cedar_policy::{Policy, PolicyId, PolicySet, ValidationMode, Validator};

use crate::anchor;
use crate::annotations::RuleAnnotations;
use crate::case;
use crate::cedar_error;
use crate::compiled::{CompiledPolicy, PolicyRule};
use crate::request::PolicyTypes;
use crate::rule::{self, PolicySection};
use crate::source::{PolicyProblem, PolicySource};

/// How many rules there may be.
const MAX_RULES: usize = 10_000;
/// The longest summary of a problem, in characters.
const MAX_SUMMARY: usize = 200;

/// Everything that is wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyErrors(pub Vec<PolicyProblem>);

impl PolicyErrors {
    /// The first problem in one short line, for a card.
    pub fn summary(&self) -> String {
        let text = self.0.first().map(ToString::to_string).unwrap_or_default();
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(MAX_SUMMARY).collect()
    }
}

impl fmt::Display for PolicyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl CompiledPolicy {
    /// Checks rules and makes them ready. `section` is `[policy]` of the file `config`.
    pub fn compile(
        config: &str,
        section: &PolicySection,
        sources: &[PolicySource],
    ) -> Result<CompiledPolicy, PolicyErrors> {
        let (mut problems, mut rules, mut cases) = (Vec::new(), Vec::new(), Vec::new());
        let plain = rule::cedar_text(config, section, &mut problems);
        let types = PolicyTypes::new();
        for (source, plain) in
            plain.iter().map(|one| (one, true)).chain(sources.iter().map(|source| (source, false)))
        {
            read_source(source, plain, types.as_ref(), &mut rules, &mut problems);
            cases.extend(case::in_comments(source, &mut problems));
        }
        cases.extend(case::in_section(config, section, &mut problems));
        let permit_up_to = rule::permit_up_to(config, section, &mut problems);
        let mut names = BTreeSet::new();
        for (rule, _) in &rules {
            let PolicyRule { about, file, .. } = rule;
            if !names.insert(about.name.clone()) {
                let message = "another rule has the same name";
                problems.push(PolicyProblem::new(file, Some(&about.name), message));
            }
        }
        if rules.len() > MAX_RULES {
            let message = format!("there are {} rules; at most {MAX_RULES}", rules.len());
            problems.push(PolicyProblem::new(config, None, message));
        }
        if problems.is_empty() {
            Ok(CompiledPolicy::of(rules, permit_up_to, cases))
        } else {
            Err(PolicyErrors(problems))
        }
    }
}

/// Reads the rules of one file.
pub(crate) fn read_source(
    source: &PolicySource,
    plain: bool,
    types: Option<&PolicyTypes>,
    rules: &mut Vec<(PolicyRule, Policy)>,
    problems: &mut Vec<PolicyProblem>,
) {
    let set = match PolicySet::from_str(&source.text) {
        Ok(set) => set,
        Err(errors) => {
            let found = errors.iter().map(|error| cedar_error::problem(source, None, error));
            return problems.extend(found);
        }
    };
    let problem =
        |rule: Option<&str>, message: String| PolicyProblem::new(&source.file, rule, message);
    if set.templates().next().is_some() {
        problems.push(problem(None, "templates (?principal, ?resource) are not supported".into()));
    }
    let Some(types) = types else {
        return problems.push(problem(None, "the schema of this build is invalid".into()));
    };
    let name = |id: &PolicyId| set.policy(id).and_then(|policy| policy.annotation("id"));
    let result = Validator::new(types.schema.clone()).validate(&set, ValidationMode::Strict);
    for error in result.validation_errors() {
        problems.push(cedar_error::problem(source, name(error.policy_id()), error));
    }
    for warning in result.validation_warnings() {
        problems.push(cedar_error::problem(source, name(warning.policy_id()), warning));
    }
    for policy in set.policies() {
        match RuleAnnotations::read(policy, plain) {
            Ok(about) => rules.push((rule_info(about, (source, plain), policy), policy.clone())),
            Err(message) => problems.push(problem(policy.annotation("id"), message)),
        }
    }
}

fn rule_info(
    about: RuleAnnotations,
    (source, plain): (&PolicySource, bool),
    policy: &Policy,
) -> PolicyRule {
    let mut json = policy.to_json().unwrap_or_default();
    if let Some(members) = json.as_object_mut() {
        members.remove("annotations");
    }
    let required = anchor::required_facts(policy);
    let names_command = anchor::names(&required, &["command", "exact_command"]);
    let names_tool = anchor::names(&required, &["tool"]);
    let RuleAnnotations { kind, quorum, route, assurance, exact, .. } = &about;
    let meaning = format!("{kind:?} {quorum:?} {route:?} {assurance:?} {exact} {json}");
    let text = policy.to_cedar().unwrap_or_else(|| policy.to_string());
    PolicyRule { about, file: source.file.clone(), text, plain, meaning, names_command, names_tool }
}
