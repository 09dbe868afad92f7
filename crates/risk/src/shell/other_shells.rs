//! The way in for the readers of PowerShell and cmd: their commands are assessed by the same rules.

use super::arg::Arg;
use super::command_word::CommandWord;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::program::{Known, resolve};
use super::state::{Dispatch, EvalState};
use crate::command_tables::{self, ArgumentUse, Interpreter, Spec};
use crate::context::Context;
use crate::effect::Effect;
use crate::finding::{Doubt, Findings, Span};
use crate::flow::{Flow, Taint};
use crate::paths::{PathAction, PathClass};
use crate::structural_findings::{self, StructuralRule};
use countersign_shell::UNKNOWN;

/// Assesses commands of other shells and keeps what one command leaves for the next.
pub(crate) struct CommandAssessor<'s, 'c, 'o> {
    shared: &'s mut EvalState<'c, 'o>,
}

/// Runs a reader of another shell on a whole text. `base` is the place of the text in its argument.
pub(crate) fn assess_text(
    base: usize,
    ctx: &Context<'_>,
    depth: u8,
    dispatch: &'static Dispatch,
    out: &mut Findings,
    read: impl FnOnce(&mut CommandAssessor<'_, '_, '_>),
) {
    let mut shared = EvalState::new(ctx, base, depth, dispatch, out);
    read(&mut CommandAssessor::new(&mut shared));
}

impl<'s, 'c, 'o> CommandAssessor<'s, 'c, 'o> {
    /// Assesses with what a call has set and used so far.
    pub fn new(shared: &'s mut EvalState<'c, 'o>) -> CommandAssessor<'s, 'c, 'o> {
        // Loops and pipelines of these shells are not followed one by one.
        shared.facts_hold.enter_out_of_order();
        CommandAssessor { shared }
    }
}

impl<'c, 'o> CommandAssessor<'_, 'c, 'o> {
    fn evaluator<'t>(&mut self) -> Evaluator<'t, '_, 'c, 'o> {
        Evaluator { shared: self.shared, functions: Vec::new(), defining: None, text: "" }
    }

    /// Where the commands would run.
    pub fn context(&self) -> &'c Context<'c> {
        self.shared.ctx
    }

    /// What was found so far.
    pub fn out(&mut self) -> &mut Findings {
        self.shared.out
    }

    /// A place in the text being read.
    pub fn span(&self, start: usize, end: usize) -> Span {
        self.shared.position.span(start, end)
    }

    /// Enters a text of this length; false (with a finding) when there were too many.
    pub fn begin_text(&mut self, length: usize) -> bool {
        if length > countersign_shell::MAX_BYTES {
            self.shared.report(&structural_findings::TOO_LONG, None);
            self.shared.out.doubt(Doubt::Unreadable);
            return false;
        }
        let fits = self.shared.budget.enter_text(length);
        if !fits {
            self.too_deep(None);
        }
        fits
    }

    /// Leaves a text that `begin_text` entered.
    pub fn end_text(&mut self) {
        self.shared.budget.leave_text();
    }

    /// All findings fall on this place until the returned one is put back.
    pub fn pin(&mut self, span: Option<Span>) -> Option<Span> {
        self.shared.position.pin(span)
    }

    /// Counts one command; false (with a finding) when there were too many.
    pub fn spend(&mut self) -> bool {
        let left = self.shared.budget.spend_command();
        if !left {
            self.shared.report(&structural_findings::TOO_MANY, None);
            self.shared.out.doubt(Doubt::Unreadable);
        }
        left
    }

    /// Commands are nested deeper than is followed.
    pub fn too_deep(&mut self, span: Option<Span>) {
        self.shared.report(&structural_findings::TOO_DEEP, span);
        self.shared.out.doubt(Doubt::Unreadable);
    }

    /// Adds a structural finding.
    pub fn report(&mut self, rule: &StructuralRule, span: Span) {
        self.shared.report(rule, Some(self.shared.position.fixed().unwrap_or(span)));
    }

    /// Assesses a program of the operating system with its words.
    pub fn program(&mut self, words: &[CommandWord], stdin: &Flow, span: Span) -> Flow {
        let args: Vec<Arg<'_>> = words.iter().map(CommandWord::arg).collect();
        self.evaluator().command(&args, stdin.clone(), span)
    }

    /// Assesses a described command whose words are already in their final form.
    pub fn described(&mut self, words: &[CommandWord], stdin: &Flow, span: Span) -> Flow {
        let Some(known) = words.first().and_then(|w| crate::command_tables::spec(&w.text)) else {
            return self.program(words, stdin, span);
        };
        let args: Vec<Arg<'_>> = words.iter().map(CommandWord::arg).collect();
        self.evaluator().known(known, &args, stdin, span)
    }

    /// The commands that follow have full rights; returns what held before.
    pub fn elevate(&mut self, root: bool) -> bool {
        let keep = self.shared.rights.root;
        self.shared.rights.root |= root;
        keep
    }

    /// Puts back what `elevate` returned.
    pub fn restore_rights(&mut self, keep: bool) {
        self.shared.rights.root = keep;
    }

    /// What a command does to one path.
    pub fn touch(&mut self, touch: ArgumentUse, word: &CommandWord, recursive: bool) -> Taint {
        self.evaluator().touch(touch, &word.arg(), recursive)
    }

    /// The class of a path seen from where the next command runs.
    pub fn class(&self, act: PathAction, path: &str) -> &'static PathClass {
        self.shared.class_for(act, path)
    }

    /// Remembers what a file now holds.
    pub fn written(&mut self, path: &str, append: bool, flow: &Flow) {
        self.evaluator().written(path, append, flow);
    }

    /// What this text wrote into a file before.
    pub fn known_file(&mut self, path: &str) -> Option<Flow> {
        self.shared.known_file(path)
    }

    /// An environment variable gets a value.
    pub fn assigned(&mut self, name: &str, value: &str, span: Span) {
        self.evaluator().assigned(name, value, span);
    }

    /// Text of unknown content is run as code.
    pub fn unseen_code(&mut self, taint: Taint, span: Span) {
        let evaluator = self.evaluator();
        let sign = if taint.has(Taint::NET) {
            evaluator.remote_code_rule(taint)
        } else if taint.has(Taint::DECODED) {
            &structural_findings::DECODED_CODE
        } else {
            &structural_findings::UNSEEN_CODE
        };
        self.shared.out.effect(Effect::Exec);
        self.shared.out.doubt(Doubt::DynamicProgram);
        self.shared.report(sign, Some(span));
    }

    /// A file or secret leaves this machine.
    pub fn sent(&mut self, secret: bool, span: Span) {
        self.shared.out.effect(Effect::NetOut);
        let sign =
            if secret { &structural_findings::EXFILTRATION } else { &structural_findings::UPLOAD };
        self.shared.report(sign, Some(span));
    }

    /// A URL or host is talked to.
    pub fn net(&mut self, target: &str) -> Taint {
        self.evaluator().on_net(target)
    }
}

