//! Loops and `switch`.

use std::borrow::Cow;

use super::ast::{PsElementKind, PsExpr, PsStatement, PsStatements};
use super::parser::{Parser, PowerShellProblem, statement_of};

impl<'t> Parser<'t> {
    /// `{ value { … } default { … } }`: every branch may run.
    pub(super) fn switch_body(&mut self, parts: &mut Vec<PsStatements<'t>>) {
        if !self.eat(b'{') {
            self.fail(PowerShellProblem::Unexpected, self.at);
            return;
        }
        loop {
            self.blanks(true);
            match self.peek() {
                None => {
                    self.fail(PowerShellProblem::Unclosed, self.at);
                    return;
                }
                Some(b'}') => {
                    self.at += 1;
                    return;
                }
                Some(b';') => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let start = self.at;
            let value = self.argument();
            parts.push(vec![statement_of(PsElementKind::Expression(value), start, self.at)]);
            if let Some(body) = self.block() {
                parts.push(body);
            } else {
                self.fail(PowerShellProblem::Unexpected, self.at);
                if self.at == start {
                    self.bump();
                }
            }
        }
    }

    /// `for (init; test; step) { … }`: its three parts are statements of one parenthesis.
    pub(super) fn for_loop(&mut self) -> PsStatement<'t> {
        self.at += 3;
        let head = self.parenthesis();
        let body = self.block();
        if body.is_none() {
            self.fail(PowerShellProblem::Unexpected, self.at);
        }
        PsStatement::Parts { parts: vec![head, body.unwrap_or_default()], repeats: true }
    }

    pub(super) fn foreach_loop(&mut self) -> PsStatement<'t> {
        let start = self.at;
        self.at += 7;
        self.blanks(true);
        while self.peek() == Some(b'-') {
            // `foreach -parallel`
            self.at += 1;
            self.name();
            self.blanks(true);
        }
        if !self.eat(b'(') {
            // The alias of `ForEach-Object` at the start of a statement.
            self.at = start;
            return self.pipeline_statement();
        }
        self.blanks(true);
        let variable = self.primary();
        let name = match variable {
            PsExpr::Variable(name) => name,
            _ => Cow::Borrowed("_"),
        };
        self.blanks(true);
        if self.keyword().as_ref() == "in" {
            self.at += 2;
        } else {
            self.fail(PowerShellProblem::Unexpected, self.at);
        }
        self.blanks(true);
        let values = Box::new(PsStatement::Block(self.statements(Some(b')'))));
        let body = self.block();
        if body.is_none() {
            self.fail(PowerShellProblem::Unexpected, self.at);
        }
        PsStatement::ForEach { name, values, body: body.unwrap_or_default() }
    }

    pub(super) fn do_loop(&mut self) -> PsStatement<'t> {
        self.at += 2;
        let mut parts: Vec<PsStatements<'t>> = self.block().into_iter().collect();
        self.blanks(true);
        match self.keyword().as_ref() {
            "while" | "until" => {
                self.at += 5;
                parts.push(self.parenthesis());
            }
            _ => self.fail(PowerShellProblem::Unexpected, self.at),
        }
        PsStatement::Parts { parts, repeats: true }
    }
}
