//! Variables and functions of a text.

use super::ast::{Assignment, List, Node, Stage};
use super::expand::Arg;
use super::flow::{Flow, Taint};
use super::plain::{is_like_any, is_plain};
use super::signs;
use super::tables::ASSIGNMENTS;
use super::walk::{Shared, Walker};
use crate::finding::{Finding, Span};
use crate::limit::Limit;
use crate::paths::UNKNOWN;
use countersign_text::glob;

/// How long a variable's value may be.
const VALUE: Limit = Limit::new("bytes in a variable", 32 * 1024);

/// How many former values are kept.
const FORMER: Limit = Limit::new("values that variables had before", 64);

/// How many variables are followed.
const VARIABLES: Limit = Limit::new("variables", 256);

/// How many elements of a list are followed one by one.
const ELEMENTS: Limit = Limit::new("elements in a list", 64);

/// How many former values of one variable are kept.
const FORMER_EACH: Limit = Limit::new("values that a variable had before", 12);

/// How many arguments of a function or script are followed.
const ARGUMENTS: Limit = Limit::new("arguments", 256);

/// How many function calls may stand inside each other.
const CALLS: Limit = Limit::new("functions inside functions", 16);

/// How many functions and aliases are followed.
const MAX_NAMED: usize = 128;

/// A function or alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    name: String,
    text: String,
    alias: bool,
}

