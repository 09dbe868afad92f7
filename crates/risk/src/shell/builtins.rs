//! What the shell itself does: `cd`, `eval`, `source`, `export`, `alias`, `trap`.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::loops::representative;
use super::state::{Folders, Variable};
use crate::command_tables::{Speech, Touch};
use crate::effect::Effect;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::limit::Limit;
use crate::paths::Act;
use crate::structural_findings;
use countersign_shell::UNKNOWN;

/// How many lines `read` is followed through.
const LINES: Limit = Limit::new("lines for `read`", 12);

/// The words that `set` makes the positional ones.
fn set_words<'a, 't>(args: &'a [Arg<'t>]) -> Option<&'a [Arg<'t>]> {
    if let Some(at) = args.iter().position(|a| a.text == "--" || a.text == "-") {
        return args.get(at + 1..);
    }
    let plain = |word: &Arg<'_>| !word.text.starts_with(['-', '+']);
    args.get(1..).filter(|words| words.first().is_some_and(plain))
}

/// `command cd` and `builtin cd` change the folder like `cd`.
fn without_prefix<'a, 't>(args: &'a [Arg<'t>]) -> &'a [Arg<'t>] {
    match args {
        [first, rest @ ..]
            if matches!(first.text.as_ref(), "builtin" | "command")
                && rest
                    .first()
                    .is_some_and(|a| matches!(a.text.as_ref(), "cd" | "pushd" | "popd")) =>
        {
            rest
        }
        _ => args,
    }
}

