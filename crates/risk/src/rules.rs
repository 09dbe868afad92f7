//! The shipped rules as people read them: list, explain, and check their own examples.

use crate::code;
use crate::code::Language;
use crate::command_tables::{ASSIGNMENTS, CLASSES, RULES, RUNNERS, Runner};
use crate::paths::PathAction;
use crate::sql;
use crate::structural_findings;
use crate::tools;
use countersign_crisis as crisis;
use countersign_types::tier::Tier;

mod check;
mod examples;

pub use check::{Mismatch, check};

/// What a rule is about, and so how its examples are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A shell command or variable.
    Command,
    /// A tool call: the tool's name, its arguments as JSON, and `= TIER` where it is another one.
    Tool,
    /// The structure of a tool call: the tool's name and its arguments as JSON.
    ToolStructure,
    /// Code in a language.
    Code(Language),
    /// A statement for a database; the number is that of its reader.
    Statement(u8),
    /// Text that gives an agent new orders.
    Orders,
    /// The class of a path.
    Path,
    /// The words of a person in danger.
    Crisis,
}

impl Subject {
    /// A word for it.
    pub fn label(self) -> &'static str {
        match self {
            Subject::Command => "command",
            Subject::Tool | Subject::ToolStructure => "tool",
            Subject::Code(Language::Python) => "python",
            Subject::Code(Language::JavaScript) => "javascript",
            Subject::Code(Language::Perl) => "perl",
            Subject::Code(Language::Ruby) => "ruby",
            Subject::Code(Language::Php) => "php",
            Subject::Code(Language::Other) => "code",
            Subject::Statement(_) => "statement",
            Subject::Orders => "orders",
            Subject::Path => "path",
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
    pub message: &'static str,
    /// A safer way, where there is one.
    pub suggestion: Option<&'static str>,
    /// Lines that must match.
    pub examples: &'static [&'static str],
    /// Lines that must not.
    pub counter_examples: &'static [&'static str],
}

impl RuleInfo {
    /// The family: the rule file it is in.
    pub fn family(&self) -> &'static str {
        match self.subject {
            Subject::Crisis => "crisis",
            Subject::Path => "paths",
            _ => self.id.split('.').next().unwrap_or(self.id),
        }
    }
}

/// Every rule about commands and variables, in the order of the files.
pub fn commands() -> impl Iterator<Item = RuleInfo> {
    let rules = RULES.iter().zip(examples::COMMANDS).map(|(r, shown)| RuleInfo {
        subject: Subject::Command,
        id: r.id,
        tier: r.tier,
        message: r.message,
        suggestion: r.suggestion,
        examples: shown.matching,
        counter_examples: shown.counter_examples,
    });
    let assignments = ASSIGNMENTS.iter().zip(examples::ASSIGNMENTS).map(|(a, shown)| RuleInfo {
        subject: Subject::Command,
        id: a.id,
        tier: a.tier,
        message: a.message,
        suggestion: None,
        examples: shown.matching,
        counter_examples: shown.counter_examples,
    });
    rules.chain(assignments)
}

/// Every runner with its example: a call with `{}` in place of the inner command.
pub fn runners() -> impl Iterator<Item = (&'static Runner, &'static str)> {
    RUNNERS.iter().zip(examples::RUNNERS.iter().copied())
}

/// Every rule about tools, and the words by which tools are guessed.
fn tools() -> impl Iterator<Item = RuleInfo> {
    tools::about().zip(examples::TOOLS).map(|(tool, shown)| RuleInfo {
        subject: Subject::Tool,
        id: tool.code,
        tier: tool.tier,
        message: tool.message,
        suggestion: tool.suggestion,
        examples: shown.matching,
        counter_examples: shown.counter_examples,
    })
}

