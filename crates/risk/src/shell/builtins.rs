//! What the shell itself does: `cd`, `eval`, `source`, `export`, `alias`, `trap`.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::state::Folders;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::structural_findings;
use countersign_shell::UNKNOWN;

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