impl<'t> Walker<'t, '_, '_, '_> {
    pub(super) fn define(&mut self, name: &'t str, body: &'t Stage<'t>) {
        if bombs(body, name, false) {
            let span = self.span(body.start, body.end);
            self.shared.sign(&signs::FORK_BOMB, Some(span));
            self.shared.out.irreversible();
        }
        self.shared.edits += 1;
        self.functions.push((name, body));
        let text = self.text.get(body.start..body.end).unwrap_or_default();
        self.name(name, text, false);
        let outer = self.defining.replace(name);
        self.shared.calls += 1;
        match CALLS.check(usize::from(self.shared.calls)) {
            Ok(()) => drop(self.apart(|w| w.stage(body, Flow::none()))),
            Err(excess) => self.shared.exceeded(excess, None),
        }
        self.shared.calls -= 1;
        self.defining = outer;
    }

    /// Sets `$1`, `$2` … and `$@` from these words.
    pub(super) fn positional(&mut self, words: &[Arg<'t>], first: usize) {
        let words = self.within_arguments(words);
        for (name, value, taint) in arguments(words, first) {
            self.set(&name, value, taint);
        }
    }

    /// The words that can be followed as `$1`, `$2` ….
    fn within_arguments<'w>(&mut self, words: &'w [Arg<'t>]) -> &'w [Arg<'t>] {
        match ARGUMENTS.check(words.len()) {
            Ok(()) => words,
            Err(excess) => {
                self.shared.exceeded(excess, words.first().map(|a| a.span));
                words.get(..256).unwrap_or(words)
            }
        }
    }

    /// `$1`, `$2` … as far as they are known: what `for NAME; do` goes through.
    pub(super) fn positional_values(&mut self) -> Vec<(String, Taint)> {
        let count = self.lookup("#").and_then(|(n, _)| n.parse::<usize>().ok()).unwrap_or(0);
        (1..=count.min(256)).filter_map(|i| self.lookup(&i.to_string())).collect()
    }

    /// `shift`.
    pub(super) fn shift(&mut self, by: usize) {
        let Some(count) = self.lookup("#").and_then(|(n, _)| n.parse::<usize>().ok()) else {
            return;
        };
        let mut all = String::new();
        for i in 1..=count.min(256) {
            let next = if i + by <= count { self.lookup(&(i + by).to_string()) } else { None };
            if let Some((value, _)) = &next {
                all.push_str(if all.is_empty() { "" } else { " " });
                all.push_str(value);
            }
            let (value, taint) = next.unwrap_or_default();
            self.set(&i.to_string(), value, taint);
        }
        self.set("#", count.saturating_sub(by).to_string(), Taint::default());
        self.set("@", all.clone(), Taint::default());
        self.set("*", all, Taint::default());
    }

    /// Calls a function or alias defined in this call, if there is one. A branch or subshell may
    /// not have defined it anew, so everything it was ever defined as runs.
    pub(super) fn call(&mut self, name: &str, args: &[Arg<'t>], stdin: &Flow) -> Option<Flow> {
        if self.functions.is_empty() && self.shared.named.is_empty() {
            return None;
        }
        let bodies: Vec<&'t Stage<'t>> =
            self.functions.iter().rev().filter(|(n, _)| *n == name).map(|(_, b)| *b).collect();
        let own = |n: &Named| {
            !n.alias && bodies.iter().any(|b| self.text.get(b.start..b.end) == Some(&n.text))
        };
        let texts = self.shared.named.iter().rev().filter(|n| n.name == name && !own(n));
        let texts: Vec<Named> = texts.cloned().collect();
        if bodies.is_empty() && texts.is_empty() {
            return None;
        }
        let deep = CALLS.check(usize::from(self.shared.calls) + 1);
        if self.defining == Some(name) || deep.is_err() {
            let words = args.get(1..).unwrap_or_default();
            let quiet = |a: &Arg<'_>| is_plain(&a.text) || a.text.trim_matches(UNKNOWN).is_empty();
            // A function that calls itself with plain words was read with such words already.
            let recursive = self.shared.called.iter().any(|called| called == name);
            if let Err(excess) = deep
                && !((recursive || self.defining == Some(name)) && words.iter().all(quiet))
            {
                self.shared.exceeded(excess, args.first().map(|a| a.span));
            }
            return (!bodies.is_empty() || texts.iter().any(|t| !t.alias))
                .then(|| Flow::unknown(Taint::default()));
        }
        let keep = self.shared.variables.len();
        let words = self.within_arguments(args.get(1..).unwrap_or_default());
        self.shared.variables.extend(arguments(words, 1));
        self.shared.calls += 1;
        self.shared.called.push(name.to_owned());
        let mut flow: Option<Flow> = None;
        let many = bodies.len() + texts.len() > 1;
        for body in bodies {
            let next = self.either(many, |w| w.stage(body, stdin.clone()));
            flow = Some(flow.map_or(next.clone(), |f| f.or(&next)));
        }
        for named in texts {
            let span = args.first().map_or(Span::new(0, 0), |a| a.span);
            let text = if named.alias { named.with(args) } else { named.text };
            let next = self.maybe(|w| w.inside(&text, span, stdin));
            if !named.alias {
                flow = Some(flow.map_or(next.clone(), |f| f.or(&next)));
            }
        }
        self.shared.calls -= 1;
        self.shared.called.pop();
        let positional =
            |n: &str| matches!(n, "@" | "*" | "#") || n.bytes().all(|b| b.is_ascii_digit());
        let mut at = 0;
        self.shared.variables.retain(|(n, _, _)| {
            at += 1;
            at <= keep || !positional(n)
        });
        flow
    }

    fn either<T>(&mut self, many: bool, run: impl FnOnce(&mut Self) -> T) -> T {
        if many { self.maybe(run) } else { run(self) }
    }

    /// Remembers a function or alias as text.
    pub(super) fn name(&mut self, name: &str, text: &str, alias: bool) {
        let named = Named { name: name.to_owned(), text: text.to_owned(), alias };
        if self.shared.named.len() >= MAX_NAMED {
            self.shared.sign(&signs::TOO_MANY, None);
        } else if !self.shared.named.contains(&named) {
            self.shared.named.push(named);
            self.shared.changed();
        }
    }

    pub(super) fn assign(&mut self, assignment: &'t Assignment<'t>, lasting: bool) {
        let mut taint = Taint::default();
        let mut value = String::new();
        let computed = has_computed_index(self.text, assignment.name);
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
        if self.shared.integers {
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
            self.shared.variables.push((assignment.name.to_owned(), value, taint));
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
                if rule.home {
                    self.shared.home_moved = true;
                    // What was judged before was judged with the home folder in its place.
                    self.shared.judged.clear();
                }
                if rule.shell {
                    let text = value.replace(UNKNOWN, "$_");
                    self.inside(&text, span, &Flow::none());
                }
            }
        }
    }

    pub(super) fn set(&mut self, name: &str, value: String, taint: Taint) {
        self.shared.assign(name, value, taint);
    }

    pub(super) fn lookup(&mut self, name: &str) -> Option<(String, Taint)> {
        self.shared.asks += 1;
        self.shared.ask_variable(name);
        let found = self.shared.variables.iter().rev().find(|(n, _, _)| n == name);
        let found = found.map(|(_, value, taint)| (value.clone(), *taint));
        if found.is_none()
            && let Some(element) = self.element(name)
        {
            return Some(element);
        }
        if let Some((value, taint)) = found {
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
            _ if self.shared.variables_lost => return Some((UNKNOWN.to_string(), Taint::LOST)),
            _ => return None,
        };
        Some((value.to_owned(), Taint::default()))
    }
}

impl Shared<'_, '_> {
    /// Sets a variable; the value it had before stays possible.
    pub fn assign(&mut self, name: &str, value: String, taint: Taint) {
        // What grows without end is not followed.
        let (mut value, mut taint) = match VALUE.check(value.len()) {
            Ok(()) => (value, taint),
            Err(excess) => (UNKNOWN.to_string(), taint.and(excess.into())),
        };
        if let Some((_, open)) = self.open.iter().find(|(n, _)| n == name) {
            let begins = value.starts_with(open.trim_end_matches(UNKNOWN));
            value = if begins { open.clone() } else { UNKNOWN.to_string() };
        }
        if let Some(slot) = self.variables.iter_mut().rev().find(|(n, _, _)| n == name) {
            if slot.1 != value {
                self.changes += 1;
                self.edits += 1;
                let unknown = slot.1.contains(UNKNOWN);
                let like = is_like_any(&slot.1);
                let known = |f: &&(String, String, Taint)| {
                    f.0 == *name
                        && (*f == slot
                            || like && f.1.contains(UNKNOWN) == unknown && is_like_any(&f.1))
                };
                if !self.former.iter().any(|f| known(&f)) {
                    let each = self.former.iter().filter(|(n, _, _)| n == name).count();
                    let room = FORMER.check(self.former.len() + 1);
                    match room.and(FORMER_EACH.check(each + 1)) {
                        Ok(()) => self.former.push(slot.clone()),
                        // It may still be that value.
                        Err(excess) if !like => taint = taint.and(excess.into()),
                        Err(_) => {}
                    }
                }
            }
            self.edits += u32::from(slot.2 != taint);
            (slot.1, slot.2) = (value, taint);
        } else if VARIABLES.check(self.variables.len() + 1).is_ok() {
            self.changed();
            self.variables.push((name.to_owned(), value, taint));
        } else {
            // From now on a name that is not found may be one of those.
            self.edits += 1;
            self.variables_lost = true;
        }
    }
}

impl Walker<'_, '_, '_, '_> {
    /// The element `name[index]` of a list where that is not a variable by itself: the index is a
    /// variable, or it is computed and any element may be meant.
    fn element(&mut self, name: &str) -> Option<(String, Taint)> {
        let (list, index) = name.split_once('[')?;
        let index = index.trim_end_matches(']');
        let known = self.shared.variables.iter().rev().find(|(n, _, _)| n == list);
        let (value, taint) = known.map(|(_, value, taint)| (value.clone(), *taint))?;
        if self.shared.elements(list).is_empty() && !value.contains(' ') {
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

impl Shared<'_, '_> {
    /// The elements of a list, or the positional words for `*`.
    pub fn elements(&self, name: &str) -> Vec<String> {
        let value = |n: &str| {
            let found = self.variables.iter().rev().find(|(v, _, _)| v == n);
            found.map(|(_, value, _)| value.clone())
        };
        let key = |i: usize| match name {
            "*" | "@" => (i + 1).to_string(),
            _ => format!("{name}[{i}]"),
        };
        (0..256).map_while(|i| value(&key(i))).collect()
    }
}

impl Named {
    /// An alias with the words behind it.
    fn with(&self, args: &[Arg<'_>]) -> String {
        let mut text = self.text.clone();
        for arg in args.iter().skip(1) {
            text.push_str(" '");
            text.push_str(&arg.text.replace('\'', "'\\''").replace(UNKNOWN, "'$_'"));
            text.push('\'');
        }
        text
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

/// `$1`, `$2` …, `$@`, `$*` and `$#` for these words.
fn arguments(words: &[Arg<'_>], first: usize) -> Vec<(String, String, Taint)> {
    let mut all = String::new();
    let mut variables = Vec::new();
    for (i, arg) in words.iter().enumerate() {
        variables.push(((i + first).to_string(), arg.text.to_string(), arg.taint));
        if i + first > 0 {
            all.push_str(if all.is_empty() { "" } else { " " });
            all.push_str(&arg.text);
        }
    }
    let count = words.len().saturating_sub(1 - first.min(1));
    variables.push(("#".to_owned(), count.to_string(), Taint::default()));
    variables.push(("@".to_owned(), all.clone(), Taint::default()));
    variables.push(("*".to_owned(), all, Taint::default()));
    variables
}

/// Variables that by their name hold a password, key or token.
fn is_secret_name(name: &str) -> bool {
    const SIGNS: [&str; 7] =
        ["SECRET", "PASSWORD", "PASSWD", "TOKEN", "API_KEY", "APIKEY", "PRIVATE_KEY"];
    // Each of them holds one of these.
    name.bytes().any(|b| matches!(b, b'C' | b'K' | b'W'))
        && SIGNS.iter().any(|sign| name.contains(sign))
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
        Node::Group(_, list) | Node::For { body: list, .. } => in_list(list, beside),
        Node::Case { arms, .. } => arms.iter().any(|list| in_list(list, beside)),
        Node::Function { .. } | Node::Test(_) => false,
    }
}
