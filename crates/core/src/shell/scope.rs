//! Variables and functions of a text.

use super::ast::{Assignment, List, Node, Operation, Part, Parts, Stage, Word};
use super::expand::Arg;
use super::flow::{Flow, Taint};
use super::signs;
use super::tables::ASSIGNMENTS;
use super::walk::Walker;
use crate::finding::{Finding, Span};
use crate::glob;
use crate::paths::UNKNOWN;

/// How long a variable's value may be.
const MAX_VALUE: usize = 8 * 1024;

/// How many former values are kept.
const MAX_FORMER: usize = 32;

impl<'t> Walker<'t, '_, '_, '_> {
    pub(super) fn define(&mut self, name: &'t str, body: &'t Stage<'t>) {
        if bombs(body, name, false) {
            let span = self.span(body.start, body.end);
            self.shared.sign(&signs::FORK_BOMB, Some(span));
            self.shared.out.irreversible();
        }
        self.functions.push((name, body));
        let outer = self.defining.replace(name);
        self.shared.calls += 1;
        if self.shared.calls < 8 {
            self.stage(body, Flow::none());
        }
        self.shared.calls -= 1;
        self.defining = outer;
    }

    /// Judges a command with each value that a variable in it had before.
    pub(super) fn with_former_values(&mut self, words: &'t [Word<'t>], stdin: &Flow, span: Span) {
        if self.shared.former.is_empty() {
            return;
        }
        for (name, value, taint) in self.shared.former.clone() {
            if self.shared.budget == 0 || !words.iter().any(|w| mentions(w, &name)) {
                continue;
            }
            self.shared.budget -= 1;
            let Some(at) = self.shared.variables.iter().rposition(|(n, _, _)| *n == name) else {
                continue;
            };
            let Some(slot) = self.shared.variables.get_mut(at) else { continue };
            let now = std::mem::replace(slot, (name, value, taint));
            let mut args = Vec::new();
            for word in words {
                self.expand(word, &mut args);
            }
            self.command(&args, stdin.clone(), span);
            if let Some(slot) = self.shared.variables.get_mut(at) {
                *slot = now;
            }
        }
    }

    /// Sets `$1`, `$2` … and `$@` from these words.
    pub(super) fn positional(&mut self, words: &[Arg<'t>], first: usize) {
        let mut all = String::new();
        for (i, arg) in words.iter().enumerate().take(32) {
            self.set(&(i + first).to_string(), arg.text.to_string(), arg.taint);
            if i + first > 0 {
                all.push_str(if all.is_empty() { "" } else { " " });
                all.push_str(&arg.text);
            }
        }
        self.set("@", all.clone(), Taint::default());
        self.set("*", all, Taint::default());
    }

    /// Calls a function defined in this text, if there is one.
    pub(super) fn call(&mut self, name: &str, args: &[Arg<'t>], stdin: &Flow) -> Option<Flow> {
        let body = self.functions.iter().rev().find(|(n, _)| *n == name).map(|(_, b)| *b)?;
        if self.defining == Some(name) || self.shared.calls >= 8 {
            return Some(Flow::unknown(Taint::default()));
        }
        let keep = self.shared.variables.len();
        let mut all = String::new();
        for (i, arg) in args.iter().enumerate().skip(1) {
            self.shared.variables.push((i.to_string(), arg.text.to_string(), arg.taint));
            if i > 1 {
                all.push(' ');
            }
            all.push_str(&arg.text);
        }
        self.shared.variables.push(("@".to_owned(), all.clone(), Taint::default()));
        self.shared.variables.push(("*".to_owned(), all, Taint::default()));
        self.shared.calls += 1;
        let flow = self.stage(body, stdin.clone());
        self.shared.calls -= 1;
        let positional = |n: &str| n == "@" || n == "*" || n.bytes().all(|b| b.is_ascii_digit());
        let mut at = 0;
        self.shared.variables.retain(|(n, _, _)| {
            at += 1;
            at <= keep || !positional(n)
        });
        Some(flow)
    }

    pub(super) fn assign(&mut self, assignment: &'t Assignment<'t>, lasting: bool) {
        let mut taint = Taint::default();
        let mut value = String::new();
        for (i, word) in assignment.value.iter().enumerate() {
            if i > 0 {
                value.push(' ');
            }
            value.push_str(&self.joined(word, &mut taint));
        }
        let (start, end) = assignment.value.first().map_or((0, 0), |w| (w.start, w.end));
        let span = self.span(start.saturating_sub(assignment.name.len() + 1), end);
        self.assigned(assignment.name, &value, span);
        if lasting {
            if assignment.append
                && let Some((old, t)) = self.lookup(assignment.name)
            {
                value.insert_str(0, &old);
                taint = taint.and(t);
            }
            self.set(assignment.name, value, taint);
        }
    }

    /// What setting this variable means, whoever sets it.
    pub(super) fn assigned(&mut self, name: &str, value: &str, span: Span) {
        let (name_bytes, value_bytes) = (glob::bytes_of(name), glob::bytes_of(value));
        for rule in ASSIGNMENTS {
            let named = rule.names.fit(name, name_bytes);
            if named && (rule.values.is_empty() || rule.values.fit(value, value_bytes)) {
                let mut finding = Finding::pattern(rule.id, rule.tier, rule.say);
                finding.span = Some(span);
                self.shared.out.add(finding);
                if rule.shell {
                    let text = value.replace(UNKNOWN, "$_");
                    self.inside(&text, span, &Flow::none());
                }
            }
        }
    }

    pub(super) fn set(&mut self, name: &str, value: String, taint: Taint) {
        // What grows without end is not followed.
        let value = if value.len() > MAX_VALUE { UNKNOWN.to_string() } else { value };
        let variables = &mut self.shared.variables;
        if let Some(slot) = variables.iter_mut().rev().find(|(n, _, _)| n == name) {
            let former = &mut self.shared.former;
            if slot.1 != value && former.len() >= MAX_FORMER {
                // Too many to follow: which value holds is not known any more.
                (slot.1, slot.2) = (UNKNOWN.to_string(), taint.and(slot.2));
                return;
            }
            if slot.1 != value && !former.contains(slot) {
                former.push(slot.clone());
            }
            (slot.1, slot.2) = (value, taint);
        } else if variables.len() < 256 {
            variables.push((name.to_owned(), value, taint));
        }
    }

    pub(super) fn lookup(&mut self, name: &str) -> Option<(String, Taint)> {
        let found = self.shared.variables.iter().rev().find(|(n, _, _)| n == name);
        if let Some((_, value, taint)) = found {
            let (value, taint) = (value.clone(), *taint);
            if self.shared.expansion < value.len() {
                self.shared.sign(&signs::TOO_MANY, None);
                return None;
            }
            self.shared.expansion -= value.len();
            return Some((value, taint));
        }
        if self.shared.calls == 0 && matches!(name.as_bytes(), [b'1'..=b'9']) {
            // A command line has no arguments of its own: `$9` is nothing.
            return Some((String::new(), Taint::default()));
        }
        let value = match name {
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
            _ => return None,
        };
        Some((value.to_owned(), Taint::default()))
    }
}

/// Variables that by their name hold a password, key or token.
fn is_secret_name(name: &str) -> bool {
    const SIGNS: [&str; 7] =
        ["SECRET", "PASSWORD", "PASSWD", "TOKEN", "API_KEY", "APIKEY", "PRIVATE_KEY"];
    SIGNS.iter().any(|sign| name.contains(sign))
}

/// Whether a function's body starts itself again side by side.
fn bombs(stage: &Stage<'_>, name: &str, beside: bool) -> bool {
    let in_list = |list: &List<'_>, beside: bool| {
        list.iter().any(|p| {
            let beside = beside || p.background || p.stages.len() > 1;
            p.stages.iter().any(|s| bombs(s, name, beside))
        })
    };
    match &stage.node {
        Node::Simple(simple) => {
            let first = simple.words.first().and_then(super::word::unquoted);
            beside && first.is_some_and(|w| w == name)
        }
        Node::Group(list) | Node::For { body: list, .. } => in_list(list, beside),
        Node::Case { arms, .. } => arms.iter().any(|list| in_list(list, beside)),
        Node::Function { .. } | Node::Test(_) => false,
    }
}

/// Whether a word is made with this variable.
fn mentions(word: &Word<'_>, variable: &str) -> bool {
    let Parts::Many(parts) = &word.parts else { return false };
    parts.iter().any(|part| match part {
        Part::Variable { name, operation, .. } => {
            *name == variable
                || match operation {
                    Operation::Default(w)
                    | Operation::Alternative(w)
                    | Operation::Required(w)
                    | Operation::Other(w)
                    | Operation::Slice(_, w) => mentions(w, variable),
                    Operation::Plain => false,
                }
        }
        _ => false,
    })
}
