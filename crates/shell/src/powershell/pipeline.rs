//! Pipelines and assignments.

use super::ast::{PsAssignment, PsElementKind, PsExpr, PsPipeline, PsStatement};
use super::parser::{Parser, PowerShellProblem};

impl<'t> Parser<'t> {
    /// An assignment, or pipelines joined by `&&` and `||`.
    pub(super) fn pipeline_statement(&mut self) -> PsStatement<'t> {
        let start = self.at;
        let mut pipelines = Vec::new();
        loop {
            let (pipeline, assignment) = self.pipeline();
            if let Some((target, appends)) = assignment {
                self.blanks(true);
                let value = Box::new(self.statement());
                let end = self.at;
                return PsStatement::Assign(PsAssignment { target, appends, value, start, end });
            }
            pipelines.push(pipeline);
            self.blanks(false);
            if self.eat_str("&&") || self.eat_str("||") {
                self.blanks(true);
                continue;
            }
            return PsStatement::Chain(pipelines);
        }
    }

    /// Elements joined by `|`, or the target of an assignment.
    fn pipeline(&mut self) -> (PsPipeline<'t>, Option<(PsExpr<'t>, bool)>) {
        let mut elements = Vec::new();
        loop {
            let before = self.at;
            let mut element = self.element();
            if elements.is_empty() {
                self.blanks(false);
                if let Some(appends) = self.assignment_operator() {
                    if let PsElementKind::Expression(target) = element.kind {
                        return (PsPipeline { elements }, Some((target, appends)));
                    }
                    self.fail(PowerShellProblem::Unexpected, before);
                }
            }
            self.redirections(&mut element);
            elements.push(element);
            self.blanks(false);
            let mut keep = self.at;
            if self.peek() == Some(b'|') && self.peek_at(1) != Some(b'|') {
                self.at += 1;
                self.blanks(true);
                continue;
            }
            // A new line may begin with `|`.
            if matches!(self.peek(), Some(b'\n' | b'\r')) {
                self.blanks(true);
                if self.peek() == Some(b'|') && self.peek_at(1) != Some(b'|') {
                    self.at += 1;
                    self.blanks(true);
                    continue;
                }
                std::mem::swap(&mut self.at, &mut keep);
            }
            return (PsPipeline { elements }, None);
        }
    }

    /// `=`, `+=`, `??=` …; whether the old value stays part of the new one.
    fn assignment_operator(&mut self) -> Option<bool> {
        for operator in ["??=", "+=", "-=", "*=", "/=", "%="] {
            if self.eat_str(operator) {
                return Some(true);
            }
        }
        (self.peek() == Some(b'=') && self.eat(b'=')).then_some(false)
    }
}
