//! Who may have made a call, and when, where a log says neither.

use std::collections::BTreeSet;

use cedar_policy::Policy;
use serde_json::Value;

use crate::annotations::RuleKind;
use crate::compiled::CompiledPolicy;
use crate::facts::CallTime;

/// How many agents and times are tried out for a call.
const MAX_CALLERS: usize = 1_024;

/// An agent and a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PossibleCaller {
    /// The agent.
    pub agent: String,
    /// The time.
    pub time: CallTime,
}

impl CompiledPolicy {
    /// The agents and times that these rules can tell apart: for every other agent and time they
    /// decide as for one of these. None if that cannot be told, or if there are too many.
    pub fn possible_callers(&self) -> Option<Vec<PossibleCaller>> {
        let conditions: Option<Vec<Value>> = self.conditions().collect();
        let conditions = conditions?;
        let mut named = AgentNames::default();
        if !conditions.iter().all(|rule| named.read_rule(rule)) {
            return None;
        }
        let timed = conditions.iter().any(|rule| reads(rule, &["hour", "weekday"]));
        let times = if timed { every_time() } else { vec![CallTime::default()] };
        let agents = named.one_of_each();
        if agents.len() * times.len() > MAX_CALLERS {
            return None;
        }
        let of_agent = |agent: String| {
            times.iter().map(move |time| PossibleCaller { agent: agent.clone(), time: *time })
        };
        Some(agents.into_iter().flat_map(of_agent).collect())
    }

    /// Whether a rule may go by this fact.
    pub fn reads_fact(&self, fact: &str) -> bool {
        self.conditions().any(|rule| rule.is_none_or(|rule| reads(&rule, &[fact])))
    }

    /// Whether a rule lets calls pass.
    pub fn has_permits(&self) -> bool {
        self.rules.iter().any(|rule| rule.about.kind == RuleKind::Permit)
    }

    /// What each rule requires; none for one that cannot be written as JSON.
    fn conditions(&self) -> impl Iterator<Item = Option<Value>> + '_ {
        self.read().map(|(_, policy)| condition_json(&policy))
    }
}

/// What a rule requires, without its annotations.
fn condition_json(policy: &Policy) -> Option<Value> {
    let mut json = policy.to_json().ok()?;
    json.as_object_mut()?.remove("annotations");
    Some(json)
}

/// Whether a fact with one of these names is read, or all facts as one value.
fn reads(value: &Value, names: &[&str]) -> bool {
    match value {
        Value::Object(members) => {
            let attribute = members.get("attr").and_then(Value::as_str);
            attribute.is_some_and(|name| names.contains(&name))
                || members.values().any(|member| reads(member, names))
        }
        Value::Array(values) => values.iter().any(|value| reads(value, names)),
        _ => false,
    }
}

/// The agents that rules name.
#[derive(Default)]
struct AgentNames {
    exact: BTreeSet<String>,
    /// Beginnings of names.
    prefixes: BTreeSet<String>,
}

impl AgentNames {
    /// Reads a rule. False if it goes by the agent in a way that is not understood.
    fn read_rule(&mut self, rule: &Value) -> bool {
        let head = rule.get("principal");
        match head.and_then(|head| head.get("op")).and_then(Value::as_str) {
            Some("All") => {}
            Some("==" | "in" | "is") => strings(head, &mut self.exact),
            _ => return false,
        }
        rule.get("conditions").is_none_or(|conditions| self.read(conditions))
    }

    fn read(&mut self, value: &Value) -> bool {
        if is_agent(value) {
            return false;
        }
        match value {
            Value::Object(members) => {
                // All facts as one value.
                if members.get("Var").and_then(Value::as_str) == Some("context") {
                    return false;
                }
                members.iter().all(|(operator, operands)| self.read_operator(operator, operands))
            }
            Value::Array(values) => values.iter().all(|value| self.read(value)),
            _ => true,
        }
    }

    fn read_operator(&mut self, operator: &str, operands: &Value) -> bool {
        let (left, right) = (operands.get("left"), operands.get("right"));
        let agent = |side: Option<&Value>| side.is_some_and(is_agent);
        match operator {
            "." | "has" if left.is_some_and(|left| is_variable(left, "context")) => true,
            "==" | "!=" | "in" if agent(left) => self.read_constant(right),
            "==" | "!=" | "contains" if agent(right) => self.read_constant(left),
            "is" if agent(left) => operands.get("in").is_none(),
            "like" if agent(left) => self.read_pattern(operands.get("pattern")),
            _ => self.read(operands),
        }
    }

    fn read_constant(&mut self, value: Option<&Value>) -> bool {
        strings(value, &mut self.exact);
        value.is_some_and(is_constant)
    }

    /// A text, or the beginning of one: `ci-*`. Of other patterns it is not known which names fit
    /// two of them.
    fn read_pattern(&mut self, pattern: Option<&Value>) -> bool {
        let Some(parts) = pattern.and_then(Value::as_array) else { return false };
        let is_star = |part: &Value| part.as_str() == Some("Wildcard");
        let starts = parts.last().is_some_and(is_star);
        let fixed = if starts { parts.len() - 1 } else { parts.len() };
        let text = parts.iter().take(fixed).map(|part| part.get("Literal")?.as_str());
        let Some(text) = text.collect::<Option<String>>() else { return false };
        let names = if starts { &mut self.prefixes } else { &mut self.exact };
        names.insert(text);
        true
    }

