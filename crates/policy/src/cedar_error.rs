//! Errors of Cedar's parser and validator, with file and line.

use miette::Diagnostic;

use crate::source::{PolicyProblem, PolicySource};

/// What Cedar says about a file, with the line that it is about.
pub fn problem(source: &PolicySource, rule: Option<&str>, error: &dyn Diagnostic) -> PolicyProblem {
    let offset = error.labels().and_then(|mut labels| labels.next()).map(|label| label.offset());
    let mut message = without_rule_name(&error.to_string());
    if let Some(help) = error.help() {
        message.push_str(". ");
        message.push_str(&help.to_string());
    }
    let line = offset.map(|at| line_of(&source.text, at));
    PolicyProblem::new(&source.file, rule, message).at(line)
}

/// The line of a place in a text, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Cedar begins with the name of the rule, which the problem names already.
fn without_rule_name(message: &str) -> String {
    let rest = message.strip_prefix("for policy `").and_then(|rest| rest.split_once("`, "));
    rest.map_or(message, |(_, rest)| rest).to_owned()
}
