//! Functions and aliases: defining them, calling them, and their arguments.

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::plain::is_plain;
use super::state::{NamedText, Variable};
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::limit::Limit;
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_shell::posix::ast::{List, Node, Stage};

/// How many arguments of a function or script are followed.
const ARGUMENTS: Limit = Limit::new("arguments", 256);

/// How many function calls may be inside each other.
const CALLS: Limit = Limit::new("functions inside functions", 16);

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Remembers a function and walks its body once, as if it were called without arguments.
    pub(super) fn define(&mut self, name: &'t str, body: &'t Stage<'t>) {
        if bombs(body, name, false) {
            let span = self.span(body.start, body.end);
            self.shared.report(&structural_findings::FORK_BOMB, Some(span));
            self.shared.out.irreversible();
        }
        self.shared.functions.note_body();
        self.functions.push((name, body));
        let text = self.text.get(body.start..body.end).unwrap_or_default();
        self.name(name, text, false);
        let outer = self.defining.replace(name);
        match CALLS.check(usize::from(self.shared.functions.begin_definition())) {
            Ok(()) => drop(self.apart(|w| w.stage(body, Flow::none()))),
            Err(excess) => self.shared.exceeded(excess, None),
        }
        self.shared.functions.end_definition();
        self.defining = outer;
    }

    /// Sets `$1`, `$2` … and `$@` from these words.
    pub(super) fn positional(&mut self, words: &[Arg<'t>], first: usize) {
        let words = self.within_arguments(words);
        for Variable { name, value, taint } in arguments(words, first) {
            self.set(&name, value, taint);
        }
    }

    /// Reads a script that is run with these words, its own name first.
    pub(super) fn with_words<T>(
        &mut self,
        words: &[Arg<'t>],
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let kept = self.shared.variables.count();
        self.positional(words, 0);
        let found = read(self);
        self.shared.variables.remove_positional(kept);
        found
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
    /// not have defined it again, so everything it was ever defined as runs.
    pub(super) fn call(&mut self, name: &str, args: &[Arg<'t>], stdin: &Flow) -> Option<Flow> {
        if self.functions.is_empty() && self.shared.functions.is_empty() {
            return None;
        }
        let (bodies, texts) = self.definitions_of(name);
        if bodies.is_empty() && texts.is_empty() {
            return None;
        }
        let deep = CALLS.check(usize::from(self.shared.functions.depth()) + 1);
        if self.defining == Some(name) || deep.is_err() {
            if let Err(excess) = deep
                && !self.was_read_with_plain_words(name, args)
            {
                self.shared.exceeded(excess, args.first().map(|a| a.span));
            }
            return (!bodies.is_empty() || texts.iter().any(|t| !t.alias))
                .then(|| Flow::unknown(Taint::default()));
        }
        let kept = self.shared.variables.count();
        let words = self.within_arguments(args.get(1..).unwrap_or_default());
        for argument in arguments(words, 1) {
            self.shared.variables.push_temporary(argument);
        }
        self.shared.functions.begin_call(name);
        let mut flow: Option<Flow> = None;
        let many = bodies.len() + texts.len() > 1;
        for body in bodies {
            let next = self.either(many, |w| w.stage(body, stdin.clone()));
            flow = Some(flow.map_or(next.clone(), |f| f.or(&next)));
        }
        for named in texts {
            let span = args.first().map_or(Span::new(0, 0), |a| a.span);
            let text = if named.alias { with_words(&named.text, args) } else { named.text };
            let next = self.maybe(|w| w.inside(&text, span, stdin));
            if !named.alias {
                flow = Some(flow.map_or(next.clone(), |f| f.or(&next)));
            }
        }
        self.shared.functions.end_call();
        self.shared.variables.remove_positional(kept);
        flow
    }

    /// Everything that a name was ever defined as: bodies in this text, and texts of other ones.
    fn definitions_of(&self, name: &str) -> (Vec<&'t Stage<'t>>, Vec<NamedText>) {
        let bodies: Vec<&'t Stage<'t>> =
            self.functions.iter().rev().filter(|(n, _)| *n == name).map(|(_, b)| *b).collect();
        let own = |n: &NamedText| {
            !n.alias && bodies.iter().any(|b| self.text.get(b.start..b.end) == Some(&n.text))
        };
        let texts = self.shared.functions.newest_first().filter(|n| n.name == name && !own(n));
        let texts = texts.cloned().collect();
        (bodies, texts)
    }

    /// Whether a function calls itself with plain words: it was read with such words already.
    fn was_read_with_plain_words(&self, name: &str, args: &[Arg<'t>]) -> bool {
        let quiet = |a: &Arg<'_>| is_plain(&a.text) || a.text.trim_matches(UNKNOWN).is_empty();
        let recursive = self.shared.functions.is_running(name) || self.defining == Some(name);
        recursive && args.iter().skip(1).all(quiet)
    }

    fn either<T>(&mut self, many: bool, run: impl FnOnce(&mut Self) -> T) -> T {
        if many { self.maybe(run) } else { run(self) }
    }

    /// Remembers a function or alias as text.
    pub(super) fn name(&mut self, name: &str, text: &str, alias: bool) {
        if !self.shared.functions.add(name, text, alias) {
            self.shared.report(&structural_findings::TOO_MANY, None);
        }
    }
}

/// The text of an alias with the words behind it.
fn with_words(alias: &str, args: &[Arg<'_>]) -> String {
    let mut text = alias.to_owned();
    for arg in args.iter().skip(1) {
        text.push_str(" '");
        text.push_str(&arg.text.replace('\'', "'\\''").replace(UNKNOWN, "'$_'"));
        text.push('\'');
    }
    text
}

/// `$1`, `$2` …, `$@`, `$*` and `$#` for these words.
fn arguments(words: &[Arg<'_>], first: usize) -> Vec<Variable> {
    let variable = |name: String, value, taint| Variable { name, value, taint };
    let plain = |name: &str, value| variable(name.to_owned(), value, Taint::default());
    let mut all = String::new();
    let mut variables = Vec::new();
    for (i, arg) in words.iter().enumerate() {
        variables.push(variable((i + first).to_string(), arg.text.to_string(), arg.taint));
        if i + first > 0 {
            all.push_str(if all.is_empty() { "" } else { " " });
            all.push_str(&arg.text);
        }
    }
    let count = words.len().saturating_sub(1 - first.min(1));
    variables.push(plain("#", count.to_string()));
    variables.push(plain("@", all.clone()));
    variables.push(plain("*", all));
    variables
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
            let first = simple.words.first().and_then(countersign_shell::posix::unquoted);
            beside && first.is_some_and(|w| w == name)
        }
        Node::Group(_, list) | Node::For { body: list, .. } => in_list(list, beside),
        Node::Case { arms, .. } => arms.iter().any(|list| in_list(list, beside)),
        Node::Function { .. } | Node::Test(_) => false,
    }
}
