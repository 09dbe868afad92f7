//! Labels of tools: what a label adds, and which label a tool's definition suggests.

use super::guess::{add_guess, named_verbs};
use super::subject::Subject;
use super::table::{self, Class};
use super::{arguments, name};
use crate::call::Annotations;
use crate::effect::Effect;
use crate::finding::Findings;
use crate::structural_findings as rules;
use crate::tool_label::ToolLabel;

/// Adds what the label says. A label other than `reads` asks, whatever the tool's name and its
/// description in the catalogue say.
pub(super) fn add(subject: &Subject<'_>, out: &mut Findings) {
    let Some(label) = subject.context.label else { return };
    let (rule, effect) = match label {
        ToolLabel::Reads => (&rules::LABEL_READS, Effect::Read),
        ToolLabel::Changes => (&rules::LABEL_CHANGES, Effect::Remote),
        ToolLabel::Sends => (&rules::LABEL_SENDS, Effect::Send),
        ToolLabel::Runs => (&rules::LABEL_RUNS, Effect::Exec),
    };
    out.effect(effect);
    add_guess(subject, rule.finding(), out);
}

/// The label that a tool's name, its annotations and the names of its arguments suggest; none if
/// they do not say what the tool does. Its server wrote all of them, so they only raise: a
/// `readOnlyHint` suggests nothing.
pub fn suggested_label(
    tool: &str,
    annotations: Annotations,
    arguments: &[&str],
) -> Option<ToolLabel> {
    let by_name = named_verbs(tool).into_iter().map(|verb| label_of(verb.class)).max();
    let changes = annotations.destructive == Some(true) || annotations.read_only == Some(false);
    let by_hint = changes.then_some(ToolLabel::Changes);
    let is_code = |key: &&str| {
        let role = table::exec_argument(&name::compact(key)).or_else(|| arguments::guessed(key));
        role.is_some_and(table::Role::is_code)
    };
    let by_arguments = arguments.iter().any(is_code).then_some(ToolLabel::Runs);
    by_name.max(by_hint).max(by_arguments)
}

const fn label_of(class: Class) -> ToolLabel {
    match class {
        Class::Read | Class::Find => ToolLabel::Reads,
        Class::Exec | Class::Control => ToolLabel::Runs,
        Class::Send | Class::Money | Class::Commit | Class::Delegate => ToolLabel::Sends,
        Class::Take | Class::Write | Class::Manage | Class::Delete | Class::Grant | Class::End => {
            ToolLabel::Changes
        }
    }
}
