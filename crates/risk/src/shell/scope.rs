//! Variables of a text: setting them and reading them.

use super::evaluator::Evaluator;
use super::state::Variable;
use crate::command_tables::ASSIGNMENTS;
use crate::finding::{Finding, Span};
use crate::flow::{Flow, Taint};
use crate::limit::Limit;
use crate::name_lists::SECRET_VARIABLES;
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_shell::posix::ast::Assignment;
use countersign_text::glob;

/// How many elements of a list are followed one by one.
const ELEMENTS: Limit = Limit::new("elements in a list", 64);

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// `NAME=value`; `lasting` unless it stands before a command.
    pub(super) fn assign(&mut self, assignment: &'t Assignment<'t>, lasting: bool) {
        let mut taint = Taint::default();
        let mut value = String::new();
        let computed = assignment.list && has_computed_index(self.text, assignment.name);
        for (i, word) in assignment.value.iter().enumerate() {
            if i > 0 && assignment.subscript.is_none() {
                value.push(' ');
            }
            let mut element = self.joined(word, &mut taint);
            if assignment.list
                && element.starts_with('[')
                && let Some(equals) = element.find("]=")
            {
                // `NAME=([index]=value …)`: an index is arithmetic.
                element.drain(..equals + 2);
                let span = self.span(word.start, word.end);
                self.arithmetic_values(span);
            }
            value.push_str(&element);
            if lasting && assignment.list && !assignment.append {
                if computed {
                    self.set(&format!("{}[?]", assignment.name), element.clone(), taint);
                }
                if ELEMENTS.check(i + 1).is_ok() {
                    self.set(&format!("{}[{i}]", assignment.name), element, taint);
                }
            }
        }
        let (start, end) = assignment.value.first().map_or((0, 0), |w| (w.start, w.end));
        let span = self.span(start.saturating_sub(assignment.name.len() + 1), end);
        self.assigned(assignment.name, &value, span);
        if self.shared.variables.has_integers() {
            self.subscripts(&value, span);
        }
        if lasting {
            if let Some(subscript) = assignment.subscript {
                // One element; "${NAME[@]}" is all of them.
                self.set(&format!("{}[{subscript}]", assignment.name), value.clone(), taint);
            }
            if (assignment.append || assignment.subscript.is_some())
                && let Some((old, t)) = self.lookup(assignment.name)
            {
                let list = assignment.subscript.is_some() || assignment.list;
                value.insert_str(0, if list { " " } else { "" });
                value.insert_str(0, &old);
                taint = taint.and(t);
            }
            self.set(assignment.name, value, taint);
        } else {
            // Only for this one command.
            let name = assignment.name.to_owned();
            self.shared.variables.push_temporary(Variable { name, value, taint });
        }
    }

    /// What setting this variable means, whoever sets it.
    pub(super) fn assigned(&mut self, name: &str, value: &str, span: Span) {
        let (name_bytes, value_bytes) = (glob::bytes_of(name), glob::bytes_of(value));
        for rule in ASSIGNMENTS {
            let named = rule.names.fit(name, name_bytes);
            if named && (rule.values.is_empty() || rule.values.fit(value, value_bytes)) {
                let mut finding = Finding::pattern(rule.id, rule.tier, rule.message);
                finding.span = Some(span);
                self.shared.out.add(finding);
                if rule.home {
                    self.shared.move_home();
                }
                if rule.shell {
                    let text = value.replace(UNKNOWN, "$_");
                    self.inside(&text, span, &Flow::none());
                }
            }
        }
    }

    pub(super) fn set(&mut self, name: &str, value: String, taint: Taint) {
        self.shared.variables.assign(name, value, taint);
    }

    pub(super) fn lookup(&mut self, name: &str) -> Option<(String, Taint)> {
        let found = self.shared.variable(name).map(|v| (v.value.clone(), v.taint));
        if found.is_none()
            && let Some(element) = self.element(name)
        {
            return Some(element);
        }
        if let Some((value, taint)) = found {
            if !self.shared.budget.spend_expansion(value.len()) {
                self.shared.report(&structural_findings::TOO_MANY, None);
                return None;
            }
            return Some((value, taint));
        }
        if self.shared.functions.depth() == 0 && matches!(name.as_bytes(), [b'1'..=b'9']) {
            // A command line has no arguments of its own: `$9` is nothing.
            return Some((String::new(), Taint::default()));
        }
        let value = match name {
            "OLDPWD" => return self.left_folder().map(|folder| (folder, Taint::default())),
            "HOME" => "~",
            "PWD" => ".",
            "IFS" => " ",
            "TMPDIR" | "TMP" | "TEMP" => "/tmp",
            "0" => "$0",
            "SHELL" => "/bin/sh",
            "BASH" => "/bin/bash",
            "HISTFILE" => "~/.bash_history",
            "XDG_CONFIG_HOME" => "~/.config",
            _ if is_secret_name(name) => return Some((UNKNOWN.to_string(), Taint::SECRET)),
            _ if self.shared.variables.is_lost() => {
                return Some((UNKNOWN.to_string(), Taint::LOST));
            }
            _ => return None,
        };
        Some((value.to_owned(), Taint::default()))
    }
}

impl Evaluator<'_, '_, '_, '_> {
    /// The element `name[index]` of a list where that is not a variable by itself: the index is a
    /// variable, or it is computed and any element may be meant.
    fn element(&mut self, name: &str) -> Option<(String, Taint)> {
        let (list, index) = name.split_once('[')?;
        let index = index.trim_end_matches(']');
        let known = self.shared.variables.get(list)?;
        let (value, taint) = (known.value.clone(), known.taint);
        if self.shared.variables.elements(list).is_empty() && !value.contains(' ') {
            // No list: `${NAME[0]}` is its value.
            return Some((value, taint));
        }
        if index == "?" {
            return Some((UNKNOWN.to_string(), taint.and(Taint::LOST)));
        }
        let variable = index.trim_start_matches(['$', '{']).trim_end_matches('}');
        let plain = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
        if !plain(index)
            && let Some((number, _)) = self.lookup(variable).filter(|(n, _)| plain(n))
        {
            return self.lookup(&format!("{list}[{number}]"));
        }
        self.lookup(&format!("{list}[?]"))
    }
}

/// Whether a text takes elements of a list by an index that is not a number.
fn has_computed_index(text: &str, name: &str) -> bool {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('[') {
        let before = rest.len() - after.len() - 1;
        let named = rest.get(..before).is_some_and(|t| t.ends_with(name));
        if named && !after.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*')) {
            return true;
        }
        rest = after;
    }
    false
}

/// Variables that by their name hold a password, key or token.
fn is_secret_name(name: &str) -> bool {
    // Each of them holds one of these.
    name.bytes().any(|b| matches!(b, b'C' | b'K' | b'W'))
        && SECRET_VARIABLES.iter().any(|part| name.contains(part))
}
