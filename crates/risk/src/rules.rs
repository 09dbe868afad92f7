//! The shipped rules as people read them: list, explain, and check their own examples.

use std::borrow::Cow;

use crate::assess::assess;
use crate::call::{Annotations, Call};
use crate::code;
use crate::code::Language;
use crate::context::Context;
use crate::finding::Findings;
use crate::shell::tables::{ASSIGNMENTS, RULES};
use crate::tools;
use crate::verdict::Policy;
use crate::{cmd, powershell, shell, sql};
use countersign_crisis as crisis;
use countersign_crisis::ScreenOptions;
use countersign_json as json;
use countersign_types::tier::Tier;

/// What a rule is about, and so how its examples are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A shell command or variable.
    Command,
    /// A tool call: the tool's name, its arguments as JSON, and `= TIER` where it is another one.
    Tool,
    /// Code in a language.
    Code(Language),
    /// A statement for a database; the number is that of its reader.
    Statement(u8),
    /// Text that gives an agent new orders.
    Orders,
    /// The words of a person in danger.
    Crisis,
}

impl Subject {
    /// A word for it.
    pub fn label(self) -> &'static str {
        match self {
            Subject::Command => "command",
            Subject::Tool => "tool",
            Subject::Code(Language::Python) => "python",
            Subject::Code(Language::JavaScript) => "javascript",
            Subject::Code(Language::Perl) => "perl",
            Subject::Code(Language::Ruby) => "ruby",
            Subject::Code(Language::Php) => "php",
            Subject::Code(Language::Other) => "code",
            Subject::Statement(_) => "statement",
            Subject::Orders => "orders",
            Subject::Crisis => "crisis",
        }
    }
}

include!(concat!(env!("OUT_DIR"), "/fingerprint.rs"));

/// One number for all rules of danger in this build: it changes when any of them does.
pub fn fingerprint() -> &'static str {
    FINGERPRINT
}

/// One rule with everything a person may want to know of it.
#[derive(Debug, Clone, Copy)]
pub struct RuleInfo {
    /// What it is about.
    pub subject: Subject,
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
        if self.subject == Subject::Crisis {
            return "crisis";
        }
        self.id.split('.').next().unwrap_or(self.id)
    }
}

/// Every rule about commands and variables, in the order of the files.
pub fn commands() -> impl Iterator<Item = RuleInfo> {
    let rules = RULES.iter().map(|r| RuleInfo {
        subject: Subject::Command,
        id: r.id,
        tier: r.tier,
        say: r.say,
        safer: r.safer,
        examples: r.examples,
        counter_examples: r.counter_examples,
    });
    let assignments = ASSIGNMENTS.iter().map(|a| RuleInfo {
        subject: Subject::Command,
        id: a.id,
        tier: a.tier,
        say: a.say,
        safer: None,
        examples: a.examples,
        counter_examples: a.counter_examples,
    });
    rules.chain(assignments)
}

/// Every rule about tools.
fn tools() -> impl Iterator<Item = RuleInfo> {
    tools::about().map(|tool| RuleInfo {
        subject: Subject::Tool,
        id: tool.code,
        tier: tool.tier,
        say: tool.say,
        safer: tool.safer,
        examples: tool.examples,
        counter_examples: tool.counter_examples,
    })
}

/// Every rule about code. A rule for every language stands once.
fn code() -> Vec<RuleInfo> {
    let mut rules: Vec<RuleInfo> = Vec::new();
    for (language, rule) in code::rules() {
        if rules.iter().any(|r| r.id == rule.id && r.examples == rule.examples) {
            continue;
        }
        rules.push(RuleInfo {
            subject: Subject::Code(language),
            id: rule.id,
            tier: rule.tier,
            say: rule.say,
            safer: Some(rule.safer).filter(|s| !s.is_empty()),
            examples: rule.examples,
            counter_examples: rule.counter,
        });
    }
    rules
}

/// Every rule about statements for a database.
fn statements() -> impl Iterator<Item = RuleInfo> {
    (0_u8..).zip(sql::rules()).flat_map(|(reader, (table, _))| {
        table.iter().map(move |rule| RuleInfo {
            subject: Subject::Statement(reader),
            id: rule.id,
            tier: rule.tier,
            say: rule.say,
            safer: Some(rule.safer).filter(|s| !s.is_empty()),
            examples: rule.examples,
            counter_examples: rule.counter,
        })
    })
}

