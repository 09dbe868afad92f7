//! The walk through the IR: what runs, in what order, with which words, fed by what.

use super::alternatives::Asked;
use super::cwd_set::{Folders, Link};
use super::endless::{spawns_without_end, turns_without_end};
use super::expand::Arg;
use super::flow::{Flow, Taint};
use super::memo::Judged;
use super::plain::is_plain;
use super::redirects::{empties, is_exec};
use super::scope::Named;
use super::structural_findings::{self, Sign};
use crate::context::Context;
use crate::finding::{Doubt, Finding, Findings, Span};
use crate::limit::{Excess, Limit};
use crate::paths::workspace::Workspace;
use countersign_shell::UNKNOWN;
use countersign_shell::posix::ast::{List, Node, Parts, Redirect, Runs, Stage, Word};
use countersign_shell::posix::{self, PosixProblem};

/// How many texts may nest (`sh -c "sh -c …"`).
pub(super) const MAX_TEXTS: u8 = 12;
/// How many commands are walked in one call.
const MAX_COMMANDS: u32 = 1_500;
/// How many bytes are read in one call, texts inside texts included. A text over the reader's own
/// limit is refused there, with its own words.
const MAX_READING: usize = 4 * countersign_shell::MAX_BYTES;
/// How many bytes of variables are put into words in one call.
const MAX_EXPANSION: usize = 256 * 1024;
/// How many values of a loop variable are tried whatever they are; behind them, a plain value is
/// tried only if there was none like it.
const FIRST_VALUES: usize = 6;
/// How many values of a loop variable are tried.
const LOOP_VALUES: Limit = Limit::new("values in a loop", 256);
/// How much of what may still be walked one loop may use up.
const LOOP_WORK: Limit = Limit::new("commands in a loop", MAX_COMMANDS as usize / 2);
/// How many words one command may have once they are expanded.
const WORDS: Limit = Limit::new("words in a command", 4096);

/// What all walkers of one call share.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct EvalState<'c, 'o> {
    pub ctx: &'c Context<'c>,
    /// The project and the folder the text starts in.
    pub workspace: Workspace,
    pub out: &'o mut Findings,
    pub variables: Vec<(String, String, Taint)>,
    /// Files written by this text, and what is in them.
    pub files: Vec<(String, Flow)>,
    /// What they held before, with the same doubt as for variables.
    pub former_files: Vec<(String, Flow)>,
    /// More files were written than are followed.
    pub files_lost: bool,
    /// More variables were set than are followed.
    pub variables_lost: bool,
    /// Some variable was declared to be a number: what is assigned is evaluated.
    pub integers: bool,
    /// Where the next command may run.
    pub folders: Folders,
    /// Where it may run if the last command failed; none is the same folders.
    pub failed: Option<Folders>,
    /// Every folder there has been.
    pub seen: Folders,
    /// Names that stand for something else.
    pub links: Vec<Link>,
    /// Functions and aliases of this call, as text: they hold in texts inside texts as well.
    pub named: Vec<Named>,
    /// What the pipeline being walked looked at that had another value before.
    pub asked: Vec<Asked>,
    /// Pipelines being walked again with former values.
    pub nesting: u8,
    /// Loops being walked again.
    pub loops: u8,
    /// Variables that loops change without end, and what is left of them.
    pub open: Vec<(String, String)>,
    /// How often anything was set anew.
    pub changes: u32,
    /// The same, and whatever else can be seen later; what was put back as it was does not count.
    pub edits: u32,
    /// How often anything was looked up or run beyond the words of one command.
    pub asks: u32,
    /// How often the content of any file became another.
    pub file_turns: u32,
    /// How often a file that this text may have written was looked for, or one was written.
    pub file_uses: u32,
    /// Commands that need not be judged again.
    pub judged: Vec<Judged>,
    pub budget: u32,
    pub texts: u8,
    pub root: bool,
    /// Inside a container or on another host: not this file system.
    pub elsewhere: bool,
    /// All spans fall on this one while a text inside a word is read.
    pub fixed: Option<Span>,
    pub base: usize,
    /// What each `<( … )` of the command being made holds, by the path it stands for.
    pub process: Vec<(String, Flow)>,
    /// Function calls in progress.
    pub calls: u8,
    /// Their names, the innermost last.
    pub called: Vec<String>,
    /// Commands inside commands in progress.
    pub inner: u8,
    /// A program named by a pattern is being tried as each program it could be.
    pub guessing: bool,
    /// Bytes of variables that may still be put into words.
    pub expansion: usize,
    /// Bytes of text that may still be read, counting texts inside texts again.
    pub reading: usize,
    /// Files of the session that were read as scripts so far.
    pub scripts_read: Vec<String>,
    /// Programs named by patterns so far.
    pub guesses: u8,
    /// Whether the folder in which programs look for their settings was moved.
    pub home_moved: bool,
    /// Readings of words as commands beside the first.
    pub readings: u16,
    /// Values that variables had before they were set anew. A branch, subshell or function may not
    /// really have set them, so commands that use them are judged with these as well.
    pub former: Vec<(String, String, Taint)>,
}

