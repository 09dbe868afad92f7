//! The walk through the IR: what runs, in what order, with which words, fed by what.

use super::arg::Arg;
use super::endless::{spawns_without_end, turns_without_end};
use super::state::EvalState;
use crate::finding::{Doubt, Span};
use crate::flow::{Flow, Taint};
use crate::limit::Limit;
use crate::structural_findings;
use countersign_shell::posix::ast::{List, Node, Parts, Runs, Simple, Stage, Word};
use countersign_shell::posix::{self, PosixProblem};

/// How many words one command may have once they are expanded.
const WORDS: Limit = Limit::new("words in a command", 4096);

impl EvalState<'_, '_> {
    /// Reads and walks a text; returns what it would write.
    pub fn text(&mut self, text: &str, stdin: &Flow) -> Flow {
        if !self.budget.enter_posix_text(text.len()) {
            self.report(&structural_findings::TOO_DEEP, None);
            self.out.doubt(Doubt::Unreadable);
            return Flow::unknown(Taint::default());
        }
        let read = posix::parse(text);
        if let Some((problem, at)) = read.problem {
            let sign = match problem {
                PosixProblem::TooLong => structural_findings::TOO_LONG,
                PosixProblem::TooDeep => structural_findings::TOO_DEEP,
                PosixProblem::TooMany => structural_findings::TOO_MANY,
                PosixProblem::Unclosed | PosixProblem::Unexpected => {
                    structural_findings::UNREADABLE
                }
            };
            let span = self.position.span(at.min(text.len()), text.len());
            self.report(&sign, Some(span));
            self.out.doubt(Doubt::Unreadable);
        }
        let mut walker = Evaluator { shared: self, functions: Vec::new(), defining: None, text };
        let flow = walker.list(&read.list, stdin);
        self.budget.leave_text();
        flow
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
        let length = self.text.len();
        self.shared.position.span(start.min(length), end.min(length))
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
        let span = self.span(start, end);
        let old = self.shared.position.pin(Some(span));
        let flow = self.apart(|w| w.shared.text(text, &Flow::none()));
        self.shared.position.pin(old);
        if flow.present {
            flow
        } else {
            Flow { text: Some(String::new()), ..Flow::unknown(flow.taint) }
        }
    }

    /// A command, or a group, loop or branch of commands.
    pub(super) fn node(&mut self, stage: &'t Stage<'t>, stdin: Flow) -> Flow {
        match &stage.node {
            Node::Simple(simple) => self.simple(stage, simple, stdin),
            Node::Group(Runs::Here, list) => self.list(list, &stdin),
            Node::Group(Runs::Apart, list) => self.apart(|w| w.list(list, &stdin)),
            Node::Group(Runs::Maybe, list) => self.parts(list, &stdin),
            Node::Group(Runs::Again, list) => {
                self.endless(spawns_without_end(self.text, list));
                self.out_of_order(|w| w.turns(|w| w.parts(list, &stdin)))
            }
            Node::For { name, words, body } => {
                self.endless(name.is_empty() && turns_without_end(self.text, words, body));
                self.out_of_order(|w| w.for_loop(name, words, body, &stdin))
            }
            Node::Case { words, arms } => self.case(words, arms, &stdin),
            Node::Function { name, body } => {
                self.define(name, body);
                Flow::none()
            }
            Node::Test(words) => {
                self.test(stage, words);
                self.as_subshells(stage);
                Flow::none()
            }
        }
    }

    fn endless(&mut self, is_endless: bool) {
        if is_endless {
            self.shared.report(&structural_findings::ENDLESS_PROCESSES, None);
        }
    }

    /// A command with its words, assignments and substitutions.
    fn simple(&mut self, stage: &'t Stage<'t>, simple: &'t Simple<'t>, stdin: Flow) -> Flow {
        let processes = self.shared.processes.count();
        let mut args: Vec<Arg<'t>> = Vec::with_capacity(simple.words.len());
        for word in &simple.words {
            self.expand(word, &mut args);
        }
        WORDS.cut(&mut args, self.shared.out, self.shared.position.fixed());
        let kept = self.shared.variables.count();
        for assignment in &simple.assignments {
            self.assign(assignment, args.is_empty());
        }
        if args.is_empty() {
            // `< file` or `> file` alone.
            return stdin;
        }
        let span = self.span(stage.start, stage.end);
        let flow = self.command(&args, stdin, span);
        if let (Some(name), Some(text)) = (args.first(), self.text.get(stage.start..stage.end)) {
            self.as_written_powershell(&name.text, text, span);
        }
        self.shared.processes.truncate(processes);
        self.shared.variables.remove_temporary(kept, simple.assignments.len());
        flow
    }

    /// `case`: any of its arms may run.
    fn case(&mut self, words: &'t [Word<'t>], arms: &'t [List<'t>], stdin: &Flow) -> Flow {
        let mut args = Vec::new();
        for word in words {
            self.expand(word, &mut args);
        }
        let mut flow = Flow::none();
        for arm in arms {
            flow = flow.then(self.maybe(|w| w.list(arm, stdin)));
        }
        flow
    }

    /// `[[ … ]]`: runs nothing, but evaluates its words.
    fn test(&mut self, stage: &'t Stage<'t>, words: &'t [Word<'t>]) {
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
    }
}

/// The operators of `[[ … ]]` that compare numbers.
fn compares(operator: &str) -> bool {
    matches!(operator, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")
}
