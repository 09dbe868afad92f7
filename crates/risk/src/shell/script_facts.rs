//! Scripts whose text an observer read: assessed by what they do.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::program::is_standard_place;
use super::remembered::script_language;
use crate::command_tables::{CodeLanguage, Spec};
use crate::effect::Effect;
use crate::facts::{FactAnswer, FactQuery, ScriptFact};
use crate::finding::{Doubt, Finding, Span};
use crate::flow::{Flow, Taint};
use crate::limit::Limit;
use crate::name_lists::{
    PACKAGE_LIFECYCLE_SCRIPTS, PACKAGE_SCRIPT_PROGRAMS, UNKNOWN_ONLY_FINDINGS, UNREAD_FINDINGS,
};
use countersign_types::tier::Tier;

/// How many scripts are read for one call, those that scripts start included.
const SCRIPTS: Limit = Limit::new("scripts in one call", 16);

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Assesses the text of a file that is about to run, if an observer read it. True if facts may
    /// lower, all of the text was read, and nothing in it asks for a person.
    pub(super) fn observed_script(
        &mut self,
        language: Option<CodeLanguage>,
        words: &[Arg<'t>],
        span: Span,
    ) -> bool {
        let Some(path) = words.first().map(|word| word.text.clone()) else { return false };
        if is_standard_place(&path) {
            return false;
        }
        let Some(observed) = self.shared.observed_path(&path) else { return false };
        let query = FactQuery::Script { path: observed };
        let answer = self.shared.fact(query.clone());
        if !self.shared.out.has_asked(&query) {
            // Other questions came first, and nobody looks at this script.
            SCRIPTS.exceeded().report(self.shared.out, Some(span));
        }
        let Some(FactAnswer::Script(script)) = answer else { return false };
        let language = language.or_else(|| script_language(&path, &script.text));
        self.assess_observed(language.unwrap_or(CodeLanguage::Shell), script, words, span)
    }

    /// Assesses a text that an observer read.
    fn assess_observed(
        &mut self,
        language: CodeLanguage,
        script: &ScriptFact,
        words: &[Arg<'t>],
        span: Span,
    ) -> bool {
        let sure = self.shared.facts_may_lower();
        let name = format!("{}\0{}", script.file, script.text.len());
        let is_read = self.shared.scripts_read.contains(&name);
        if is_read
            || !SCRIPTS.admits(self.shared.scripts_read.len() + 1, self.shared.out, Some(span))
        {
            return false;
        }
        self.shared.scripts_read.push(name);
        self.shared.out.effect(Effect::Exec);
        let subject = self.shared.begin_script(&script.text);
        // The whole file too: a recipe may use variables that are set elsewhere in it.
        if let Some(digest) = script.digest {
            self.shared.out.trace.runs(&digest.to_string());
        }
        let outer = self.shared.out.take();
        let pinned = self.shared.position.pin(Some(span));
        let loan = self.shared.budget.lend();
        let kept = self.shared.variables.count();
        self.positional(words, 0);
        let text = Cow::Owned(script.text.clone());
        let arg = Arg { text, span, taint: Taint::default(), glob: false };
        let (_, harmless) = self.apart(|w| w.read_code_text(language, &arg, &Flow::none()));
        self.shared.variables.truncate(kept);
        self.shared.budget.end_loan(loan);
        self.shared.position.pin(pinned);
        let inner = std::mem::replace(self.shared.out, outer);
        self.shared.out.set_subject(subject);
        let certain = [Doubt::Unreadable, Doubt::DynamicProgram, Doubt::DynamicArguments]
            .iter()
            .all(|doubt| !inner.has_doubt(*doubt));
        let asks = inner.tier() >= Tier::Medium || inner.is_irreversible();
        let mut seen = self.shared.out.inner();
        seen.absorb_reading(inner, false, |found| counts(language, script.is_complete, found));
        self.shared.out.absorb(seen, |found| Finding { span: Some(span), ..found });
        sure && harmless && certain && !asks && script.is_complete
    }

    /// The recipes of `make` and the scripts of `package.json` that a command runs.
    pub(super) fn observed_recipes(&mut self, spec: &Spec, inv: &Invocation<'_, 't>, span: Span) {
        if self.shared.ctx.facts.is_none() || spec.family != "packages" || !inv.values.is_empty() {
            return;
        }
        let Some(folder) = self.shared.observed_path(".") else { return };
        let name = inv.args.first().map(|arg| arg.text.as_ref()).unwrap_or_default();
        let operands: Vec<String> = (0..).map_while(|at| inv.operand(at)).map(Into::into).collect();
        for query in recipes(name, &operands, &folder) {
            if let Some(FactAnswer::Script(script)) = self.shared.fact(query) {
                self.assess_observed(CodeLanguage::Shell, script, &[], span);
            }
        }
    }
}

/// Whether a finding in a script counts. In code of a project much is only known when it runs, and
/// a project's own scripts work on its own files.
fn counts(language: CodeLanguage, is_complete: bool, found: &Finding) -> bool {
    let code = found.code.as_ref();
    if UNREAD_FINDINGS.contains(&code) {
        return false;
    }
    match found.weight.tier() {
        Tier::Safe | Tier::Low | Tier::High | Tier::Critical => true,
        Tier::Medium => {
            is_complete
                && matches!(language, CodeLanguage::Shell | CodeLanguage::Sql)
                && !code.starts_with("path.")
                && !UNKNOWN_ONLY_FINDINGS.contains(&code)
        }
    }
}

/// The questions about what a build tool would run.
fn recipes(program: &str, operands: &[String], folder: &str) -> Vec<FactQuery> {
    let folder = || folder.to_owned();
    match program {
        "make" | "gmake" => {
            let targets = operands.iter().filter(|word| !word.contains('='));
            let mut targets: Vec<Option<String>> = targets.cloned().map(Some).collect();
            if targets.is_empty() {
                targets.push(None);
            }
            let query = |target| FactQuery::MakeTarget { folder: folder(), file: None, target };
            targets.into_iter().map(query).collect()
        }
        _ if PACKAGE_SCRIPT_PROGRAMS.contains(&program) => {
            let words: Vec<&str> = operands.iter().map(String::as_str).collect();
            let name = match words.as_slice() {
                ["run" | "run-script", name, ..] => name,
                [name, ..] if PACKAGE_LIFECYCLE_SCRIPTS.contains(name) => name,
                ["t" | "tst", ..] => "test",
                [name, ..] if program == "yarn" || program == "pnpm" => name,
                _ => return Vec::new(),
            };
            vec![FactQuery::PackageScript { folder: folder(), name: name.to_owned() }]
        }
        _ => Vec::new(),
    }
}