impl<'c, 'o> EvalState<'c, 'o> {
    pub fn new(ctx: &'c Context<'c>, base: usize, out: &'o mut Findings) -> EvalState<'c, 'o> {
        EvalState {
            ctx,
            workspace: Workspace::of(ctx),
            out,
            variables: Vec::new(),
            files: Vec::new(),
            former_files: Vec::new(),
            files_lost: false,
            scripts_read: Vec::new(),
            variables_lost: false,
            integers: false,
            folders: Folders::start(ctx),
            failed: None,
            seen: Folders::start(ctx),
            links: Vec::new(),
            named: Vec::new(),
            asked: Vec::new(),
            nesting: 0,
            loops: 0,
            open: Vec::new(),
            changes: 0,
            edits: 0,
            asks: 0,
            file_turns: 0,
            file_uses: 0,
            judged: Vec::new(),
            budget: MAX_COMMANDS,
            texts: 0,
            root: false,
            elsewhere: false,
            fixed: None,
            base,
            process: Vec::new(),
            calls: 0,
            called: Vec::new(),
            inner: 0,
            guessing: false,
            expansion: MAX_EXPANSION,
            reading: MAX_READING,
            guesses: 0,
            home_moved: false,
            readings: 0,
            former: Vec::new(),
        }
    }

    /// Reads and walks a text; returns what it would write.
    pub fn text(&mut self, text: &str, stdin: &Flow) -> Flow {
        self.asks += 1;
        let cost = text.len().min(countersign_shell::MAX_BYTES);
        if self.texts >= MAX_TEXTS || self.reading < cost {
            self.sign(&structural_findings::TOO_DEEP, self.fixed);
            self.out.doubt(Doubt::Unreadable);
            return Flow::unknown(Taint::default());
        }
        self.texts += 1;
        self.reading -= cost;
        let read = posix::parse(text);
        if let Some((problem, at)) = read.problem {
            let at = at.min(text.len());
            let sign = match problem {
                PosixProblem::TooLong => structural_findings::TOO_LONG,
                PosixProblem::TooDeep => structural_findings::TOO_DEEP,
                PosixProblem::TooMany => structural_findings::TOO_MANY,
                PosixProblem::Unclosed | PosixProblem::Unexpected => {
                    structural_findings::UNREADABLE
                }
            };
            let span =
                self.fixed.unwrap_or_else(|| Span::new(self.base + at, self.base + text.len()));
            self.sign(&sign, Some(span));
            self.out.doubt(Doubt::Unreadable);
        }
        let mut walker = Evaluator { shared: self, functions: Vec::new(), defining: None, text };
        let flow = walker.list(&read.list, stdin);
        self.texts -= 1;
        flow
    }

    /// What the `<( … )` behind this path holds.
    pub fn process_of(&mut self, path: &str) -> Option<Flow> {
        let at = self.process.iter().position(|(name, _)| name == path)?;
        Some(self.process.remove(at).1)
    }

    /// Adds the finding of an exceeded bound.
    pub fn exceeded(&mut self, excess: Excess, span: Option<Span>) {
        excess.report(self.out, span.or(self.fixed));
    }

    /// Adds a structural finding.
    pub fn sign(&mut self, sign: &Sign, span: Option<Span>) {
        let mut finding = Finding::pattern(sign.code, sign.tier, sign.message);
        finding.span = span.or(self.fixed);
        finding.suggestion = sign.suggestion.map(Into::into);
        self.out.add(finding);
    }
}

