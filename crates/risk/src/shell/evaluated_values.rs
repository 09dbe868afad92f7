//! What the shell reads and evaluates itself: `source`, `read`, subscripts, arithmetic, prompts.

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::loops::representative;
use super::state::Variable;
use crate::command_tables::{ArgumentUse, CodeLanguage};
use crate::effect::Effect;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::limit::Limit;
use crate::paths::PathAction;
use crate::structural_findings;
use countersign_shell::UNKNOWN;

/// How many lines `read` is followed through.
const LINES: Limit = Limit::new("lines for `read`", 12);

impl<'t> Evaluator<'t, '_, '_, '_> {
    pub(super) fn source(&mut self, args: &[Arg<'t>], stdin: &Flow, span: Span) -> Flow {
        let Some(arg) = args.get(1) else { return Flow::none() };
        self.shared.out.effect(Effect::Exec);
        if arg.text.starts_with("/dev/fd/") || arg.taint.has(Taint::NET) {
            let flow = self.shared.processes.take(&arg.text).unwrap_or(Flow::unknown(arg.taint));
            return self.run_flow(&flow, span);
        }
        if arg.text == "/dev/stdin" || arg.text == "-" {
            return self.run_flow(stdin, span);
        }
        let words = args.get(1..).unwrap_or_default();
        if let Some(flow) = self.known_file(&arg.text) {
            return match args {
                [_, _] => self.run_flow(&flow, span),
                _ => self.with_words(words, |w| w.run_flow(&flow, span)),
            };
        }
        let harmless = self.observed_script(Some(CodeLanguage::Shell), words, span);
        if let Some(flow) = self.run_remembered(Some(CodeLanguage::Shell), words, stdin, span) {
            return flow;
        }
        // The shell uses what is in the file, and prints none of it.
        let shown = self.shared.out.trace.secrets.len();
        self.touch(ArgumentUse::Read, arg, false);
        self.shared.out.trace.secrets.truncate(shown);
        let class = self.shared.class_for(PathAction::Write, &arg.text);
        if class.id == "temporary" && !harmless {
            self.first_use(&structural_findings::ODD_PLACE, &arg.text, span);
        }
        Flow::unknown(Taint::default())
    }

    /// `read NAME`, `printf -v NAME` and their kin set variables.
    pub(super) fn fill(&mut self, args: &[Arg<'t>], stdin: &Flow) {
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
            // What was read from a file may be sent on.
            let filled = first.text == "read" && stdin.taint.has(Taint::FILE);
            if filled || self.lookup(&name.text).is_some() {
                self.set(&name.text, value, stdin.taint);
            }
        }
    }

    pub(super) fn subscripts_of(&mut self, args: &[Arg<'t>]) {
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
}
