//! Programs that run code: from a word, from a file, from standard input.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use crate::command_tables::{ArgumentUse, CodeLanguage, Interpreter, Spec};
use crate::effect::Effect;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::name_lists::{
    CLIENT_NO_SESSION_OPTIONS, INTERPRETER_USAGE_OPTIONS, PYTHON_NO_SESSION_OPTIONS,
    SESSION_OPTIONS, SHELL_NO_SESSION_OPTIONS, SYNTAX_CHECK_SHELLS,
};
use crate::paths::last_part;
use crate::structural_findings::{self, StructuralRule};
use countersign_shell::UNKNOWN;
use countersign_types::tier::Tier;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// What an interpreter is told to run; none if it runs nothing (`python --version`).
    pub(super) fn interpret(
        &mut self,
        interpreter: Interpreter,
        spec: &'static Spec,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        span: Span,
    ) -> Option<Flow> {
        if matches!(interpreter.language, CodeLanguage::PowerShell | CodeLanguage::Cmd) {
            return self.start_other_shell(interpreter, inv, stdin, span);
        }
        if let Some(flow) = self.runs_nothing(interpreter, spec, inv) {
            return Some(flow);
        }
        self.magic_files(interpreter, inv);
        self.emptied_in_place(interpreter, spec, inv);
        self.program_files(interpreter, inv, stdin, span);
        if interpreter.language == CodeLanguage::Shell && inv.has("-c") {
            return self.shell_option(interpreter, inv, stdin);
        }
        let mut ran = self.code_options(interpreter, spec, inv, stdin);
        if let Some(flow) = self.module(interpreter, inv, stdin, span) {
            return Some(flow);
        }
        let first_code = spec.operands.lead.first() == Some(&ArgumentUse::Code);
        if first_code
            && !inv.has_any(&spec.first_if)
            && ran.is_none()
            && let Some(arg) = inv.operands.first().and_then(|i| inv.arg(*i))
        {
            let (_, harmless) = self.read_code_text(interpreter.language, arg, stdin);
            self.inline(interpreter, inv, arg, harmless);
            self.shared.out.effect(Effect::Exec);
            // The rest are files it works on: the caller's business.
            return None;
        }
        if let Some(flow) = &mut ran
            && !first_code
        {
            flow.taint = flow.taint.and(self.given_files(inv, 0));
        }
        if ran.is_some() {
            return ran.filter(|_| !first_code);
        }
        if interpreter.script && !inv.operands.is_empty() && !reads_stdin(interpreter, inv) {
            return self.script_operand(interpreter, inv, stdin, span);
        }
        self.piped_or_session(interpreter, spec, inv, stdin, span)
    }

    /// A question about the interpreter, or a check of syntax: no code is run.
    fn runs_nothing(
        &mut self,
        interpreter: Interpreter,
        spec: &'static Spec,
        inv: &Invocation<'_, 't>,
    ) -> Option<Flow> {
        // Behind `-c CODE` the word is one of the code's own.
        let is_code = |name: &str| {
            name == "-m" || spec.touches.iter().any(|(n, t)| *n == name && *t == ArgumentUse::Code)
        };
        let has_code = inv.values.iter().any(|(name, _)| is_code(name))
            || interpreter.language == CodeLanguage::Shell && inv.has_one(&["-c", "-s"]);
        let asked = inv.has_one(INTERPRETER_USAGE_OPTIONS) && inv.operands.is_empty() && !has_code;
        if !asked && !is_syntax_check(inv) {
            return None;
        }
        self.given_files(inv, 0);
        Some(Flow::unknown(Taint::default()))
    }

    /// Reads the code in the values of options; returns what the last of them writes.
    fn code_options(
        &mut self,
        interpreter: Interpreter,
        spec: &'static Spec,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
    ) -> Option<Flow> {
        let mut last = None;
        for (name, value) in &inv.values {
            let code = spec.touches.iter().any(|(n, t)| n == name && *t == ArgumentUse::Code);
            let Some(word) = inv.args.get(value.word).filter(|_| code) else { continue };
            let text = format!("{}{}", modules(interpreter, inv), value.text);
            let arg = Arg { text: Cow::Owned(text), ..word.clone() };
            let (flow, harmless) = self.read_code_text(interpreter.language, &arg, stdin);
            self.inline(interpreter, inv, &arg, harmless);
            self.shared.out.effect(Effect::Exec);
            last = Some(flow);
        }
        last
    }

    /// A shell takes its text from the first operand, however `-c` is clustered.
    fn shell_option(
        &mut self,
        interpreter: Interpreter,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
    ) -> Option<Flow> {
        let arg = inv.operands.first().and_then(|i| inv.arg(*i))?;
        self.inline(interpreter, inv, arg, self.is_assessed_by_text(&arg.text));
        let kept = self.shared.variables.count();
        let words: Vec<Arg<'t>> =
            inv.operands.iter().skip(1).filter_map(|i| inv.arg(*i)).cloned().collect();
        if !words.is_empty() {
            self.positional(&words, 0);
        }
        let flow = self.shell_text(arg, stdin);
        self.shared.variables.truncate(kept);
        // Noted last: what the text runs first finds everything as it was.
        self.shared.out.effect(Effect::Exec);
        Some(flow)
    }

    /// Code from standard input, or a session in which a person would type it.
    fn piped_or_session(
        &mut self,
        interpreter: Interpreter,
        spec: &'static Spec,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        span: Span,
    ) -> Option<Flow> {
        // With `-m` the module is the program, and what is piped in is its data.
        let module = interpreter.language == CodeLanguage::Python
            && inv.values.iter().any(|(name, _)| *name == "-m");
        if interpreter.stdin && stdin.present && !module {
            let words = if reads_stdin(interpreter, inv) { named_words(inv) } else { Vec::new() };
            let flow = if words.is_empty() {
                self.run_code_text(interpreter, stdin, span)
            } else {
                self.with_words(&words, |w| w.run_code_text(interpreter, stdin, span))
            };
            // A database client may be given statements in its words as well.
            let client = matches!(
                interpreter.language,
                CodeLanguage::Sql | CodeLanguage::Redis | CodeLanguage::Mongo
            );
            return if client { None } else { Some(flow) };
        }
        if interpreter.bare > Tier::Safe && is_session(interpreter, spec, inv) {
            // Inside a container nothing of this machine is in reach.
            let tier = if self.shared.rights.elsewhere { Tier::Low } else { interpreter.bare };
            let sign = StructuralRule { tier, ..structural_findings::SHELL_SESSION };
            self.shared.report(&sign, Some(span));
            return Some(Flow::none());
        }
        None
    }

    /// Notes that a text is run; `harmless` if all of it was read and needs no person.
    fn inline(
        &mut self,
        interpreter: Interpreter,
        inv: &Invocation<'_, 't>,
        arg: &Arg<'t>,
        harmless: bool,
    ) {
        if interpreter.inline == Tier::Safe {
            return;
        }
        // `perl -pe` and `-ne` work on text like sed does.
        let filter = matches!(interpreter.language, CodeLanguage::Perl | CodeLanguage::Ruby)
            && inv.has_one(&["-n", "-p"]);
        let base = if interpreter.language == CodeLanguage::Shell {
            structural_findings::SHELL_TEXT
        } else {
            structural_findings::INLINE_CODE
        };
        // `docker exec web sh -c '…'` is how a command gets there; its text is assessed as any
        // other.
        let carried = self.shared.rights.elsewhere && interpreter.language == CodeLanguage::Shell;
        let tier = if filter || carried || harmless { Tier::Low } else { interpreter.inline };
        self.shared.report(&StructuralRule { tier, ..base }, Some(arg.span));
    }
}

