//! One command: its name resolved through aliases, functions and cmdlets, its arguments bound.

use super::bind::{self, Argument};
use super::cmdlet_call::{CmdletArgument, CmdletCall};
use super::run::Evaluator;
use super::value::{Kind, PsValue};
use crate::command_tables as tables;
use crate::command_tables::Spec;
use crate::effect::Effect;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::paths::PathAction;
use crate::paths::windows_path;
use crate::shell::{CommandWord, described_program};
use crate::structural_findings;
use countersign_shell::powershell::ast::{PsExpr, PsWord, PsWordKind};
use countersign_types::tier::Tier;

/// How often an alias may lead to another one.
const MAX_ALIASES: u8 = 6;
impl Evaluator<'_, '_, '_, '_> {
    /// Assesses one command; returns what it writes.
    pub fn command(&mut self, words: &[PsWord<'_>], input: &PsValue, span: Span) -> PsValue {
        let first = words.first().map(|w| &w.kind);
        let operator = |text: &str| matches!(text, "&" | ".");
        let invoked = words.len() > 1
            && matches!(first, Some(PsWordKind::Value(PsExpr::Text { text, bare: true }))
                if operator(text));
        let mut words = words.iter().skip(usize::from(invoked));
        let Some(first) = words.next() else { return PsValue::nothing() };
        let place = self.assessor.span(first.start, first.end);
        let program = match &first.kind {
            PsWordKind::Value(expr) => self.value(expr),
            PsWordKind::Splat(_) => PsValue::unknown(Taint::default()),
            PsWordKind::Parameter { name, .. } => PsValue::text(format!("-{name}")),
            PsWordKind::Verbatim(text) => PsValue::text(*text),
        };
        let given = self.given(words);
        let program = match program.kind {
            Kind::List(_) => match program.items().into_iter().next() {
                Some(item) => item,
                None => PsValue::nothing(),
            },
            _ => program,
        };
        if let Kind::Block(block) = &program.kind {
            return self.call_block(block, &given, span);
        }
        if program.is_nothing() {
            return PsValue::nothing();
        }
        let name = CommandWord {
            text: program.string(),
            span: place,
            taint: program.origins(),
            glob: false,
        };
        self.named(&name, &given, input, span, 0)
    }

    /// A command by its name.
    pub fn named(
        &mut self,
        name: &CommandWord,
        given: &[CmdletArgument],
        input: &PsValue,
        span: Span,
        depth: u8,
    ) -> PsValue {
        let lower = name.text.trim().to_ascii_lowercase();
        if windows_path::is_unknown(&lower) {
            return self.native(name, given, input, span);
        }
        if depth < MAX_ALIASES
            && let Some((_, target)) = self.state.aliases.iter().rev().find(|(n, _)| *n == lower)
        {
            let target = CommandWord { text: target.clone(), ..name.clone() };
            return self.named(&target, given, input, span, depth + 1);
        }
        let function = self.state.functions.iter().rev().find(|f| f.name == lower).cloned();
        if let Some(function) = function {
            return self.call_source(&function.parameters, &function.source, given, span);
        }
        // `Microsoft.PowerShell.Management\Remove-Item`
        let bare = lower.rsplit('\\').next().unwrap_or(&lower).to_owned();
        let cmdlet =
            cmdlet_named(&lower).or_else(|| cmdlet_named(&bare).filter(|_| bare.contains('-')));
        if let Some((cmdlet, spec)) = cmdlet {
            let alias = cmdlet != bare;
            // Some aliases are programs as well: which of them runs depends on the system.
            if alias && described_program(&lower).is_some_and(|s| !s.cmdlet) {
                self.native(name, given, input, span);
            }
            let name = CommandWord { text: cmdlet.to_owned(), ..name.clone() };
            return self.cmdlet(CmdletCall { spec, name: &name, given, input, span });
        }
        match self.verb_family(&lower, name, given, input, span) {
            Some(value) => value,
            None => self.native(name, given, input, span),
        }
    }

    /// A cmdlet that is not described, by its verb: the rules of `remove-*` and the like.
    fn verb_family(
        &mut self,
        lower: &str,
        name: &CommandWord,
        given: &[CmdletArgument],
        input: &PsValue,
        span: Span,
    ) -> Option<PsValue> {
        let (verb, noun) = lower.split_once('-')?;
        if described_program(lower).is_some() || lower.contains(['\\', '/', '.']) {
            return None;
        }
        let family = format!("{verb}-*");
        let (spec, ..) = tables::spec(&family)?;
        let noun = CommandWord { text: noun.to_owned(), ..name.clone() };
        let mut all = vec![CmdletArgument {
            argument: bind::value_argument(vec![noun], false, name.span),
            value: PsValue::nothing(),
            raw: String::new(),
        }];
        all.extend(given.iter().cloned());
        let name = CommandWord { text: family, ..name.clone() };
        Some(self.bound(CmdletCall { spec, name: &name, given: &all, input, span }))
    }

    /// A program of the operating system, or a script.
    pub fn native(
        &mut self,
        name: &CommandWord,
        given: &[CmdletArgument],
        input: &PsValue,
        span: Span,
    ) -> PsValue {
        let cwd = self.assessor.context().cwd;
        if windows_path::share_host(&name.text).is_some() {
            self.assessor.unseen_code(Taint::NET.and(Taint::NET_OPEN), span);
        }
        let mut program = windows_path::program(name.text.trim(), cwd);
        let lower = program.to_ascii_lowercase();
        for suffix in [".cmd", ".bat", ".com"] {
            let short =
                program.get(..program.len().saturating_sub(suffix.len())).unwrap_or_default();
            if lower.ends_with(suffix) && described_program(short).is_some() {
                let kept = short.len();
                program.truncate(kept);
            }
        }
        if lower.strip_suffix(".ps1").is_some()
            && let Some(flow) = self.assessor.known_file(&program)
        {
            self.assessor.report(&structural_findings::WRITE_AND_RUN, span);
            return self.run_text(&PsValue::from_flow(flow), span);
        }
        let program = CommandWord { text: program, ..name.clone() };
        let words = native_words(program, given, cwd);
        PsValue::from_flow(self.assessor.program(&words, &input.flow(), span))
    }

    /// A cmdlet: those that run, set or name something are followed, all are held against rules.
    fn cmdlet(&mut self, call: CmdletCall<'_>) -> PsValue {
        match self.followed(call) {
            Some(value) => value,
            None => self.bound(call),
        }
    }

    /// Binds the arguments and holds the rules against the call.
    pub fn bound(&mut self, call: CmdletCall<'_>) -> PsValue {
        let arguments: Vec<Argument> = call.given.iter().map(|g| g.argument.clone()).collect();
        let bound = bind::bind(call.spec, &arguments, self.assessor.context().cwd);
        let stdin = call.input.flow();
        let mut output = Flow::none();
        if bound.position(0).len() > bind::MAX_EACH {
            self.not_read(call.span);
        }
        for words in bind::calls(call.spec, call.name, &bound, &stdin) {
            let flow = self.assessor.described(&words, &stdin, call.span);
            self.shared_folder(call.spec, &words, flow.taint, &stdin, call.span);
            output = output.or(&flow);
        }
        for file in bound.option("-outfile") {
            self.assessor.written(file, false, &Flow::unknown(Taint::NET.and(output.taint)));
        }
        if call.spec.filter {
            return call.input.clone().tainted(output.taint);
        }
        PsValue::from_flow(output)
    }

    /// A file written to a folder of another host leaves this machine.
    fn shared_folder(
        &mut self,
        spec: &Spec,
        words: &[CommandWord],
        read: Taint,
        stdin: &Flow,
        span: Span,
    ) {
        let writes = spec.effects.contains(&Effect::Write);
        let Some((last, others)) = words.split_last().filter(|_| writes) else { return };
        let target = words.iter().rev().find(|w| windows_path::share_host(&w.text).is_some());
        if target.is_none_or(|t| t.text != last.text) {
            return;
        }
        let held = |w: &CommandWord| {
            self.assessor.class(PathAction::Read, &w.text).read >= Tier::Medium
                || w.taint.has(Taint::SECRET)
        };
        let secret = others.iter().skip(1).any(held)
            || read.has(Taint::SECRET)
            || stdin.taint.has(Taint::SECRET);
        self.assessor.sent(secret, span);
    }
}

/// A cmdlet by its name or alias in lower case.
fn cmdlet_named(name: &str) -> Option<(&str, &'static Spec)> {
    if let Some(cmdlet) = tables::cmdlet_of_alias(name) {
        return tables::spec(cmdlet).map(|(spec, ..)| (cmdlet, spec));
    }
    let (spec, ..) = tables::spec(name).filter(|(spec, ..)| spec.cmdlet)?;
    Some((name, spec))
}

/// A program and its arguments as the words that it gets.
fn native_words(
    program: CommandWord,
    given: &[CmdletArgument],
    cwd: Option<&str>,
) -> Vec<CommandWord> {
    let mut words = vec![program];
    for one in given {
        if one.argument.parameter.is_some() {
            words.push(CommandWord::new(one.raw.clone(), one.argument.span));
            continue;
        }
        for word in &one.argument.words {
            let text = if windows_path::is_windows(&word.text) {
                windows_path::normalize(&word.text, cwd).into_owned()
            } else {
                word.text.clone()
            };
            match words.last_mut().filter(|_| one.argument.attached) {
                Some(last) => last.text = format!("{}:{text}", last.text),
                None => words.push(CommandWord { text, ..word.clone() }),
            }
        }
    }
    words
}