/// The description of a program, if there is one.
pub(crate) fn described_program(name: &str) -> Option<&'static Spec> {
    resolve(name).map(|(spec, ..)| spec)
}

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// A cmdlet, or a program with options of Windows, in the words of a POSIX shell: its options
    /// are brought into the form of the rules first.
    pub(super) fn windows_command(
        &mut self,
        known: Known,
        args: &[Arg<'t>],
        stdin: &Flow,
        span: Span,
    ) -> Flow {
        let words: Vec<CommandWord> = args.iter().map(CommandWord::from_arg).collect();
        let bind = self.shared.dispatch.bind;
        let bound = bind(self.shared, known.0, &words, stdin);
        let args: Vec<Arg<'_>> = bound.iter().map(CommandWord::arg).collect();
        let mut evaluator =
            Evaluator { shared: self.shared, functions: Vec::new(), defining: None, text: "" };
        evaluator.known(known, &args, stdin, span)
    }

    /// A name that only PowerShell has, wherever it is in a POSIX text: both readings count.
    pub(super) fn as_powershell_command(&mut self, args: &[Arg<'t>], span: Span) {
        if !args.first().is_some_and(|arg| is_powershell_name(&arg.text)) {
            return;
        }
        let word = |arg: &Arg<'_>| {
            let text = arg.text.replace(UNKNOWN, "$unknown");
            if text.contains(char::is_whitespace) {
                format!("'{}'", text.replace('\'', "''"))
            } else {
                text
            }
        };
        let line = args.iter().map(word).collect::<Vec<_>>().join(" ");
        self.as_powershell(&line, span);
    }

    /// The same for the command as it is written: a POSIX shell takes backslashes away.
    pub(super) fn as_written_powershell(&mut self, name: &str, written: &str, span: Span) {
        // All aliases of cmdlets are short, and all cmdlets have a dash.
        if (name.len() <= 8 || name.contains('-'))
            && written.contains(['\\', '{', '(', '@'])
            && is_powershell_name(name)
        {
            self.as_powershell(written, span);
        }
    }

    fn as_powershell(&mut self, line: &str, span: Span) {
        let outer = std::mem::take(self.shared.out);
        let run = self.shared.dispatch.run_powershell;
        run(self.shared, line, span);
        let other = std::mem::replace(self.shared.out, outer);
        // Nobody said that it is PowerShell: what cannot be read as such is none.
        self.shared.out.absorb_reading(other, false, |f| !f.code.ends_with(".unreadable"));
    }

    /// A program that cmd has too, called with a drive: the rules of cmd count as well.
    pub(super) fn as_cmd_command(
        &mut self,
        known: Known,
        args: &[Arg<'t>],
        stdin: &Flow,
        span: Span,
    ) {
        let drive = |arg: &Arg<'_>| match arg.text.as_bytes() {
            [letter, b':'] | [letter, b':', b'\\' | b'/', ..] => letter.is_ascii_alphabetic(),
            _ => false,
        };
        let Some((first, rest)) = args.split_first() else { return };
        if !rest.iter().any(drive) {
            return;
        }
        let name = format!("cmd:{}", first.text.to_ascii_lowercase());
        let known = command_tables::spec(&name).unwrap_or(known);
        self.windows_command(known, args, stdin, span);
    }

    /// `powershell` or `cmd` with its words; without a command it opens a session.
    pub(super) fn start_other_shell(
        &mut self,
        interpreter: Interpreter,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        span: Span,
    ) -> Option<Flow> {
        let words: Vec<CommandWord> = inv.args.iter().map(CommandWord::from_arg).collect();
        self.shared.out.effect(Effect::Exec);
        let launch = self.shared.dispatch.launch;
        let ran = launch(self.shared, interpreter.language, &words, stdin, span);
        if ran.is_none() {
            self.shared.report(&structural_findings::SHELL_SESSION, Some(span));
        }
        ran.or(Some(Flow::none()))
    }
}

/// Whether a name is a cmdlet or an alias of one, and no program that is described otherwise.
fn is_powershell_name(name: &str) -> bool {
    // Aliases that are hardly ever a program of that name.
    let hardly = matches!(name, "ri" | "ni" | "ii" | "gc");
    if !hardly && let Some((spec, ..)) = resolve(name) {
        return spec.cmdlet;
    }
    let name = name.to_ascii_lowercase();
    let own = |(verb, noun): (&str, &str)| {
        !noun.is_empty()
            && noun.bytes().all(|b| b.is_ascii_alphanumeric())
            && command_tables::spec(&format!("{verb}-*")).is_some()
    };
    command_tables::cmdlet_of_alias(&name).is_some() || name.split_once('-').is_some_and(own)
}
