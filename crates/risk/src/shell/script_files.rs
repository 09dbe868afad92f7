//! Programs and scripts in files, given to an interpreter.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use crate::command_tables::{Interpreter, Speech, Touch};
use crate::effect::Effect;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::paths::Act;
use crate::structural_findings;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// The operand that is a script: run it.
    pub(super) fn script_operand(
        &mut self,
        interpreter: Interpreter,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        span: Span,
    ) -> Option<Flow> {
        let words: Vec<Arg<'t>> =
            inv.operands.iter().filter_map(|i| inv.arg(*i)).cloned().collect();
        let ran = self.script(interpreter, &words, stdin, span);
        if words.first().is_some_and(|arg| arg.text == "-" || arg.text == "/dev/stdin") {
            self.given_files(inv, 1);
        }
        ran
    }

    /// `awk -f FILE`, `sed -f FILE`: the program is in a file, or on standard input.
    pub(super) fn program_files(
        &mut self,
        interpreter: Interpreter,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        span: Span,
    ) {
        if interpreter.speech == Speech::Sql {
            return self.statement_files(inv);
        }
        if !matches!(interpreter.speech, Speech::Awk | Speech::Sed) {
            return;
        }
        for (name, value) in &inv.values {
            let Some(word) = inv.args.get(value.word) else { continue };
            if !matches!(*name, "-f" | "--file" | "-E" | "--exec") {
                continue;
            }
            let arg = Arg { text: Cow::Owned(value.text.to_owned()), ..word.clone() };
            let streamed = matches!(value.text, "-" | "/dev/stdin");
            if streamed && stdin.text.is_none() {
                self.report_stream(stdin, span);
            }
            self.script(interpreter, &[arg], stdin, span);
        }
    }

    /// `psql -f FILE`: the statements are in a file.
    fn statement_files(&mut self, inv: &Invocation<'_, 't>) {
        for (name, value) in &inv.values {
            let Some(word) = inv.args.get(value.word) else { continue };
            if matches!(*name, "-f" | "--file") && value.text != "-" {
                let arg = Arg { text: Cow::Owned(value.text.to_owned()), ..word.clone() };
                self.observed_script(Some(Speech::Sql), &[arg], word.span);
            }
        }
    }

    /// The words behind code: `sys.argv[1]` may be a file that the code reads, and one that it
    /// writes if it writes any.
    pub(super) fn given_files(&mut self, inv: &Invocation<'_, 't>, skip: usize) -> Taint {
        let mut taint = Taint::default();
        if self.shared.out.iter().any(|finding| finding.code.starts_with("code.file.")) {
            for arg in inv.operands.iter().skip(skip).filter_map(|i| inv.arg(*i)) {
                self.touch(Touch::Write, arg, false);
            }
        }
        for arg in inv.operands.iter().skip(skip).filter_map(|i| inv.arg(*i)) {
            taint = taint.and(self.touch(Touch::Read, arg, false));
        }
        taint
    }

    /// The first operand of an interpreter that takes a script, and the script's own words.
    fn script(
        &mut self,
        interpreter: Interpreter,
        words: &[Arg<'t>],
        stdin: &Flow,
        span: Span,
    ) -> Option<Flow> {
        let arg = words.first()?;
        self.shared.out.effect(Effect::Exec);
        if arg.text.starts_with("/dev/fd/") {
            let flow = self.shared.processes.take(&arg.text).unwrap_or(Flow::unknown(arg.taint));
            return Some(self.run_speech(interpreter, &flow, span));
        }
        if arg.text == "-" || arg.text == "/dev/stdin" {
            return Some(self.run_speech(interpreter, stdin, span));
        }
        if arg.text.starts_with("http://") || arg.text.starts_with("https://") {
            let taint = self.on_net(&arg.text);
            let sign = self.remote_code_rule(taint);
            self.shared.report(sign, Some(arg.span));
            return Some(Flow::unknown(Taint::NET));
        }
        if let Some(flow) = self.known_file(&arg.text) {
            let (result, harmless) = self.run_and_tell(interpreter, &flow, span);
            // A text that is known is judged by what it does; only what is unseen asks by itself.
            if !flow.taint.has(Taint::NET) && !harmless {
                self.shared.report(&structural_findings::WRITE_AND_RUN, Some(arg.span));
            }
            return Some(result);
        }
        let harmless = self.observed_script(Some(interpreter.speech), words, arg.span);
        if let Some(flow) =
            self.run_remembered(Some(interpreter.speech), &arg.text, stdin, arg.span)
        {
            return Some(flow);
        }
        let class = self.shared.class_for(Act::Write, &arg.text);
        if matches!(class.id, "temporary" | "shared-data") && !harmless {
            self.first_use(&structural_findings::ODD_PLACE, &arg.text, arg.span);
        }
        None
    }
}
