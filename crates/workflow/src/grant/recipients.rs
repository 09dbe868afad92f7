//! Whom a call reaches, for budgets. The assessment lists the texts of arguments that it knows:
//! each must name one person, and no other argument that the agent chooses may name more.

use countersign_json::Value;

use super::argument::{ArgumentConstraint, ArgumentRule};
use super::{GrantQuery, GrantShape, members};

/// All recipients of a call; none if they are not all known.
pub(super) fn all_recipients<'a>(
    shape: &GrantShape,
    asked: &GrantQuery<'a>,
) -> Option<&'a [String]> {
    let GrantShape::ToolCall(shape) = shape else { return None };
    let reached = &asked.assessment.impact.recipients;
    let listed = reached.listed.as_slice();
    let is_known = |one: &ArgumentConstraint| match asked.arguments.get(&one.member) {
        Some(value) => names_no_others(one, value, listed),
        None => true,
    };
    let all_listed = usize::try_from(reached.count) == Ok(listed.len());
    let all_known = !reached.is_empty()
        && all_listed
        && listed.iter().all(|name| is_one_recipient(name))
        && shape.arguments.iter().all(is_known);
    all_known.then_some(listed)
}

/// Whether an argument names nobody except listed recipients, or a person chose its value.
fn names_no_others(condition: &ArgumentConstraint, value: &Value<'_>, listed: &[String]) -> bool {
    let is_listed = |text: &str| {
        let mut names = text.split([',', ';']).map(str::trim).filter(|name| !name.is_empty());
        names.all(|name| listed.iter().any(|known| known == name))
    };
    let names_listed = || value.as_str().is_some_and(is_listed);
    match condition.rule {
        ArgumentRule::OneOf(_) => true,
        ArgumentRule::AtMost(_) => !members::is_recipient(&condition.member) || names_listed(),
        ArgumentRule::AnyText => members::is_message_text(&condition.member) || names_listed(),
    }
}

/// Whether a text is one name or one address, also as `NAME <ADDRESS>`. Tools split a text with
/// blanks, line breaks or other signs into several recipients.
fn is_one_recipient(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "@._-+#:/=".contains(c);
    let inner = text.strip_suffix('>').and_then(|rest| rest.split_once('<'));
    let (name, address) = inner.unwrap_or(("", text));
    let is_name = |c: char| c == ' ' || c.is_alphanumeric() || "._-".contains(c);
    !address.is_empty()
        && address.chars().all(is_plain)
        && address.matches('@').count() <= 1
        && name.chars().all(is_name)
}
