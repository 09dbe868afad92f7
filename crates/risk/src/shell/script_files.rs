//! Programs and scripts in files, given to an interpreter.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use crate::command_tables::{ArgumentUse, CodeLanguage, Interpreter, Rule};
use crate::effect::Effect;
use crate::finding::{Findings, Span};
use crate::flow::{Flow, Taint};
use crate::paths::PathAction;
use crate::structural_findings;
use countersign_text::glob::bytes_of;
use countersign_types::tier::Tier;

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
        if interpreter.language == CodeLanguage::Sql {
            return self.statement_files(inv);
        }
        if !matches!(interpreter.language, CodeLanguage::Awk | CodeLanguage::Sed) {
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
                self.observed_script(Some(CodeLanguage::Sql), &[arg], word.span);
            }
        }
    }

    /// Whether the session wrote all files that the words of a rule name, and knows their text.
    pub(super) fn names_only_seen(&mut self, rule: &Rule, inv: &Invocation<'_, 't>) -> bool {
        let words =
            inv.args.iter().skip(1).filter(|arg| rule.arg.fit(&arg.text, bytes_of(&arg.text)));
        let foreign = |taint: Taint| taint.has(Taint::NET) || taint.has(Taint::DECODED);
        words.into_iter().all(|word| {
            let content = self.file_content(&word.text);
            content.is_some_and(|flow| flow.text.is_some() && !foreign(flow.taint))
        })
    }

    /// `go run FILE.go`: a source file that the session wrote is read for what is grave. The rest
    /// is what any program of a project may do.
    pub(super) fn source_files(&mut self, inv: &Invocation<'_, 't>, span: Span) {
        if inv.operand(0) != Some("run") {
            return;
        }
        let files = inv.operands.iter().filter_map(|i| inv.arg(*i));
        for file in files.filter(|arg| arg.text.ends_with(".go")) {
            let Some(text) = self.file_content(&file.text).and_then(|flow| flow.text) else {
                continue;
            };
            let outer = self.shared.out.take();
            let source = Arg { text: Cow::Owned(text), span, taint: Taint::default(), glob: false };
            self.code_text(CodeLanguage::Other, &source, &Flow::none());
            let inner = std::mem::replace(self.shared.out, outer);
            let mut grave = Findings::default();
            grave.absorb_reading(inner, false, |found| found.weight.tier() >= Tier::High);
            self.shared.out.absorb(grave, |found| found);
        }
    }

    /// The words behind code: `sys.argv[1]` may be a file that the code reads, and one that it
    /// writes if it writes any.
    pub(super) fn given_files(&mut self, inv: &Invocation<'_, 't>, skip: usize) -> Taint {
        let mut taint = Taint::default();
        if self.shared.out.iter().any(|finding| finding.code.starts_with("code.file.")) {
            self.named_in_environment(inv);
            for arg in inv.operands.iter().skip(skip).filter_map(|i| inv.arg(*i)) {
                self.touch(ArgumentUse::Write, arg, false);
            }
        }
        for arg in inv.operands.iter().skip(skip).filter_map(|i| inv.arg(*i)) {
            taint = taint.and(self.touch(ArgumentUse::Read, arg, false));
        }
        taint
    }

    /// `F=/etc/hosts python3 -c 'open(os.environ["F"], "w")'`: the code may write the paths that
    /// variables hold which it names.
    fn named_in_environment(&mut self, inv: &Invocation<'_, 't>) {
        let texts: Vec<&str> = inv.args.iter().skip(1).map(|arg| arg.text.as_ref()).collect();
        let is_named = |name: &str| {
            let quoted = [format!("'{name}'"), format!("\"{name}\""), format!("env.{name}")];
            quoted.iter().any(|word| texts.iter().any(|text| text.contains(word)))
        };
        let holds_path = |value: &str| value.starts_with(['/', '~']);
        let variables = self.shared.variables.all();
        let named = variables.filter(|v| holds_path(&v.value) && is_named(&v.name));
        let paths: Vec<String> = named.map(|v| v.value.clone()).collect();
        let span = inv.args.first().map_or(Span::new(0, 0), |arg| arg.span);
        for path in paths {
            self.touch_text(ArgumentUse::Write, &path, span);
        }
    }

    /// The first operand of an interpreter that takes a script, and the script's own words.
    pub(super) fn script(
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
            return Some(self.run_code_text(interpreter, &flow, span));
        }
        if arg.text == "-" || arg.text == "/dev/stdin" {
            return Some(self.run_code_text(interpreter, stdin, span));
        }
        if arg.text.starts_with("http://") || arg.text.starts_with("https://") {
            let taint = self.on_net(&arg.text);
            let sign = self.remote_code_rule(taint);
            self.shared.report(sign, Some(arg.span));
            return Some(Flow::unknown(Taint::NET));
        }
        if let Some(flow) = self.known_file(&arg.text) {
            let (result, harmless) =
                self.with_words(words, |w| w.run_and_tell(interpreter, &flow, span));
            // A text that is known is assessed by what it does; only what is unseen asks by itself.
            if !flow.taint.has(Taint::NET) && !harmless {
                self.shared.report(&structural_findings::WRITE_AND_RUN, Some(arg.span));
            }
            return Some(result);
        }
        let harmless = self.observed_script(Some(interpreter.language), words, arg.span);
        if let Some(flow) = self.run_remembered(Some(interpreter.language), words, stdin, arg.span)
        {
            return Some(flow);
        }
        if !harmless {
            self.run_fetched(&arg.text, arg.span);
        }
        let class = self.shared.class_for(PathAction::Write, &arg.text);
        if matches!(class.id, "temporary" | "shared-data") && !harmless {
            self.first_use(&structural_findings::ODD_PLACE, &arg.text, arg.span);
        }
        None
    }
}