    /// Each named agent, one more for each beginning, and one that no rule names.
    fn one_of_each(self) -> BTreeSet<String> {
        let mut other = "\u{fffd}".to_owned();
        while self.exact.iter().any(|name| name.contains(&other)) {
            other.push('\u{fffd}');
        }
        let more: Vec<String> =
            self.prefixes.iter().map(|start| format!("{start}{other}")).collect();
        self.exact.into_iter().chain(self.prefixes).chain(more).chain([other]).collect()
    }
}

fn is_agent(value: &Value) -> bool {
    let fact = value.get(".");
    let of_context =
        fact.and_then(|fact| fact.get("left")).is_some_and(|left| is_variable(left, "context"));
    let named = fact.and_then(|fact| fact.get("attr")).and_then(Value::as_str);
    is_variable(value, "principal") || (of_context && named == Some("agent"))
}

fn is_variable(value: &Value, name: &str) -> bool {
    value.get("Var").and_then(Value::as_str) == Some(name)
}

/// Whether an expression has the same value for every call.
fn is_constant(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.contains_key("Var") && members.values().all(is_constant),
        Value::Array(values) => values.iter().all(is_constant),
        _ => true,
    }
}

/// All texts in an expression.
fn strings(value: Option<&Value>, found: &mut BTreeSet<String>) {
    match value {
        Some(Value::String(text)) => {
            found.insert(text.clone());
        }
        Some(Value::Object(members)) => {
            members.values().for_each(|member| strings(Some(member), found));
        }
        Some(Value::Array(values)) => values.iter().for_each(|one| strings(Some(one), found)),
        _ => {}
    }
}

fn every_time() -> Vec<CallTime> {
    (0..7).flat_map(|weekday| (0..24).map(move |hour| CallTime { hour, weekday })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::PolicySection;
    use crate::source::PolicySource;

    fn compiled(rule: &str) -> CompiledPolicy {
        let source = PolicySource { file: "a.cedar".to_owned(), text: rule.to_owned() };
        CompiledPolicy::compile("c.toml", &PolicySection::default(), &[source]).unwrap()
    }

    fn permit_when(condition: &str) -> CompiledPolicy {
        compiled(&format!(
            "@id(\"a\") permit (principal, action, resource) when {{ {condition} }};"
        ))
    }

    fn callers(policy: &CompiledPolicy) -> Vec<PossibleCaller> {
        policy.possible_callers().unwrap()
    }

    fn knows(callers: &[PossibleCaller], agent: &str) -> bool {
        callers.iter().any(|caller| caller.agent == agent)
    }

    /// Whether the rule decides differently about two of the callers.
    fn tells_apart(policy: &CompiledPolicy) -> bool {
        let matches = |caller: PossibleCaller| {
            let facts = crate::facts::PolicyFacts {
                agent: caller.agent,
                hour: caller.time.hour,
                weekday: caller.time.day(),
                environment: "ci".to_owned(),
                ..crate::facts::PolicyFacts::default()
            };
            policy.matches_of_all(&facts).rules.len()
        };
        let found: BTreeSet<usize> = callers(policy).into_iter().map(matches).collect();
        found.len() == 2
    }

    #[test]
    fn rules_without_agent_and_time_have_one_caller() {
        let policy = compiled(
            "@id(\"hour-agent\") @reason(\"weekday\")\n\
             permit (principal, action, resource) when { context.commands.contains(\"hour\") };",
        );
        assert_eq!(callers(&policy).len(), 1);
    }

    #[test]
    fn agents_in_the_head_and_the_conditions_are_told_apart() {
        let head = compiled("@id(\"a\") permit (principal == Agent::\"ci\", action, resource);");
        let member = permit_when("[\"x\", \"ci\"].contains(context.agent)");
        let variable = permit_when("!(principal == Agent::\"ci\")");
        let inside = permit_when("principal in [Agent::\"ci\", Agent::\"x\"]");
        for policy in [head, member, variable, inside] {
            let found = callers(&policy);
            assert!(knows(&found, "ci") && tells_apart(&policy), "{found:?}");
        }
    }

    #[test]
    fn an_agent_that_no_rule_names_is_among_them() {
        for condition in [
            "context.agent != \"\"",
            "context.agent like \"ci-*\" && context.agent != \"ci-\"",
            "context.agent like \"*\" && context.agent != \"\"",
            "context.agent like \"c*\" && context.agent like \"ci*\" && context.agent != \"ci\"",
        ] {
            assert!(tells_apart(&permit_when(condition)), "{condition}");
        }
    }

    #[test]
    fn conditions_that_are_not_understood_are_never_taken_for_harmless() {
        for condition in [
            "context.agent like \"*-prod\" && context.agent like \"ci-*\"",
            "context.agent == context.session",
            "context.tool_names.contains(context.agent)",
            "[context.agent].containsAny([\"ci\"])",
            "(if context.reversible then context.agent else \"x\") == \"ci\"",
        ] {
            assert_eq!(permit_when(condition).possible_callers(), None, "{condition}");
        }
    }

    #[test]
    fn rules_about_the_time_have_every_hour_of_the_week() {
        for condition in ["context.hour > 3", "context.weekday == Day::\"sunday\""] {
            let policy = permit_when(condition);
            assert_eq!(callers(&policy).len(), 7 * 24);
            assert!(tells_apart(&policy));
        }
        let agents: Vec<String> = (0..9).map(|number| format!("\"a{number}\"")).collect();
        let many = format!("context.hour > 3 && [{}].contains(context.agent)", agents.join(", "));
        assert_eq!(permit_when(&many).possible_callers(), None);
    }

    #[test]
    fn the_facts_that_a_rule_reads() {
        let policy = permit_when("context.project == \"/srv\" && context.host like \"x*\"");
        assert!(policy.reads_fact("project") && policy.reads_fact("host"));
        assert!(!policy.reads_fact("session"));
    }
}