/// Walks one text.
pub(super) struct Evaluator<'t, 's, 'c, 'o> {
    pub shared: &'s mut EvalState<'c, 'o>,
    pub functions: Vec<(&'t str, &'t Stage<'t>)>,
    /// The function whose body is being walked as it is defined.
    pub defining: Option<&'t str>,
    pub text: &'t str,
}

impl<'t> Evaluator<'t, '_, '_, '_> {
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        let (base, length) = (self.shared.base, self.text.len());
        self.shared
            .fixed
            .unwrap_or_else(|| Span::new(base + start.min(length), base + end.min(length)))
    }

    /// A list inside a word: its output becomes the word.
    pub(super) fn nested_list(&mut self, list: &'t List<'t>) -> Flow {
        let mut flow = self.apart(|w| w.list(list, &Flow::none()));
        // `$(< file)`
        if !flow.present {
            flow = Flow::unknown(flow.taint);
            flow.text = Some(String::new());
        }
        flow
    }

    /// `>( … )`: the list is fed from outside.
    pub(super) fn fed_list(&mut self, list: &'t List<'t>) -> Flow {
        self.apart(|w| w.list(list, &Flow::unknown(Taint::default())))
    }

    /// Backquotes.
    pub(super) fn nested_text(&mut self, text: &str, start: usize, end: usize) -> Flow {
        let old = self.shared.fixed;
        self.shared.fixed = Some(self.span(start, end));
        let flow = self.apart(|w| w.shared.text(text, &Flow::none()));
        self.shared.fixed = old;
        if flow.present {
            flow
        } else {
            Flow { text: Some(String::new()), ..Flow::unknown(flow.taint) }
        }
    }

    /// Keeps what a `<( … )` holds; returns the path it stands for.
    pub(super) fn process_text(&mut self, flow: Flow) -> String {
        self.shared.edits += 1;
        let path = format!("/dev/fd/{}", 63 + self.shared.process.len());
        self.shared.process.push((path.clone(), flow));
        path
    }

    pub(super) fn stage(&mut self, stage: &'t Stage<'t>, stdin: Flow) -> Flow {
        if self.shared.budget == 0 {
            self.shared.sign(&structural_findings::TOO_MANY, None);
            self.shared.out.doubt(Doubt::Unreadable);
            return Flow::unknown(Taint::default());
        }
        self.shared.budget -= 1;
        let mut stdin = stdin;
        let mut sink: Option<(String, bool)> = None;
        for redirection in &stage.redirections {
            match &redirection.kind {
                Redirect::Text(word) | Redirect::Here(word) => stdin = self.word_flow(word),
                Redirect::Read(word) => stdin = self.file_flow(word),
                Redirect::Write(word) | Redirect::Append(word) | Redirect::Both(word) => {
                    let append = matches!(redirection.kind, Redirect::Append(_));
                    let target = self.redirect_target(word, append, &stdin);
                    let execs = matches!(&stage.node, Node::Simple(s) if is_exec(s));
                    if redirection.number.is_none_or(|n| n == 1) && !execs {
                        sink = target.map(|t| (t, append));
                    } else if let Some(target) = target {
                        // What goes there goes by its number, later.
                        self.written(&target, append, &Flow::unknown(Taint::default()));
                    }
                }
                Redirect::Duplicate(word) => {
                    if let Some(target) = self.duplicate(word) {
                        sink = Some((target, false));
                    }
                }
            }
        }
        if sink.as_ref().is_some_and(|(_, append)| !append) && empties(&stage.node) {
            self.emptied(&stage.redirections);
        }
        self.shared.failed = None;
        let flow = self.node(stage, stdin);
        match sink {
            None => flow,
            Some((path, append)) => {
                self.written(&path, append, &flow);
                Flow::none()
            }
        }
    }

    fn node(&mut self, stage: &'t Stage<'t>, stdin: Flow) -> Flow {
        match &stage.node {
            Node::Simple(simple) => {
                let processes = self.shared.process.len();
                let mut args: Vec<Arg<'t>> = Vec::with_capacity(simple.words.len());
                for word in &simple.words {
                    self.expand(word, &mut args);
                }
                WORDS.cut(&mut args, self.shared.out, self.shared.fixed);
                let keep = self.shared.variables.len();
                for assignment in &simple.assignments {
                    self.assign(assignment, args.is_empty());
                }
                if args.is_empty() {
                    // `< file` or `> file` alone.
                    return stdin;
                }
                let span = self.span(stage.start, stage.end);
                let flow = self.command(&args, stdin, span);
                self.shared.process.truncate(processes);
                if !simple.assignments.is_empty() {
                    let end = (keep + simple.assignments.len()).min(self.shared.variables.len());
                    self.shared.variables.drain(keep.min(end)..end);
                }
                flow
            }
            Node::Group(Runs::Here, list) => self.list(list, &stdin),
            Node::Group(Runs::Apart, list) => self.apart(|w| w.list(list, &stdin)),
            Node::Group(Runs::Maybe, list) => self.parts(list, &stdin),
            Node::Group(Runs::Again, list) => {
                if spawns_without_end(list) {
                    self.shared.sign(&structural_findings::ENDLESS_PROCESSES, None);
                }
                self.turns(|w| w.parts(list, &stdin))
            }
            Node::For { name, words, body } => {
                if name.is_empty() && turns_without_end(words, body) {
                    self.shared.sign(&structural_findings::ENDLESS_PROCESSES, None);
                }
                self.for_loop(name, words, body, &stdin)
            }
            Node::Case { words, arms } => {
                let mut args = Vec::new();
                for word in words {
                    self.expand(word, &mut args);
                }
                let mut flow = Flow::none();
                for arm in arms {
                    flow = flow.then(self.maybe(|w| w.list(arm, &stdin)));
                }
                flow
            }
            Node::Function { name, body } => {
                self.define(name, body);
                Flow::none()
            }
            Node::Test(words) => {
                if words.iter().any(|w| matches!(w.parts, Parts::Plain(t) if compares(t))) {
                    let span = self.span(stage.start, stage.end);
                    self.arithmetic_values(span);
                }
                for word in words {
                    // Never split.
                    let text = self.joined(word, &mut Taint::default());
                    let span = self.span(word.start, word.end);
                    self.subscripts(&text, span);
                }
                Flow::none()
            }
        }
    }

    fn for_loop(
        &mut self,
        name: &str,
        words: &'t [Word<'t>],
        body: &'t List<'t>,
        stdin: &Flow,
    ) -> Flow {
        let mut args = Vec::new();
        for word in words {
            self.expand(word, &mut args);
        }
        let mut values: Vec<(String, Taint)> =
            args.into_iter().map(|a| (a.text.into_owned(), a.taint)).collect();
        if words.is_empty() {
            values = self.positional_values();
        }
        if values.is_empty() {
            values.push((UNKNOWN.to_string(), Taint::default()));
        }
        // Where no value is sure, the loop may not run and the variable keeps what it held.
        let unsure = values.iter().all(|(value, _)| value.contains(UNKNOWN));
        let mut values = representative(values);
        LOOP_VALUES.cut(&mut values, self.shared.out, self.shared.fixed);
        let mut flow = Flow::none();
        let last = values.len() - 1;
        let share = self.shared.budget / 2;
        for (at, (value, taint)) in values.iter().enumerate() {
            if (FIRST_VALUES..last).contains(&at) && self.shared.budget < share {
                // What is left has to do for the rest of the text.
                self.shared.exceeded(LOOP_WORK.exceeded(), None);
                continue;
            }
            if at == 0 && (unsure || self.shared.variables.iter().all(|(n, _, _)| n != name)) {
                self.set(name, value.clone(), *taint);
            } else {
                self.shared.put(name, value, *taint);
            }
            if at < last {
                flow = self.maybe(|w| w.list(body, stdin));
            } else {
                flow = self.turns(|w| {
                    w.shared.put(name, value, *taint);
                    w.list(body, stdin)
                });
            }
        }
        // `break` may have left any of them.
        for (value, taint) in values {
            self.set(name, value, taint);
        }
        // Values are not text order any more; only where they come from is kept.
        flow.text = None;
        flow
    }
}

/// The operators of `[[ … ]]` that compare numbers.
fn compares(operator: &str) -> bool {
    matches!(operator, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")
}

/// The first values, and behind them those that are neither there already nor plain data like one
/// that came before.
pub(super) fn representative(values: Vec<(String, Taint)>) -> Vec<(String, Taint)> {
    let mut kept: Vec<(String, Taint)> = Vec::with_capacity(values.len());
    let mut plain = false;
    for (value, taint) in values {
        let like = taint == Taint::default() && is_plain(&value);
        let known = (like && plain) || kept.iter().any(|k| k.0 == value && k.1 == taint);
        plain |= like;
        if kept.len() < FIRST_VALUES || !known {
            kept.push((value, taint));
        }
    }
    kept
}
