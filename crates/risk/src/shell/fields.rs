//! Words being put together from pieces: plain text, values, and outputs of commands.

use std::borrow::Cow;

use crate::flow::{Flow, Taint};
use countersign_shell::posix::ast::Part;

/// A word being put together.
pub(super) struct Field {
    pub text: String,
    pub glob: bool,
    /// Something was written, even if it is empty (`""`).
    pub real: bool,
}

impl Field {
    pub fn new() -> Field {
        Field { text: String::new(), glob: false, real: false }
    }
}

/// A word of plain and quoted pieces without braces, and whether it holds a pattern.
pub(super) fn fixed(parts: &[Part<'_>]) -> Option<(String, bool)> {
    let mut length = 2;
    for part in parts {
        match part {
            Part::Bare(text) if !text.contains('{') => length += text.len(),
            Part::Quoted(text) => length += text.len(),
            _ => return None,
        }
    }
    let mut text = String::with_capacity(length);
    let mut glob = false;
    for (i, part) in parts.iter().enumerate() {
        match part {
            Part::Bare(piece) => {
                glob |= is_pattern(piece);
                text.push_str(piece);
            }
            Part::Quoted(piece) => {
                text.push_str(if i == 0 && piece.starts_with('~') { "./" } else { "" });
                text.push_str(piece);
            }
            _ => {}
        }
    }
    (!parts.is_empty()).then_some((text, glob))
}

/// Whether unquoted text holds a `*`, a `?` or brackets.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?']) || (text.contains('[') && text.contains(']'))
}

/// A quoted `~` is a name, not a home.
pub(super) fn guard_tilde<'t>(text: &Cow<'t, str>) -> Cow<'t, str> {
    if text.starts_with('~') { Cow::Owned(format!("./{text}")) } else { text.clone() }
}

/// Adds a value: whole where quoted, split at blanks where not.
pub(super) fn splice(fields: &mut Vec<Field>, value: &str, quoted: bool) {
    let Some(field) = fields.last_mut() else { return };
    if quoted || !value.contains([' ', '\t', '\n']) {
        field.real |= quoted || !value.is_empty();
        field.glob |= !quoted && value.contains(['*', '?']);
        field.text.push_str(value);
        return;
    }
    let mut words = value.split([' ', '\t', '\n']);
    if let Some(first) = words.next() {
        field.real |= !first.is_empty();
        field.text.push_str(first);
    }
    for word in words {
        if fields.last().is_some_and(|f| f.text.is_empty() && !f.real) {
            fields.pop();
        }
        let glob = word.contains(['*', '?']);
        fields.push(Field { text: word.to_owned(), glob, real: !word.is_empty() });
    }
}

/// Adds the output of a command.
pub(super) fn substitute(fields: &mut Vec<Field>, flow: &Flow, quoted: bool, taint: &mut Taint) {
    *taint = taint.and(flow.taint);
    if let Some(text) = &flow.text {
        splice(fields, text.trim_end_matches('\n'), quoted);
    } else {
        *taint = taint.and(Taint::COMPUTED);
        splice(fields, "\0", quoted);
    }
}
