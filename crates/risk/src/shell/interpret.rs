//! Programs that run code: from a word, from a file, from standard input.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::{awk, sed};
use crate::code;
use crate::code::Language;
use crate::command_tables::{Interpreter, Spec, Speech, Touch};
use crate::context::Context;
use crate::effect::Effect;
use crate::finding::{Doubt, Finding, Findings, Span};
use crate::flow::{Flow, Taint};
use crate::paths::Act;
use crate::sql;
use crate::structural_findings::{self, Sign};
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
        if matches!(interpreter.speech, Speech::PowerShell | Speech::Cmd) {
            return self.start_other_shell(interpreter, inv, stdin, span);
        }
        if inv.has_one(&["--version", "--help", "-V"]) && inv.operands.is_empty() {
            return Some(Flow::unknown(Taint::default()));
        }
        self.magic_files(interpreter, inv);
        self.emptied_in_place(interpreter, spec, inv);
        self.program_files(interpreter, inv, stdin, span);
        let mut ran = false;
        let mut flow = Flow::unknown(stdin.taint);
        // A shell takes its text from the first operand, however `-c` is clustered.
        if interpreter.speech == Speech::Shell && inv.has("-c") {
            let arg = inv.operands.first().and_then(|i| inv.arg(*i))?;
            self.inline(interpreter, inv, arg, self.is_judged_by_text(&arg.text));
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
            return Some(flow);
        }
        for (name, value) in &inv.values {
            let code = spec.touches.iter().any(|(n, t)| n == name && *t == Touch::Code);
            let Some(word) = inv.args.get(value.word).filter(|_| code) else { continue };
            let text = format!("{}{}", modules(interpreter, inv), value.text);
            let arg = Arg { text: Cow::Owned(text), ..word.clone() };
            let harmless;
            (flow, harmless) = self.read_speech(interpreter.speech, &arg, stdin);
            self.inline(interpreter, inv, &arg, harmless);
            self.shared.out.effect(Effect::Exec);
            ran = true;
        }
        if let Some(flow) = self.module(interpreter, inv, stdin, span) {
            return Some(flow);
        }
        let first_code = spec.operands.lead.first() == Some(&Touch::Code);
        if first_code
            && !inv.has_any(spec.first_if)
            && !ran
            && let Some(arg) = inv.operands.first().and_then(|i| inv.arg(*i))
        {
            let (_, harmless) = self.read_speech(interpreter.speech, arg, stdin);
            self.inline(interpreter, inv, arg, harmless);
            self.shared.out.effect(Effect::Exec);
            // The rest are files it works on: the caller's business.
            return None;
        }
        if ran {
            return if first_code { None } else { Some(flow) };
        }
        if interpreter.script && !inv.operands.is_empty() {
            let words: Vec<Arg<'t>> =
                inv.operands.iter().filter_map(|i| inv.arg(*i)).cloned().collect();
            return self.script(interpreter, &words, stdin, span);
        }
        // With `-m` the module is the program, and what is piped in is its data.
        let module = interpreter.speech == Speech::Python
            && inv.values.iter().any(|(name, _)| *name == "-m");
        if interpreter.stdin && stdin.present && !module {
            let flow = self.run_speech(interpreter, stdin, span);
            // A database client may be given statements in its words as well.
            let client = matches!(interpreter.speech, Speech::Sql | Speech::Redis | Speech::Mongo);
            return if client { None } else { Some(flow) };
        }
        if interpreter.bare > Tier::Safe && is_session(interpreter, spec, inv) {
            // Inside a container nothing of this machine is in reach.
            let tier = if self.shared.rights.elsewhere { Tier::Low } else { interpreter.bare };
            let sign = Sign { tier, ..structural_findings::SHELL_SESSION };
            self.shared.sign(&sign, Some(span));
            return Some(Flow::none());
        }
        None
    }

    /// `awk -f FILE`, `sed -f FILE`: the program is in a file, or on standard input.
    fn program_files(
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
                self.stream_sign(stdin, span);
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

    /// `python -m pip …` is `pip …`.
    fn module(
        &mut self,
        interpreter: Interpreter,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        span: Span,
    ) -> Option<Flow> {
        if interpreter.speech != Speech::Python {
            return None;
        }
        let (_, module) = inv.values.iter().find(|(name, _)| *name == "-m")?;
        let path = format!("{}.py", module.text.replace('.', "/"));
        if let Some(flow) = self.file_content(&path) {
            self.shared.sign(&structural_findings::WRITE_AND_RUN, Some(span));
            return Some(self.run_speech(interpreter, &flow, span));
        }
        if module.text == "http.server" {
            self.serves_folder(inv, span);
        }
        super::program::resolve(module.text)?;
        let mut inner: Vec<Arg<'t>> = inv.args.get(module.word..)?.to_vec();
        inner.first_mut()?.text = Cow::Owned(module.text.to_owned());
        Some(self.command(&inner, stdin.clone(), span))
    }

    /// `python -m http.server` in a folder that holds more than a project.
    fn serves_folder(&mut self, inv: &Invocation<'_, 't>, span: Span) {
        let named = inv.args.iter().position(|a| matches!(a.text.as_ref(), "-d" | "--directory"));
        let folder = named.and_then(|at| inv.args.get(at + 1)).map_or(".", |a| a.text.as_ref());
        let class = self.shared.class_for(Act::DeleteTree, folder);
        if matches!(class.id, "home-whole" | "root" | "system-whole" | "credentials") {
            self.shared.out.effect(Effect::NetOut);
            self.shared.sign(&structural_findings::SERVES_FOLDER, Some(span));
        }
    }

    /// Notes that a text is run; `harmless` if all of it was read and asks for nobody.
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
        let filter =
            matches!(interpreter.speech, Speech::Perl | Speech::Ruby) && inv.has_one(&["-n", "-p"]);
        let base = if interpreter.speech == Speech::Shell {
            structural_findings::SHELL_TEXT
        } else {
            structural_findings::INLINE_CODE
        };
        // `docker exec web sh -c '…'` is how a command gets there; its text is judged as any other.
        let carried = self.shared.rights.elsewhere && interpreter.speech == Speech::Shell;
        let tier = if filter || carried || harmless { Tier::Low } else { interpreter.inline };
        self.shared.sign(&Sign { tier, ..base }, Some(arg.span));
    }

    /// Whether a text given to an interpreter can be judged by what it does. Without a workspace
    /// nobody knows where it would run, and the text itself asks.
    fn is_judged_by_text(&self, text: &str) -> bool {
        !text.contains(UNKNOWN) && self.shared.workspace.is_known()
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
            let sign = self.remote_sign(taint);
            self.shared.sign(sign, Some(arg.span));
            return Some(Flow::unknown(Taint::NET));
        }
        if let Some(flow) = self.known_file(&arg.text) {
            let (result, harmless) = self.run_and_tell(interpreter, &flow, span);
            // A text that is known is judged by what it does; only what is unseen asks by itself.
            if !flow.taint.has(Taint::NET) && !harmless {
                self.shared.sign(&structural_findings::WRITE_AND_RUN, Some(arg.span));
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

    /// Shell commands that arrive as a stream.
    pub(super) fn run_flow(&mut self, flow: &Flow, span: Span) -> Flow {
        self.stream_sign(flow, span);
        match &flow.text {
            Some(text) => {
                let text = text.clone();
                self.inside(&text, span, &Flow::none())
            }
            None => Flow::unknown(flow.taint),
        }
    }

    fn stream_sign(&mut self, flow: &Flow, span: Span) {
        self.shared.out.effect(Effect::Exec);
        let sign = if flow.taint.has(Taint::NET) {
            self.remote_sign(flow.taint)
        } else if flow.taint.has(Taint::DECODED) {
            &structural_findings::DECODED_CODE
        } else if flow.text.is_none() {
            &structural_findings::UNSEEN_CODE
        } else {
            return;
        };
        self.shared.out.doubt(Doubt::DynamicProgram);
        self.shared.sign(sign, Some(span));
    }

    fn run_speech(&mut self, interpreter: Interpreter, flow: &Flow, span: Span) -> Flow {
        self.run_and_tell(interpreter, flow, span).0
    }

    /// The same; also whether all of the text was read and asks for nobody.
    fn run_and_tell(&mut self, interpreter: Interpreter, flow: &Flow, span: Span) -> (Flow, bool) {
        if interpreter.speech == Speech::Shell {
            let judged = flow.text.as_deref().is_some_and(|text| self.is_judged_by_text(text));
            return (self.run_flow(flow, span), judged);
        }
        let asks = interpreter.inline >= Tier::Medium;
        let language = !matches!(interpreter.speech, Speech::Sql | Speech::Redis | Speech::Mongo);
        if asks || language && (flow.taint.has(Taint::NET) || flow.taint.has(Taint::DECODED)) {
            self.stream_sign(flow, span);
        }
        let Some(text) = &flow.text else { return (Flow::unknown(flow.taint), false) };
        let arg = Arg { text: Cow::Owned(text.clone()), span, taint: flow.taint, glob: false };
        let (result, harmless) = self.read_speech(interpreter.speech, &arg, &Flow::none());
        if asks {
            let tier = if harmless { Tier::Low } else { Tier::Medium };
            self.shared.sign(&Sign { tier, ..structural_findings::INLINE_CODE }, Some(span));
        }
        (result, harmless)
    }

    /// Reads code in its language.
    pub(super) fn speech(&mut self, speech: Speech, arg: &Arg<'t>, stdin: &Flow) -> Flow {
        self.read_speech(speech, arg, stdin).0
    }

    /// The same; also whether all of the code was read and asks for nobody.
    pub(super) fn read_speech(
        &mut self,
        speech: Speech,
        arg: &Arg<'t>,
        stdin: &Flow,
    ) -> (Flow, bool) {
        if arg.is_unknown()
            && arg.text.starts_with(UNKNOWN)
            && speech != Speech::Awk
            && speech != Speech::Sed
        {
            let sign = if arg.taint.has(Taint::NET) {
                self.remote_sign(arg.taint)
            } else {
                &structural_findings::UNSEEN_CODE
            };
            self.shared.sign(sign, Some(arg.span));
            self.shared.out.doubt(Doubt::DynamicProgram);
        }
        let text: &str = &arg.text;
        let language = match speech {
            Speech::Shell | Speech::Cmd => {
                let judged = self.is_judged_by_text(&arg.text);
                return (self.shell_text(arg, stdin), judged);
            }
            Speech::Awk => {
                awk::read(self, text, arg.span);
                return (Flow::unknown(stdin.taint), false);
            }
            Speech::Sed => {
                sed::read(self, text, arg.span);
                return (Flow::unknown(stdin.taint), false);
            }
            Speech::Sql => {
                self.sql_text(text, arg.span);
                return (Flow::unknown(Taint::default()), false);
            }
            Speech::Redis => {
                self.foreign(arg.span, |ctx, out| sql::read_redis(text, 0, ctx, out));
                return (Flow::unknown(Taint::default()), false);
            }
            Speech::Mongo => {
                let depth = self.shared.budget.depth().saturating_add(1);
                let nested = self.shared.dispatch.nested;
                self.foreign(arg.span, |ctx, out| {
                    sql::read_mongo(text, 0, ctx, out);
                    code::read(Language::JavaScript, text, 0, ctx, depth, nested, out);
                });
                return (Flow::unknown(Taint::default()), false);
            }
            Speech::Python => Language::Python,
            Speech::JavaScript => Language::JavaScript,
            Speech::Perl => Language::Perl,
            Speech::Ruby => Language::Ruby,
            Speech::Php => Language::Php,
            Speech::PowerShell => {
                let span = arg.span;
                let run = self.shared.dispatch.run_powershell;
                return (run(self.shared, text, span), false);
            }
            Speech::Other => {
                self.apple_shell(text, arg.span);
                self.quoted_commands(text, arg.span);
                Language::Other
            }
        };
        let depth = self.shared.budget.depth().saturating_add(1);
        let judged = self.is_judged_by_text(text);
        let mut harmless = false;
        let nested = self.shared.dispatch.nested;
        self.foreign(arg.span, |ctx, out| {
            code::read(language, text, 0, ctx, depth, nested, out);
            harmless = judged && code::is_harmless_reading(language, out);
        });
        (Flow::unknown(stdin.taint), harmless)
    }

    /// `do shell script "…"` of `AppleScript`.
    fn apple_shell(&mut self, text: &str, span: Span) {
        let Some((_, rest)) = text.split_once("do shell script \"") else { return };
        let end = rest.rfind('"').unwrap_or(rest.len());
        let inner = rest.get(..end).unwrap_or_default().replace("\\\"", "\"");
        self.inside(&inner, span, &Flow::none());
    }

    /// SQL in a word. A client runs it against a real database, so loss of data is worse than
    /// the bare statement.
    pub(super) fn sql_text(&mut self, text: &str, span: Span) {
        let mut inner = Findings::default();
        sql::read(text, 0, self.shared.ctx, &mut inner);
        self.shared.out.absorb(inner, |finding| {
            let raised = finding.weight.tier() == Tier::Medium;
            let weight = if raised { Tier::High.points() } else { finding.weight };
            Finding { span: Some(span), weight, ..finding }
        });
        let head = text.trim_start().get(..6).unwrap_or_default();
        let asks = ["select", "call ", "exec ", "with ", "values", "do "];
        let calls =
            asks.iter().any(|a| head.get(..a.len()).is_some_and(|h| h.eq_ignore_ascii_case(a)));
        if calls && let Some(name) = sql::unknown_function(text) {
            let message = format!("Calls the database function {name}, which may change data.");
            let mut finding = Finding::pattern("sql.unknown-function", Tier::Medium, message);
            finding.span = Some(span);
            self.shared.out.effect(Effect::Remote);
            self.shared.out.add(finding);
        }
    }

    /// Runs another reader and puts its findings at this place.
    fn foreign(&mut self, span: Span, read: impl FnOnce(&Context<'_>, &mut Findings)) {
        let mut inner = Findings::default();
        read(self.shared.ctx, &mut inner);
        self.shared.out.absorb(inner, |finding| Finding { span: Some(span), ..finding });
    }
}

/// `perl -MModule -e …` begins with `use Module;`.
fn modules(interpreter: Interpreter, inv: &Invocation<'_, '_>) -> String {
    let mut uses = String::new();
    for (name, value) in &inv.values {
        if *name == "-M" && interpreter.speech == Speech::Perl {
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
    const SESSION: [&str; 12] =
        ["-i", "-l", "--login", "-s", "-p", "-il", "-li", "--", "-", "-q", "-B", "--interactive"];
    if inv.operands.len() > usize::from(interpreter.bare_operands) {
        return false;
    }
    let runs = |name: &str| name == "-m" || spec.touches.iter().any(|(n, _)| *n == name);
    if inv.values.iter().any(|(name, _)| runs(name)) {
        return false;
    }
    match interpreter.speech {
        // These start a session with nearly every option they have.
        Speech::Shell => !inv.has_one(&["--version", "--help", "-c", "-n", "-D"]),
        Speech::Python => !inv.has_one(&["--version", "--help", "-V", "-h"]),
        Speech::Sql | Speech::Redis | Speech::Mongo => {
            let looks = ["--version", "--help", "-V", "--list", "-l", "-?", "-version", "-help"];
            let takes = |f: &&&'static str| !spec.values.contains(*f);
            !looks.iter().filter(takes).any(|f| inv.has(f))
        }
        _ => {
            let options = inv.options.iter().filter_map(|i| inv.arg(*i));
            options.into_iter().all(|a| SESSION.contains(&a.text.as_ref()))
        }
    }
}