/// `sh -s -- WORD…` reads its commands from standard input, and the words are their `$1`, `$2` ….
fn reads_stdin(interpreter: Interpreter, inv: &Invocation<'_, '_>) -> bool {
    interpreter.language == CodeLanguage::Shell && inv.has("-s")
}

/// The name of the program and its operands, if it has any.
fn named_words<'t>(inv: &Invocation<'_, 't>) -> Vec<Arg<'t>> {
    let operands = inv.operands.iter().filter_map(|i| inv.arg(*i));
    let words: Vec<Arg<'t>> = inv.args.first().into_iter().chain(operands).cloned().collect();
    if words.len() > 1 { words } else { Vec::new() }
}

/// `bash -n FILE` reads a script and runs nothing. An interactive shell ignores `-n`.
fn is_syntax_check(inv: &Invocation<'_, '_>) -> bool {
    let program = inv.args.first().map(|arg| last_part(&arg.text));
    let mut words = inv.args.iter().skip(1);
    let plain = |arg: &Arg<'_>| {
        !arg.glob && !arg.text.starts_with(['-', '+']) && !arg.text.contains(UNKNOWN)
    };
    program.is_some_and(|name| SYNTAX_CHECK_SHELLS.contains(&name))
        && words.next().is_some_and(|arg| arg.text == "-n")
        && words.all(plain)
}

/// `perl -MModule -e …` begins with `use Module;`.
fn modules(interpreter: Interpreter, inv: &Invocation<'_, '_>) -> String {
    let mut uses = String::new();
    for (name, value) in &inv.values {
        if *name == "-M" && interpreter.language == CodeLanguage::Perl {
            uses.push_str("use ");
            uses.push_str(value.text.split('=').next().unwrap_or_default());
            uses.push(';');
        }
    }
    uses
}

/// Whether it would wait for a person to type: nothing to run is given, and no option says that it
/// does something else.
fn is_session(interpreter: Interpreter, spec: &Spec, inv: &Invocation<'_, '_>) -> bool {
    let operands = if reads_stdin(interpreter, inv) { 0 } else { inv.operands.len() };
    if operands > usize::from(interpreter.bare_operands) {
        return false;
    }
    // An option that names the host gives nothing to run.
    let touches =
        |name: &str| spec.touches.iter().any(|(n, t)| *n == name && *t != ArgumentUse::Net);
    let runs = |name: &str| name == "-m" || touches(name);
    if inv.values.iter().any(|(name, _)| runs(name)) {
        return false;
    }
    match interpreter.language {
        // These start a session with nearly every option they have.
        CodeLanguage::Shell => !inv.has_one(SHELL_NO_SESSION_OPTIONS),
        CodeLanguage::Python => !inv.has_one(PYTHON_NO_SESSION_OPTIONS),
        CodeLanguage::Sql | CodeLanguage::Redis | CodeLanguage::Mongo => {
            let takes = |f: &&&'static str| !spec.values.contains(*f);
            !CLIENT_NO_SESSION_OPTIONS.iter().filter(takes).any(|f| inv.has(f))
        }
        _ => {
            let options = inv.options.iter().filter_map(|i| inv.arg(*i));
            options.into_iter().all(|a| SESSION_OPTIONS.contains(&a.text.as_ref()))
        }
    }
}
