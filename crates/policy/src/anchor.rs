//! What must hold for a rule to match, read from its conditions: so that a call is only evaluated
//! against the few rules that can match it. Cedar itself looks at every rule.

use std::collections::BTreeSet;

use cedar_policy::Policy;
use serde_json::Value;

use crate::facts::PolicyFacts;

/// One fact must have one of these values, or a rule does not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredFact {
    /// The name of the fact.
    pub fact: String,
    /// The values.
    pub values: BTreeSet<String>,
}

/// One of several facts must hold, or a rule does not match.
pub type Alternatives = Vec<RequiredFact>;

/// Facts by which rules are found, the most selective first.
const KEYS: [&str; 13] = [
    "exact_command",
    "command",
    "commands",
    "open_commands",
    "paths",
    "paths_within",
    "recipients",
    "recipients_within",
    "hosts",
    "hosts_within",
    "tool",
    "tool_names",
    "unclear",
];

/// The facts that a rule requires. None are given for a rule that calculates: a number that is too
/// large is an error, which must not be passed over.
pub fn required_facts(policy: &Policy) -> Vec<Alternatives> {
    let Ok(json) = policy.to_json() else { return Vec::new() };
    if calculates(&json) {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Some(name) = entity(json.get("resource")) {
        found.push(vec![RequiredFact { fact: "tool".to_owned(), values: [name].into() }]);
    }
    let conditions = json.get("conditions").and_then(Value::as_array);
    for condition in conditions.into_iter().flatten() {
        if condition.get("kind").and_then(Value::as_str) == Some("when") {
            collect(condition.get("body"), &mut found);
        }
    }
    found
}

/// The required facts by which a rule is found: each with its key.
pub fn best_keys(required: &[Alternatives]) -> Option<Vec<(&'static str, &RequiredFact)>> {
    let rank = |one: &RequiredFact| KEYS.iter().position(|key| *key == one.fact);
    let worst = |any: &Alternatives| -> Option<usize> {
        any.iter().map(rank).try_fold(0_usize, |worst, rank| Some(worst.max(rank?)))
    };
    let usable = required.iter().filter_map(|any| Some((worst(any)?, any)));
    let (_, best) = usable.min_by_key(|(rank, _)| *rank)?;
    best.iter().map(|one| Some((*KEYS.get(rank(one)?)?, one))).collect()
}

/// Whether a rule matches only calls with a certain value of one of these facts.
pub fn names(required: &[Alternatives], facts: &[&str]) -> bool {
    required.iter().any(|any| any.iter().all(|one| facts.contains(&one.fact.as_str())))
}

/// The values of a call by which rules are found.
pub fn keys(facts: &PolicyFacts) -> impl Iterator<Item = (&'static str, &str)> {
    let sets = [
        ("command", &facts.command),
        ("commands", &facts.commands),
        ("open_commands", &facts.open_commands),
        ("paths", &facts.paths),
        ("paths_within", &facts.paths_within),
        ("recipients", &facts.recipients),
        ("recipients_within", &facts.recipients_within),
        ("hosts", &facts.hosts),
        ("hosts_within", &facts.hosts_within),
        ("tool_names", &facts.tool_names),
        ("unclear", &facts.unclear),
    ];
    let texts = [("tool", &*facts.tool), ("exact_command", &*facts.exact_command)];
    let listed = sets.into_iter().flat_map(|(key, set)| set.iter().map(move |name| (key, &**name)));
    texts.into_iter().chain(listed)
}

fn entity(scope: Option<&Value>) -> Option<String> {
    let scope = scope.filter(|scope| scope.get("op").and_then(Value::as_str) == Some("=="))?;
    scope.get("entity")?.get("id")?.as_str().map(str::to_owned)
}

/// Whether numbers are added, subtracted, multiplied or negated.
fn calculates(json: &Value) -> bool {
    match json {
        Value::Object(members) => members.iter().any(|(name, value)| {
            matches!(name.as_str(), "+" | "-" | "*" | "neg") || calculates(value)
        }),
        Value::Array(items) => items.iter().any(calculates),
        _ => false,
    }
}

/// Adds what an expression requires to be true.
fn collect(body: Option<&Value>, found: &mut Vec<Alternatives>) {
    let Some(body) = body else { return };
    if let Some(both) = body.get("&&") {
        collect(both.get("left"), found);
        collect(both.get("right"), found);
        return;
    }
    if let Some(either) = body.get("||") {
        found.extend(either_of(either));
        return;
    }
    let sides = |name: &str| {
        let operation = body.get(name)?;
        Some((operation.get("left")?, operation.get("right")?))
    };
    let required = sides("contains").and_then(|(left, right)| {
        let listed = fact(left).zip(literal(right).map(|one| BTreeSet::from([one])));
        listed.or_else(|| fact(right).zip(literals(left)))
    });
    let any = || sides("containsAny").and_then(|(left, right)| fact(left).zip(literals(right)));
    let equal = || {
        let (left, right) = sides("==")?;
        let one = |value| literal(value).map(|one| BTreeSet::from([one]));
        fact(left).zip(one(right)).or_else(|| fact(right).zip(one(left)))
    };
    if let Some((fact, values)) = required.or_else(any).or_else(equal) {
        found.push(vec![RequiredFact { fact, values }]);
    }
}

/// What two alternatives require, if both require something to be found by.
fn either_of(either: &Value) -> Option<Alternatives> {
    let mut all = Alternatives::new();
    for side in ["left", "right"] {
        let mut found = Vec::new();
        collect(either.get(side), &mut found);
        let best = best_keys(&found)?;
        all.extend(best.into_iter().map(|(_, one)| one.clone()));
    }
    Some(all)
}

/// `context.NAME`
fn fact(value: &Value) -> Option<String> {
    let member = value.get(".")?;
    let context = member.get("left")?.get("Var")?.as_str()? == "context";
    context.then(|| member.get("attr")?.as_str().map(str::to_owned)).flatten()
}

fn literal(value: &Value) -> Option<String> {
    value.get("Value")?.as_str().map(str::to_owned)
}

fn literals(value: &Value) -> Option<BTreeSet<String>> {
    if let Some(items) = value.get("Set").and_then(Value::as_array) {
        return items.iter().map(literal).collect();
    }
    let items = value.get("Value")?.as_array()?;
    items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn required(text: &str) -> Vec<(String, Vec<String>)> {
        let policy = Policy::parse(None, text).unwrap();
        let found = required_facts(&policy).into_iter().flatten();
        found.map(|one| (one.fact, one.values.into_iter().collect())).collect()
    }

    fn one(fact: &str, values: &[&str]) -> (String, Vec<String>) {
        (fact.to_owned(), values.iter().map(|value| (*value).to_owned()).collect())
    }

    #[test]
    fn what_a_rule_requires_is_read_from_its_conditions() {
        let text = r#"forbid (principal, action, resource == Tool::"t") when {
            context.commands.containsAny(["a b", "c"]) && context.hour > 3
            && ["x", "y"].contains(context.agent) && context.exact_command == "z"
        } when { context.paths.contains("/srv") };"#;
        let expected = [
            one("tool", &["t"]),
            one("commands", &["a b", "c"]),
            one("agent", &["x", "y"]),
            one("exact_command", &["z"]),
            one("paths", &["/srv"]),
        ];
        assert_eq!(required(text), expected);
    }

    #[test]
    fn nothing_is_required_of_alternatives_negations_and_calculations() {
        for text in [
            "forbid (principal, action, resource) when { context.paths.contains(\"a\") || true };",
            "forbid (principal, action, resource) when { !context.paths.contains(\"a\") };",
            "forbid (principal, action, resource) unless { context.paths.contains(\"a\") };",
            "forbid (principal, action, resource) when { if true then true else false };",
            "forbid (principal, action, resource) when {
                context.paths.contains(\"a\") && context.tier * 9223372036854775807 > 1 };",
        ] {
            assert_eq!(required(text), [], "{text}");
        }
    }

    #[test]
    fn alternatives_are_found_by_each_of_them() {
        let text = r#"forbid (principal, action, resource) when { context.agent == "x" &&
            (context.unclear.contains("commands") || context.open_commands.containsAny(["a"])) };"#;
        let policy = Policy::parse(None, text).unwrap();
        let found = required_facts(&policy);
        let keys: Vec<&str> = best_keys(&found).unwrap().iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["unclear", "open_commands"]);
        let half = r#"forbid (principal, action, resource) when {
            context.unclear.contains("commands") || context.tier > 3 };"#;
        assert_eq!(best_keys(&required_facts(&Policy::parse(None, half).unwrap())), None);
    }
}
