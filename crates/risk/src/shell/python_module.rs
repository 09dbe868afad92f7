//! `python -m MODULE`.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use crate::command_tables::{CodeLanguage, Interpreter};
use crate::effect::Effect;
use crate::finding::Span;
use crate::flow::Flow;
use crate::paths::PathAction;
use crate::structural_findings;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// `python -m pip …` is `pip …`.
    pub(super) fn module(
        &mut self,
        interpreter: Interpreter,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        span: Span,
    ) -> Option<Flow> {
        if interpreter.language != CodeLanguage::Python {
            return None;
        }
        let (_, module) = inv.values.iter().find(|(name, _)| *name == "-m")?;
        let path = format!("{}.py", module.text.replace('.', "/"));
        if let Some(flow) = self.file_content(&path) {
            self.shared.report(&structural_findings::WRITE_AND_RUN, Some(span));
            return Some(self.run_code_text(interpreter, &flow, span));
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
        let class = self.shared.class_for(PathAction::DeleteTree, folder);
        if matches!(class.id, "home-whole" | "root" | "system-whole" | "credentials") {
            self.shared.out.effect(Effect::NetOut);
            self.shared.report(&structural_findings::SERVES_FOLDER, Some(span));
        }
    }
}
