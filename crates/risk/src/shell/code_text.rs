//! Code in one of the languages that programs run: read by the reader of its language.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::{awk, sed};
use crate::command_tables::{CodeLanguage, Interpreter};
use crate::context::Context;
use crate::effect::Effect;
use crate::finding::{Doubt, Finding, Findings, Span};
use crate::flow::{Flow, Taint};
use crate::language::Language;
use crate::paths::workspace::Workspace;
use crate::sql;
use crate::structural_findings::{self, StructuralRule};
use countersign_shell::UNKNOWN;
use countersign_types::tier::Tier;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Shell commands that arrive as a stream.
    pub(super) fn run_flow(&mut self, flow: &Flow, span: Span) -> Flow {
        self.report_stream(flow, span);
        match &flow.text {
            Some(text) => {
                let text = text.clone();
                self.inside(&text, span, &Flow::none())
            }
            None => Flow::unknown(flow.taint),
        }
    }

    /// Notes that code is run which nobody has seen, or which came from elsewhere.
    pub(super) fn report_stream(&mut self, flow: &Flow, span: Span) {
        self.shared.out.effect(Effect::Exec);
        let sign = if flow.taint.has(Taint::NET) {
            self.remote_code_rule(flow.taint)
        } else if flow.taint.has(Taint::DECODED) {
            &structural_findings::DECODED_CODE
        } else if flow.text.is_none() {
            &structural_findings::UNSEEN_CODE
        } else {
            return;
        };
        self.shared.out.doubt(Doubt::DynamicProgram);
        self.shared.report(sign, Some(span));
    }

    /// Runs code that arrives as a stream or from a file.
    pub(super) fn run_code_text(
        &mut self,
        interpreter: Interpreter,
        flow: &Flow,
        span: Span,
    ) -> Flow {
        self.run_and_tell(interpreter, flow, span).0
    }

    /// The same; also whether all of the text was read and needs no person.
    pub(super) fn run_and_tell(
        &mut self,
        interpreter: Interpreter,
        flow: &Flow,
        span: Span,
    ) -> (Flow, bool) {
        if interpreter.language == CodeLanguage::Shell {
            let assessed = flow.text.as_deref().is_some_and(|text| self.is_assessed_by_text(text));
            return (self.run_flow(flow, span), assessed);
        }
        let asks = interpreter.inline >= Tier::Medium;
        let is_code = !matches!(
            interpreter.language,
            CodeLanguage::Sql | CodeLanguage::Redis | CodeLanguage::Mongo
        );
        if asks || is_code && (flow.taint.has(Taint::NET) || flow.taint.has(Taint::DECODED)) {
            self.report_stream(flow, span);
        }
        let Some(text) = &flow.text else { return (Flow::unknown(flow.taint), false) };
        let arg = Arg { text: Cow::Owned(text.clone()), span, taint: flow.taint, glob: false };
        let (result, harmless) = self.read_code_text(interpreter.language, &arg, &Flow::none());
        if asks {
            let tier = if harmless { Tier::Low } else { Tier::Medium };
            self.shared
                .report(&StructuralRule { tier, ..structural_findings::INLINE_CODE }, Some(span));
        }
        (result, harmless)
    }

    /// Reads code in its language.
    pub(super) fn code_text(
        &mut self,
        language: CodeLanguage,
        arg: &Arg<'t>,
        stdin: &Flow,
    ) -> Flow {
        self.read_code_text(language, arg, stdin).0
    }

    /// The same; also whether all of the code was read and needs no person.
    pub(super) fn read_code_text(
        &mut self,
        language: CodeLanguage,
        arg: &Arg<'t>,
        stdin: &Flow,
    ) -> (Flow, bool) {
        if arg.is_unknown()
            && arg.text.starts_with(UNKNOWN)
            && language != CodeLanguage::Awk
            && language != CodeLanguage::Sed
        {
            let sign = if arg.taint.has(Taint::NET) {
                self.remote_code_rule(arg.taint)
            } else {
                &structural_findings::UNSEEN_CODE
            };
            self.shared.report(sign, Some(arg.span));
            self.shared.out.doubt(Doubt::DynamicProgram);
        }
        if let Some(read) = self.read_without_code(language, arg, stdin) {
            return read;
        }
        let text: &str = &arg.text;
        self.run_imports(language, text, arg.span);
        let language = match language {
            CodeLanguage::Python => Language::Python,
            CodeLanguage::JavaScript => Language::JavaScript,
            CodeLanguage::Perl => Language::Perl,
            CodeLanguage::Ruby => Language::Ruby,
            CodeLanguage::Php => Language::Php,
            _ => {
                self.apple_shell(text, arg.span);
                self.quoted_commands(text, arg.span);
                Language::Other
            }
        };
        let depth = self.shared.budget.depth().saturating_add(1);
        // A language that is not read is understood by its words alone, wherever it runs.
        let assessed = language == Language::Other || self.is_assessed_by_text(text);
        let mut harmless = false;
        let read_code = self.shared.dispatch.code;
        self.foreign(arg.span, |ctx, out| {
            harmless = read_code(language, text, ctx, depth, out) && assessed;
        });
        (Flow::unknown(stdin.taint), harmless)
    }

    /// Reads a text that is not code of a programming language; none for all others.
    fn read_without_code(
        &mut self,
        language: CodeLanguage,
        arg: &Arg<'t>,
        stdin: &Flow,
    ) -> Option<(Flow, bool)> {
        let text: &str = &arg.text;
        match language {
            CodeLanguage::Shell | CodeLanguage::Cmd => {
                let assessed = self.is_assessed_by_text(&arg.text);
                return Some((self.shell_text(arg, stdin), assessed));
            }
            CodeLanguage::PowerShell => {
                let run = self.shared.dispatch.run_powershell;
                return Some((run(self.shared, text, arg.span), false));
            }
            CodeLanguage::Awk => {
                awk::read(self, text, arg.span);
                return Some((Flow::unknown(stdin.taint), false));
            }
            CodeLanguage::Sed => {
                sed::read(self, text, arg.span);
                return Some((Flow::unknown(stdin.taint), false));
            }
            CodeLanguage::Sql => self.sql_text(text, arg.span),
            CodeLanguage::Redis => {
                self.foreign(arg.span, |ctx, out| sql::read_redis(text, 0, ctx, out));
            }
            CodeLanguage::Mongo => {
                let depth = self.shared.budget.depth().saturating_add(1);
                let read_code = self.shared.dispatch.code;
                self.foreign(arg.span, |ctx, out| {
                    sql::read_mongo(text, 0, ctx, out);
                    read_code(Language::JavaScript, text, ctx, depth, out);
                });
            }
            _ => return None,
        }
        Some((Flow::unknown(Taint::default()), false))
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
        let folders = self.shared.folders.current().entered_names();
        read(&Context { folders: &folders, ..*self.shared.ctx }, &mut inner);
        self.shared.out.absorb(inner, |finding| Finding { span: Some(span), ..finding });
    }

    /// Whether a text given to an interpreter can be assessed by what it does. If nobody knows
    /// where it would run, the text itself asks.
    pub(super) fn is_assessed_by_text(&self, text: &str) -> bool {
        !text.contains(UNKNOWN) && (self.shared.workspace.is_known() || self.entered_a_project())
    }

    /// Whether the call of a known agent program left out its folder, but entered one by name that
    /// could be a project.
    fn entered_a_project(&self) -> bool {
        let folders = self.shared.folders.current();
        let rights = &self.shared.rights;
        let is_here = self.shared.ctx.host.is_some() && !rights.elsewhere && !rights.remote;
        is_here && folders.only_named().is_some_and(Workspace::may_be)
    }
}