/// Every rule about code. A rule for every language stands once; its examples are in Python.
fn code() -> impl Iterator<Item = RuleInfo> {
    let own = [
        (Language::Python, examples::PYTHON_RULES, examples::PYTHON_COMBOS),
        (Language::JavaScript, examples::JAVASCRIPT_RULES, examples::JAVASCRIPT_COMBOS),
        (Language::Perl, examples::PERL_RULES, examples::PERL_COMBOS),
        (Language::Ruby, examples::RUBY_RULES, examples::RUBY_COMBOS),
        (Language::Php, examples::PHP_RULES, examples::PHP_COMBOS),
        (Language::Other, examples::OTHER_RULES, examples::OTHER_COMBOS),
    ];
    own.into_iter().flat_map(|(language, rules, combos)| {
        // A language's table holds its own rules first, then those of every language.
        let (common_rules, common_combos) = match language {
            Language::Python => (examples::EVERY_LANGUAGE_RULES, examples::EVERY_LANGUAGE_COMBOS),
            _ => Default::default(),
        };
        let (all_rules, all_combos) = code::rules(language);
        let rules = all_rules.iter().zip(rules.iter().chain(common_rules));
        let combos = all_combos.iter().zip(combos.iter().chain(common_combos));
        rules.chain(combos).map(move |(rule, shown)| RuleInfo {
            subject: Subject::Code(language),
            id: rule.id,
            tier: rule.tier,
            message: rule.message,
            suggestion: Some(rule.suggestion).filter(|s| !s.is_empty()),
            examples: shown.matching,
            counter_examples: shown.counter_examples,
        })
    })
}

/// Every rule about statements for a database.
fn statements() -> impl Iterator<Item = RuleInfo> {
    let shown = [examples::SQL, examples::REDIS, examples::MONGO];
    (0_u8..).zip(sql::rules()).zip(shown).flat_map(|((reader, (table, _)), shown)| {
        table.iter().zip(shown).map(move |(rule, shown)| RuleInfo {
            subject: Subject::Statement(reader),
            id: rule.id,
            tier: rule.tier,
            message: rule.message,
            suggestion: Some(rule.suggestion).filter(|s| !s.is_empty()),
            examples: shown.matching,
            counter_examples: shown.counter_examples,
        })
    })
}

/// Every finding that comes from the structure of a call.
fn structure() -> impl Iterator<Item = RuleInfo> {
    let rules = structural_findings::ALL.iter().zip(examples::STRUCTURE);
    rules.map(|((is_tool, rule), shown)| RuleInfo {
        subject: if *is_tool { Subject::ToolStructure } else { Subject::Command },
        id: rule.code,
        tier: rule.tier,
        message: rule.message,
        suggestion: rule.suggestion,
        examples: shown.matching,
        counter_examples: shown.counter_examples,
    })
}

/// Every class of paths, with the tier of writing to it.
fn paths() -> impl Iterator<Item = RuleInfo> {
    CLASSES.iter().zip(examples::PATH_CLASSES).map(|(class, shown)| RuleInfo {
        subject: Subject::Path,
        id: class.id,
        tier: class.cost(PathAction::Write),
        message: class.name,
        suggestion: None,
        examples: shown.matching,
        counter_examples: shown.counter_examples,
    })
}

/// Every rule about text.
fn texts() -> impl Iterator<Item = RuleInfo> {
    let orders = crate::prose::phrases().iter().zip(examples::PHRASES).map(|(p, shown)| RuleInfo {
        subject: Subject::Orders,
        id: p.id,
        tier: crate::prose::NEW_ORDERS,
        message: p.message,
        suggestion: None,
        examples: shown.matching,
        counter_examples: shown.counter_examples,
    });
    let crisis = crisis::rule_notes().iter().map(|rule| RuleInfo {
        subject: Subject::Crisis,
        id: rule.id,
        tier: Tier::Critical,
        message: rule.say,
        suggestion: None,
        examples: rule.examples,
        counter_examples: rule.counter_examples,
    });
    orders.chain(crisis)
}

/// Every rule, by family.
pub fn all() -> Vec<RuleInfo> {
    let mut rules: Vec<RuleInfo> = commands().collect();
    rules.extend(structure().chain(tools()).chain(code()).chain(statements()));
    rules.extend(paths().chain(texts()));
    rules.sort_by_key(RuleInfo::family);
    rules
}