/// Whether a word of the shell takes some of its arguments for arithmetic.
fn evaluates(args: &[Arg<'_>]) -> bool {
    const COMPARES: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
    let indexed = |a: &Arg<'_>| a.text.contains('[') && a.text.len() > 1;
    match args.first().map_or("", |a| a.text.as_ref()) {
        "let" => true,
        "test" | "[" => {
            args.iter().skip(1).any(|a| COMPARES.contains(&a.text.as_ref()) || indexed(a))
        }
        _ => args.iter().skip(1).any(indexed),
    }
}

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// The command if it is one of the shell's own that change how we read on.
    pub(super) fn builtin(&mut self, args: &[Arg<'t>], stdin: &Flow, span: Span) -> Option<Flow> {
        let args = without_prefix(args);
        let first = args.first()?;
        match first.text.as_ref() {
            "cd" | "pushd" | "popd" | "chdir" => {
                self.enter(args);
                Some(Flow::none())
            }
            "exit" => {
                self.shared.folders.set(Folders::nowhere());
                Some(Flow::none())
            }
            "export" | "declare" | "typeset" | "local" | "readonly" | "setenv" | "integer" => {
                self.declare(args, span);
                None
            }
            "read" | "mapfile" | "readarray" | "getopts" | "wait" | "unset" | "let" | "printf"
            | "test" | "[" => {
                self.subscripts_of(args);
                if evaluates(args) {
                    self.arithmetic_values(span);
                }
                self.fill(args, stdin);
                None
            }
            "hash" => {
                self.hash(args);
                None
            }
            "set" => {
                if let Some(words) = set_words(args) {
                    self.positional(words, 1);
                }
                None
            }
            "shift" => {
                self.shift(args.get(1).and_then(|a| a.text.parse().ok()).unwrap_or(1));
                Some(Flow::none())
            }
            "$0" => {
                self.shared.report(&structural_findings::FORK_BOMB, Some(span));
                Some(Flow::none())
            }
            _ => self.text_builtin(args, stdin, span),
        }
    }

    /// Builtins that run a text or words; none for all others.
    fn text_builtin(&mut self, args: &[Arg<'t>], stdin: &Flow, span: Span) -> Option<Flow> {
        match args.first()?.text.as_ref() {
            "eval" => Some(self.eval(args, stdin, span)),
            "source" | "." => Some(self.source(args, stdin, span)),
            "emulate" => {
                let at = args.iter().position(|a| a.text == "-c")?;
                let text = args.get(at + 1)?;
                Some(self.shell_text(text, stdin))
            }
            // zsh: `repeat COUNT COMMAND`.
            "repeat" if args.len() > 2 => {
                Some(self.command(args.get(2..).unwrap_or_default(), stdin.clone(), span))
            }
            "alias" => {
                for arg in args.iter().skip(1) {
                    if let Some((name, text)) = arg.text.split_once('=') {
                        let text = text.replace(UNKNOWN, "$_");
                        self.out_of_order(|w| {
                            w.apart(|w| w.inside(&text, arg.span, &Flow::none()))
                        });
                        self.name(name, &text, true);
                    }
                }
                None
            }
            "trap" => {
                let text = args.get(1).filter(|a| !a.text.starts_with('-') && args.len() > 2)?;
                let body = text.text.replace(UNKNOWN, "$_");
                self.out_of_order(|w| w.apart(|w| w.inside(&body, text.span, &Flow::none())));
                None
            }
            _ => None,
        }
    }

    /// `hash -p PATH NAME`: from now on the name runs that path.
    fn hash(&mut self, args: &[Arg<'t>]) {
        if let [_, flag, path, names @ ..] = args
            && flag.text == "-p"
        {
            for name in names {
                self.name(&name.text, &path.text, true);
            }
        }
    }

    /// `declare NAME=value` and its kin; under `-i` values are arithmetic.
    fn declare(&mut self, args: &[Arg<'t>], span: Span) {
        self.subscripts_of(args);
        let whole =
            |a: &Arg<'_>| a.text == "integer" || a.text.starts_with('-') && a.text.contains('i');
        if args.iter().any(whole) {
            self.shared.variables.declare_integers();
            self.arithmetic_values(span);
        }
        self.export(args);
    }

    fn eval(&mut self, args: &[Arg<'t>], stdin: &Flow, span: Span) -> Flow {
        let mut text = String::new();
        let mut taint = Taint::default();
        for (i, arg) in args.iter().enumerate().skip(1) {
            if i > 1 {
                text.push(' ');
            }
            text.push_str(&arg.text);
            taint = taint.and(arg.taint);
        }
        let arg = Arg { text: Cow::Owned(text), span, taint, glob: false };
        self.shell_text(&arg, stdin)
    }

    fn source(&mut self, args: &[Arg<'t>], stdin: &Flow, span: Span) -> Flow {
        let Some(arg) = args.get(1) else { return Flow::none() };
        self.shared.out.effect(Effect::Exec);
        if arg.text.starts_with("/dev/fd/") || arg.taint.has(Taint::NET) {
            let flow = self.shared.processes.take(&arg.text).unwrap_or(Flow::unknown(arg.taint));
            return self.run_flow(&flow, span);
        }
        if arg.text == "/dev/stdin" || arg.text == "-" {
            return self.run_flow(stdin, span);
        }
        if let Some(flow) = self.known_file(&arg.text) {
            return self.run_flow(&flow, span);
        }
        let words = args.get(1..).unwrap_or_default();
        let harmless = self.observed_script(Some(Speech::Shell), words, span);
        if let Some(flow) = self.run_remembered(Some(Speech::Shell), &arg.text, stdin, span) {
            return flow;
        }
        self.touch(Touch::Read, arg, false);
        let class = self.shared.class_for(Act::Write, &arg.text);
        if class.id == "temporary" && !harmless {
            self.first_use(&structural_findings::ODD_PLACE, &arg.text, span);
        }
        Flow::unknown(Taint::default())
    }

    /// `read NAME`, `printf -v NAME` and their kin set variables.
    fn fill(&mut self, args: &[Arg<'t>], stdin: &Flow) {
        let Some(first) = args.first() else { return };
        let is_name = |a: &&Arg<'t>| {
            a.text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && a.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        };
        if first.text == "printf" && self.print_into(args) {
            return;
        }
        let mut names: Vec<&Arg<'t>> = match first.text.as_ref() {
            "test" | "[" => return,
            "printf" => {
                let at = args.iter().position(|a| a.text == "-v");
                at.and_then(|at| args.get(at + 1)).into_iter().filter(is_name).collect()
            }
            _ => args.iter().skip(1).filter(is_name).collect(),
        };
        if first.text == "read" {
            let line = |l: &str| (l.trim().to_owned(), stdin.taint);
            let lines = stdin.text.as_deref().map(|t| t.lines().map(line).collect::<Vec<_>>());
            if let (Some(lines), [name]) = (lines.filter(|l| !l.is_empty()), names.as_slice()) {
                let lines = representative(lines);
                let lost = LINES.check(lines.len()).map_or_else(Taint::from, |()| Taint::default());
                for (line, taint) in lines {
                    self.set(&name.text, line, taint.and(lost));
                }
                return;
            }
        }
        let empty = first.text == "unset";
        for name in names.drain(..) {
            let value = if empty { String::new() } else { UNKNOWN.to_string() };
            if self.lookup(&name.text).is_some() {
                self.set(&name.text, value, stdin.taint);
            }
        }
    }

    fn subscripts_of(&mut self, args: &[Arg<'t>]) {
        for arg in args.iter().skip(1) {
            self.subscripts(&arg.text, arg.span);
        }
    }

    /// Where a name or number is wanted, the shell runs the commands in its `[ … ]`.
    pub(super) fn subscripts(&mut self, text: &str, span: Span) {
        if text.contains('[') && (text.contains("$(") || text.contains('`')) {
            self.prompt(text, span);
        }
    }

    /// Arithmetic takes the values of variables as names and numbers again.
    pub(super) fn arithmetic_values(&mut self, span: Span) {
        let runs = |v: &&Variable| v.value.contains('[') && v.value.contains(['$', '`']);
        let all = self.shared.variables.all();
        let texts: Vec<String> = all.filter(runs).map(|v| v.value.clone()).collect();
        for text in texts {
            self.subscripts(&text, span);
        }
    }

    /// Text whose substitutions run though it is only shown: `${NAME@P}`.
    pub(super) fn prompt(&mut self, text: &str, span: Span) {
        // In a here-document quotes mean nothing outside of substitutions, and all inside.
        let text = text.replace(UNKNOWN, "$_");
        let shown = format!(": <<COUNTERSIGN_SHOWN\n{text}\nCOUNTERSIGN_SHOWN\n");
        self.apart(|w| w.inside(&shown, span, &Flow::none()));
    }

    fn export(&mut self, args: &[Arg<'t>]) {
        let refers = args.iter().any(|a| a.text.starts_with('-') && a.text.contains('n'));
        for arg in args.iter().skip(1) {
            if let Some((name, value)) = arg.text.split_once('=') {
                self.assigned(name, value, arg.span);
                // A name for another variable.
                let value = if refers { UNKNOWN.to_string() } else { value.to_owned() };
                self.set(name, value, arg.taint);
            }
        }
    }
}
