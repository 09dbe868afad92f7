//! Functions and script blocks: run with their arguments.

use super::cmdlet_call::CmdletArgument;
use super::run::Evaluator;
use super::value::{Block, Kind, PsValue};
use crate::finding::Span;
use crate::flow::Taint;

/// How deep functions may call each other.
const MAX_CALLS: u8 = 6;

impl Evaluator<'_, '_, '_, '_> {
    /// Runs a script block with arguments.
    pub fn call_block(&mut self, block: &Block, given: &[CmdletArgument], span: Span) -> PsValue {
        self.call_source(&block.parameters, &block.source, given, span)
    }

    /// Runs the text of a function with its parameters set.
    pub(super) fn call_source(
        &mut self,
        parameters: &[String],
        source: &str,
        given: &[CmdletArgument],
        span: Span,
    ) -> PsValue {
        if self.state.calls >= MAX_CALLS {
            self.assessor.too_deep(Some(span));
            return PsValue::unknown(Taint::default());
        }
        let mut old = Vec::new();
        let mut loose = Vec::new();
        let mut at = 0;
        while let Some(argument) = given.get(at) {
            at += 1;
            let Some(name) = &argument.argument.parameter else {
                loose.push(argument.value.clone());
                continue;
            };
            let name = name.trim_start_matches('-');
            let parameter = parameters.iter().find(|p| p.starts_with(name));
            let value = given.get(at).filter(|g| g.argument.parameter.is_none());
            if let (Some(parameter), Some(value)) = (parameter, value) {
                old.push((parameter.clone(), self.state.replace(parameter, value.value.clone())));
                at += 1;
            }
        }
        let named: Vec<String> = old.iter().map(|(n, _)| n.clone()).collect();
        let mut values = loose.clone().into_iter();
        for parameter in parameters.iter().filter(|p| !named.contains(p)) {
            let value = values.next().unwrap_or_else(|| PsValue::unknown(Taint::default()));
            old.push((parameter.clone(), self.state.replace(parameter, value)));
        }
        let rest = PsValue::of(Kind::List(loose), Taint::default());
        old.push(("args".to_owned(), self.state.replace("args", rest)));
        self.state.calls += 1;
        let output = self.inner_text(source, span);
        self.state.calls -= 1;
        for (name, before) in old.into_iter().rev() {
            self.state.restore(&name, before);
        }
        output
    }
}
