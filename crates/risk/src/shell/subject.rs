//! The subject of a command: everything that decides what it does, in one text. Commands with equal
//! subjects do the same to the same things.

use std::fmt::Write as _;
use std::sync::Arc;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::net_access::host_of;
use super::program::resolve;
use super::state::EvalState;
use crate::command_tables::{CodeLanguage, Rule, SessionApproval};
use crate::finding::{Finding, Span};
use crate::flow::{Flow, Taint};
use crate::name_lists::REROUTING_OPTIONS;
use crate::paths::{PathAction, last_part};
use crate::question::CommandSubject;
use crate::structural_findings::StructuralRule;
use countersign_json::canonical::Digest;
use countersign_shell::UNKNOWN;

impl EvalState<'_, '_> {
    /// The subject of a command; without text if something that decides what it does is not known.
    fn subject(&self, args: &[Arg<'_>], stdin: &Flow) -> CommandSubject {
        let outer = self.out.subject().inner.clone();
        let text = outer.as_deref().and_then(|outer| self.subject_text(outer, args, stdin));
        let text: Option<Arc<str>> = text.map(Arc::from);
        // `bash -c` adds nothing to the commands that it runs.
        let inner = if is_shell(args) { outer.clone() } else { text.clone() };
        CommandSubject { text, outer, inner }
    }

    fn subject_text(&self, outer: &str, args: &[Arg<'_>], stdin: &Flow) -> Option<String> {
        self.ctx.session?;
        let folders = self.folders.current();
        if folders.is_unknown() || self.folders.link_count() > 0 {
            return None;
        }
        let mut text = String::from(outer);
        let known = |word: &str| !word.contains(UNKNOWN);
        for arg in args {
            if !known(&arg.text) || arg.taint.has(Taint::LOST) {
                return None;
            }
            write!(text, "\u{1}{}", arg.text).ok()?;
        }
        if stdin.present {
            write!(text, "\u{2}{}", stdin.text.as_deref()?).ok()?;
        }
        for folder in folders.each() {
            write!(text, "\u{3}{}", folder.unwrap_or(self.ctx.cwd?)).ok()?;
        }
        for variable in self.variables.current()? {
            if !known(&variable.value) {
                return None;
            }
            write!(text, "\u{4}{}={}", variable.name, variable.value).ok()?;
        }
        write!(text, "\u{5}{}{}", self.rights.root, self.rights.elsewhere).ok()?;
        Some(text)
    }
}

impl EvalState<'_, '_> {
    /// The commands assessed next are run through these words and nothing behind them; returns the
    /// subject before.
    pub(super) fn run_through(&mut self, words: &[Arg<'_>]) -> CommandSubject {
        let mut subject = self.out.subject().clone();
        let outer = subject.outer.as_deref();
        let text = outer.and_then(|outer| self.subject_text(outer, words, &Flow::none()));
        subject.inner = text.map(Arc::from);
        self.out.set_subject(subject)
    }

    /// What is found from now on is about this text, which the current command runs; returns the
    /// subject before. Commands of a shell text have subjects of their own.
    pub(super) fn begin_script(&mut self, text: &str) -> CommandSubject {
        self.out.trace.runs(text);
        let mut subject = self.out.subject().clone();
        let digest = Digest::of(text.as_bytes());
        subject.text = subject.text.map(|outer| Arc::from(format!("{outer}\u{8}{digest}")));
        self.out.set_subject(subject)
    }

    /// What is done to a path as the subject of a finding, and the same of the folders it is in.
    pub(super) fn path_subject(
        &self,
        act: PathAction,
        path: &str,
    ) -> Option<(String, Vec<String>)> {
        self.ctx.session?;
        let outer = self.out.subject().outer.as_deref()?;
        let known = !path.contains(UNKNOWN) && !self.folders.current().is_unknown();
        let deletes = matches!(act, PathAction::Delete | PathAction::DeleteTree);
        let linked = if deletes { self.folders.has_links() } else { self.folders.link_count() > 0 };
        if !known || linked || self.has_moved_home() {
            return None;
        }
        let names = self.identities(path);
        let [name] = names.as_slice() else { return None };
        let subject = |act: PathAction, name: &str| {
            format!("{outer}\u{6}{act:?}\u{6}{name}\u{6}{:?}", self.rights)
        };
        let mut wider = Vec::new();
        if deletes && !name.contains(['*', '?', '[']) {
            let mut above = name.as_str();
            while let Some((folder, _)) = above.trim_end_matches('/').rsplit_once('/') {
                wider.push(subject(PathAction::DeleteTree, folder));
                above = folder;
            }
        }
        Some((subject(act, name.trim_end_matches('/')), wider))
    }

    /// What is found from now on is about this command; returns the subject before.
    pub(super) fn begin_subject(&mut self, args: &[Arg<'_>], stdin: &Flow) -> CommandSubject {
        let subject = self.subject(args, stdin);
        self.out.set_subject(subject)
    }

    /// Notes that the command was assessed.
    pub(super) fn subject_assessed(&mut self) {
        if let Some(text) = &self.out.subject().text {
            self.assessed_subjects.push(Arc::clone(text));
        }
    }

    /// A command is not assessed again because nothing that its findings depend on has changed.
    /// What a person was asked about may have.
    pub(super) fn subject_passed_over(&mut self) {
        let text = self.out.subject().text.as_ref();
        let same = text.is_some_and(|text| self.assessed_subjects.contains(text));
        if !same {
            self.out.trace.question.add_open();
        }
    }
}

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Adds the finding of a rule. Where the rule says so, it is about the program, its subcommand
    /// or the hosts only, whatever the other words are.
    pub(super) fn add_rule(&mut self, rule: &Rule, inv: &Invocation<'_, 't>, finding: Finding) {
        let object = rule.once.and_then(|once| object(once, rule, inv));
        match object.filter(|object| !object.contains(UNKNOWN)) {
            Some(object) => self.shared.add_about(finding, &object),
            None => self.shared.out.add(finding),
        }
    }

    /// A program or script that a person should see once: the question is about the file, whatever
    /// it is given.
    pub(super) fn first_use(&mut self, sign: &StructuralRule, path: &str, span: Span) {
        let mut finding = Finding::pattern(sign.code, sign.tier, sign.message).at(span);
        finding.suggestion = sign.suggestion.map(Into::into);
        let names = self.shared.identities(path);
        match names.as_slice() {
            [name] if !name.contains(UNKNOWN) => self.shared.add_about(finding, name),
            _ => self.shared.out.add(finding),
        }
    }
}

impl EvalState<'_, '_> {
    /// Adds a finding that is about this object only.
    pub(super) fn add_about(&mut self, finding: Finding, object: &str) {
        let outer = self.out.subject().outer.as_deref();
        let outer = outer.filter(|_| self.ctx.session.is_some());
        let subject = outer.map(|outer| format!("{outer}\u{7}{object}\u{7}{:?}", self.rights));
        self.out.add_about(finding, subject.as_deref(), &[]);
    }
}

/// What a rule is about that a person answers once.
fn object(once: SessionApproval, rule: &Rule, inv: &Invocation<'_, '_>) -> Option<String> {
    let program = inv.args.first().map(|arg| last_part(&arg.text))?;
    let operands = inv.operands.iter().filter_map(|at| inv.arg(*at)).map(|arg| arg.text.as_ref());
    match once {
        SessionApproval::Program => Some(program.to_owned()),
        SessionApproval::Subcommand => {
            let length = rule.sub.iter().find_map(|path| inv.sub(path))?;
            let words: Vec<&str> = operands.take(length).collect();
            Some(format!("{program} {}", words.join(" ")))
        }
        SessionApproval::Host => {
            let words: Vec<&str> = operands.collect();
            // A word without a scheme may be a host as well, and an option may lead elsewhere.
            let all_shown = words.iter().all(|word| word.contains("://"));
            if !all_shown || inv.has_one(REROUTING_OPTIONS) {
                return None;
            }
            let mut hosts: Vec<&str> = words.into_iter().map(host_of).collect();
            hosts.sort_unstable();
            hosts.dedup();
            (!hosts.is_empty()).then(|| hosts.join(" "))
        }
    }
}

/// Whether the program is a shell of the language that is read here.
pub(super) fn is_shell(args: &[Arg<'_>]) -> bool {
    let known = args.first().and_then(|first| resolve(&first.text));
    let interpreter = known.and_then(|(spec, ..)| spec.interpreter.as_ref());
    interpreter.is_some_and(|interpreter| interpreter.language == CodeLanguage::Shell)
}
