//! Holds the shipped rules against their own examples.

use std::borrow::Cow;

use super::{RuleInfo, Subject};
use crate::assess::assess;
use crate::assessment::Assessment;
use crate::call::{Annotations, Call};
use crate::context::{Context, Environment};
use crate::finding::Findings;
use crate::paths::class_of;
use crate::verdict::Policy;
use crate::{command_text, readers, shell, sql, tools};
use countersign_crisis as crisis;
use countersign_json as json;
use countersign_types::tier::Tier;

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
    let lines = rule.examples.iter().map(|l| (*l, true));
    let counters = rule.counter_examples.iter().map(|l| (*l, false));
    lines
        .chain(counters)
        .filter(|(line, wanted)| !holds(rule, line, *wanted))
        .map(|(line, wanted)| Mismatch { id: rule.id, line, wanted })
        .collect()
}

/// Whether a line does what it stands for.
fn holds(rule: &RuleInfo, line: &str, wanted: bool) -> bool {
    let mut findings = Findings::default();
    let ctx = Context { readers: readers::all(), ..Context::default() };
    match rule.subject {
        // Rules that only say what an unlisted program seems to do leave no finding of their own.
        Subject::Command if rule.id.starts_with("generic.looks") || rule.id == "generic.bare" => {
            return shell::looks(rule.id, line) == wanted;
        }
        // An example may name its shell: `PS> …`, `cmd> …`.
        Subject::Command => match (line.strip_prefix("PS> "), line.strip_prefix("cmd> ")) {
            (Some(line), _) => readers::read_powershell(line, &ctx, &mut findings),
            (_, Some(line)) => readers::read_cmd(line, &ctx, &mut findings),
            _ => command_text::read(line, &ctx, &mut findings),
        },
        Subject::Tool => return tool_holds(rule, line, wanted),
        Subject::ToolStructure => {
            let seen = line.split_once(' ').and_then(|(tool, text)| assess_tool(rule, tool, text));
            return seen
                .is_some_and(|seen| seen.reasons.iter().any(|r| r.code == rule.id) == wanted);
        }
        Subject::Code(language) => {
            readers::read_code(language, line, 0, &ctx, &mut findings);
            if wanted {
                let tier = rule.tier;
                return findings.iter().any(|f| f.code == rule.id && f.weight.tier() >= tier);
            }
        }
        Subject::Statement(reader) => return statement_holds(rule, reader, line, wanted),
        Subject::Orders => {
            let found = crate::prose::new_orders(line);
            return if wanted { found.is_some_and(|p| p.id == rule.id) } else { found.is_none() };
        }
        Subject::Path => return (class_of(line, None).id == rule.id) == wanted,
        Subject::Crisis => {
            return crisis::screen_by_rules(line).by_rules == wanted;
        }
    }
    findings.iter().any(|f| f.code == rule.id) == wanted
}

/// An example has the rule's tier, and in production at least the one that the rule has there.
fn statement_holds(rule: &RuleInfo, reader: u8, line: &str, wanted: bool) -> bool {
    let Some((table, read)) = sql::rules().into_iter().nth(usize::from(reader)) else {
        return false;
    };
    let seen = |environment: Environment| {
        let mut findings = Findings::default();
        read(line, 0, &Context { environment, ..Context::default() }, &mut findings);
        findings
    };
    let findings = seen(Environment::Workstation);
    if !wanted {
        return findings.iter().all(|f| f.code != rule.id);
    }
    let holds = match rule.tier {
        Tier::Safe => findings.tier() == Tier::Safe,
        tier => findings.iter().any(|f| f.code == rule.id && f.weight.tier() == tier),
    };
    let grave = table.iter().find(|r| r.id == rule.id).map(|r| r.production);
    holds && grave.is_some_and(|tier| seen(Environment::Production).tier() >= tier)
}

/// `tool {json}` or `tool {json} = TIER`.
fn tool_holds(rule: &RuleInfo, line: &str, wanted: bool) -> bool {
    let Some((tool, rest)) = line.split_once(' ') else { return false };
    let (text, named) = match rest.rsplit_once(" = ") {
        Some((text, tier)) => (text, Tier::parse(tier)),
        None => (rest, None),
    };
    let Some(seen) = assess_tool(rule, tool, text) else { return false };
    let found = seen.reasons.iter().any(|r| r.code == rule.id);
    if wanted {
        return found && seen.tier == named.unwrap_or(rule.tier);
    }
    let differs = named.is_some_and(|t| t != rule.tier) || !found || seen.reasons.len() > 1;
    named == Some(seen.tier) && differs
}

/// The assessment of an example: a tool and its arguments as JSON.
fn assess_tool(rule: &RuleInfo, tool: &str, arguments: &str) -> Option<Assessment> {
    let text = arguments.replace('\n', "\\n");
    let call = Call {
        tool: Cow::Borrowed(tool),
        arguments: json::parse(&text).ok()?,
        agent: None,
        session: None,
        context: Context { host: tools::host_of(rule.id), ..Context::default() },
        annotations: Annotations::default(),
        claimed: None,
        facts: None,
    };
    Some(assess(&call, &Policy::default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::all;

    #[test]
    fn every_rule_keeps_its_own_examples() {
        // The crate that holds the rules about crises checks their examples.
        let own = all().into_iter().filter(|rule| rule.subject != Subject::Crisis);
        let wrong: Vec<Mismatch> = own.flat_map(|rule| check(&rule)).collect();
        assert!(wrong.is_empty(), "{} examples fail: {wrong:#?}", wrong.len());
    }

    #[test]
    fn a_wrong_example_is_found() {
        let rule = RuleInfo {
            subject: Subject::Command,
            id: "git.push.force",
            tier: Tier::High,
            message: "",
            suggestion: None,
            examples: &["git status"],
            counter_examples: &["git push --force"],
        };
        assert_eq!(check(&rule).len(), 2);
    }
}
