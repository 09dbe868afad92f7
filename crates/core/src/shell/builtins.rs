//! What the shell itself does: `cd`, `eval`, `source`, `export`, `alias`, `trap`.

use std::borrow::Cow;

use super::expand::Arg;
use super::flow::{Flow, Taint};
use super::folders::Folders;
use super::signs;
use super::tables::Touch;
use super::walk::Walker;
use crate::effect::Effect;
use crate::finding::Span;
use crate::paths::{Act, UNKNOWN};

impl<'t> Walker<'t, '_, '_, '_> {
    /// The command if it is one of the shell's own that change how we read on.
    pub(super) fn builtin(&mut self, args: &[Arg<'t>], stdin: &Flow, span: Span) -> Option<Flow> {
        let first = args.first()?;
        match first.text.as_ref() {
            "cd" | "pushd" | "popd" | "chdir" => {
                self.enter(args);
                Some(Flow::none())
            }
            "exit" => {
                self.shared.folders = Folders::nowhere();
                Some(Flow::none())
            }
            "eval" => Some(self.eval(args, stdin, span)),
            "source" | "." => Some(self.source(args, stdin, span)),
            "export" | "declare" | "typeset" | "local" | "readonly" | "setenv" => {
                self.export(args);
                None
            }
            "set" => {
                let words = match args.iter().position(|a| a.text == "--" || a.text == "-") {
                    Some(at) => args.get(at + 1..),
                    None => args
                        .get(1..)
                        .filter(|w| w.first().is_some_and(|a| !a.text.starts_with(['-', '+']))),
                };
                if let Some(words) = words {
                    self.positional(words, 1);
                }
                None
            }
            "shift" => {
                self.shift(args.get(1).and_then(|a| a.text.parse().ok()).unwrap_or(1));
                Some(Flow::none())
            }
            "alias" => {
                for arg in args.iter().skip(1) {
                    if let Some((name, text)) = arg.text.split_once('=') {
                        let text = text.replace(UNKNOWN, "$_");
                        self.apart(|w| w.inside(&text, arg.span, &Flow::none()));
                        self.name(name, &text, true);
                    }
                }
                None
            }
            "trap" => {
                let text = args.get(1).filter(|a| !a.text.starts_with('-') && args.len() > 2)?;
                let body = text.text.replace(UNKNOWN, "$_");
                self.apart(|w| w.inside(&body, text.span, &Flow::none()));
                None
            }
            "$0" => {
                self.shared.sign(&signs::FORK_BOMB, Some(span));
                Some(Flow::none())
            }
            _ => None,
        }
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
            let flow = self.shared.process.take().unwrap_or(Flow::unknown(arg.taint));
            return self.run_flow(&flow, span);
        }
        if arg.text == "/dev/stdin" || arg.text == "-" {
            return self.run_flow(stdin, span);
        }
        if let Some(flow) = self.known_file(&arg.text) {
            return self.run_flow(&flow, span);
        }
        self.touch(Touch::Read, arg, false);
        let class = self.shared.class_for(Act::Write, &arg.text);
        if class.id == "temporary" {
            self.shared.sign(&signs::ODD_PLACE, Some(span));
        }
        Flow::unknown(Taint::default())
    }

    fn export(&mut self, args: &[Arg<'t>]) {
        for arg in args.iter().skip(1) {
            if let Some((name, value)) = arg.text.split_once('=') {
                self.assigned(name, value, arg.span);
                self.set(name, value.to_owned(), arg.taint);
            }
        }
    }
}