/// Every rule about text.
fn texts() -> impl Iterator<Item = RuleInfo> {
    let orders = shell::phrases().iter().map(|p| RuleInfo {
        subject: Subject::Orders,
        id: p.id,
        tier: shell::NEW_ORDERS,
        say: p.say,
        safer: None,
        examples: p.examples,
        counter_examples: p.counter_examples,
    });
    let crisis = crisis::rule_notes().iter().map(|rule| RuleInfo {
        subject: Subject::Crisis,
        id: rule.id,
        tier: Tier::Critical,
        say: rule.say,
        safer: None,
        examples: rule.examples,
        counter_examples: rule.counter_examples,
    });
    orders.chain(crisis)
}

/// Every rule, by family.
pub fn all() -> Vec<RuleInfo> {
    let mut rules: Vec<RuleInfo> = commands().collect();
    rules.extend(tools().chain(code()).chain(statements()).chain(texts()));
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
    let ctx = Context::default();
    match rule.subject {
        // Rules that only say what an unlisted program seems to do leave no finding of their own.
        Subject::Command if rule.id.starts_with("generic.looks") || rule.id == "generic.bare" => {
            return shell::looks(rule.id, line) == wanted;
        }
        // An example may name its shell: `PS> …`, `cmd> …`.
        Subject::Command => match (line.strip_prefix("PS> "), line.strip_prefix("cmd> ")) {
            (Some(line), _) => powershell::read(line, &ctx, &mut findings),
            (_, Some(line)) => cmd::read(line, &ctx, &mut findings),
            _ => shell::read(line, &ctx, &mut findings),
        },
        Subject::Tool => return tool_holds(rule, line, wanted),
        Subject::Code(language) => {
            // What stands for every language is written in Python.
            if language != Language::Python && code::is_python(rule.id, line) {
                return true;
            }
            code::read(language, line, 0, &ctx, &mut findings);
        }
        Subject::Statement(reader) => {
            let Some((_, read)) = sql::rules().into_iter().nth(usize::from(reader)) else {
                return false;
            };
            read(line, 0, &ctx, &mut findings);
            if rule.tier == Tier::Safe && wanted {
                return findings.tier() == Tier::Safe;
            }
        }
        Subject::Orders => {
            let found = shell::new_orders(line);
            return if wanted { found.is_some_and(|p| p.id == rule.id) } else { found.is_none() };
        }
        Subject::Crisis => {
            return crisis::screen(line, &ScreenOptions::default()).crisis == wanted;
        }
    }
    findings.iter().any(|f| f.code == rule.id) == wanted
}

/// `tool {json}` or `tool {json} = TIER`.
fn tool_holds(rule: &RuleInfo, line: &str, wanted: bool) -> bool {
    let Some((tool, rest)) = line.split_once(' ') else { return false };
    let (text, named) = match rest.rsplit_once(" = ") {
        Some((text, tier)) => (text, Tier::parse(tier)),
        None => (rest, None),
    };
    let text = text.replace('\n', "\\n");
    let Ok(arguments) = json::parse(&text) else { return false };
    let call = Call {
        tool: Cow::Borrowed(tool),
        arguments,
        agent: None,
        session: None,
        context: Context { host: tools::host_of(rule.id), ..Context::default() },
        annotations: Annotations::default(),
        claimed: None,
    };
    let seen = assess(&call, &Policy::default());
    let found = seen.reasons.iter().any(|r| r.code == rule.id);
    if wanted {
        return found && seen.tier == named.unwrap_or(rule.tier);
    }
    let differs = named.is_some_and(|t| t != rule.tier) || !found || seen.reasons.len() > 1;
    named == Some(seen.tier) && differs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_keeps_its_own_examples() {
        let wrong: Vec<Mismatch> = all().iter().flat_map(check).collect();
        assert!(wrong.is_empty(), "{} examples fail: {wrong:#?}", wrong.len());
    }

    #[test]
    fn a_wrong_example_is_found() {
        let rule = RuleInfo {
            subject: Subject::Command,
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
