//! Statements that begin with a keyword: branches, loops, functions, parameters.

use std::borrow::Cow;

use super::ast::{
    PsAssignment, PsElementKind, PsExpr, PsFunction, PsStatement, PsStatements, PsWord, PsWordKind,
};
use super::parser::{Parser, PowerShellProblem, statement_of};

impl<'t> Parser<'t> {
    /// `( … )` as statements.
    pub(super) fn parenthesis(&mut self) -> PsStatements<'t> {
        self.blanks(true);
        if self.eat(b'(') { self.statements(Some(b')')) } else { Vec::new() }
    }

    /// `{ … }` as statements.
    pub(super) fn block(&mut self) -> Option<PsStatements<'t>> {
        self.blanks(true);
        self.eat(b'{').then(|| self.statements(Some(b'}')))
    }

    /// `if (…) { … } elseif (…) { … } else { … }`, `while (…) { … }`, `switch … (…) { … }`.
    pub(super) fn condition_and_blocks(&mut self, keyword: usize) -> PsStatement<'t> {
        let word = self.slice(self.at, self.at + keyword).to_ascii_lowercase();
        self.at += keyword;
        let mut parts = Vec::new();
        self.blanks(true);
        if word == "switch" {
            self.switch_options(&mut parts);
        }
        parts.push(self.parenthesis());
        if word == "switch" {
            self.blanks(true);
            self.switch_body(&mut parts);
        } else {
            match self.block() {
                Some(body) => parts.push(body),
                None => self.fail(PowerShellProblem::Unexpected, self.at),
            }
        }
        if matches!(word.as_ref(), "if" | "elseif") {
            self.other_branches(&mut parts);
        }
        PsStatement::Parts { parts, repeats: word == "while" }
    }

    /// `switch -regex -file path (…)`: what the file holds is read.
    fn switch_options(&mut self, parts: &mut Vec<PsStatements<'t>>) {
        while self.peek() == Some(b'-') {
            self.at += 1;
            let option = self.name().to_ascii_lowercase();
            self.blanks(true);
            if option != "file" {
                continue;
            }
            let start = self.at;
            let value = self.argument();
            let read = PsExpr::Text { text: Cow::Borrowed("Get-Content"), bare: true };
            let words = vec![
                PsWord { kind: PsWordKind::Value(read), start, end: start },
                PsWord { kind: PsWordKind::Value(value), start, end: self.at },
            ];
            parts.push(vec![statement_of(PsElementKind::Command(words), start, self.at)]);
            self.blanks(true);
        }
    }

    /// `elseif (…) { … }` and `else { … }`.
    fn other_branches(&mut self, parts: &mut Vec<PsStatements<'t>>) {
        loop {
            let keep = self.at;
            self.blanks(true);
            match self.keyword().as_ref() {
                "elseif" => {
                    self.at += 6;
                    parts.push(self.parenthesis());
                    parts.extend(self.block());
                }
                "else" => {
                    self.at += 4;
                    parts.extend(self.block());
                    return;
                }
                _ => {
                    self.at = keep;
                    return;
                }
            }
        }
    }

    /// `try { } catch [type] { } finally { }`, `begin { }`, `trap { }`.
    pub(super) fn blocks(&mut self, keyword: usize) -> PsStatement<'t> {
        let start = self.at;
        self.at += keyword;
        let mut parts = Vec::new();
        self.blanks(true);
        self.types();
        if let Some(body) = self.block() {
            parts.push(body);
        } else {
            // `data`, `end` or `process` may also be the name of a command.
            self.at = start;
            return self.pipeline_statement();
        }
        loop {
            let keep = self.at;
            self.blanks(true);
            match self.keyword().as_ref() {
                "catch" => {
                    self.at += 5;
                    self.blanks(true);
                    self.types();
                    parts.extend(self.block());
                }
                "finally" => {
                    self.at += 7;
                    parts.extend(self.block());
                }
                _ => {
                    self.at = keep;
                    break;
                }
            }
        }
        PsStatement::Parts { parts, repeats: false }
    }

    /// `[type], [type]` before a block.
    pub(super) fn types(&mut self) {
        while self.peek() == Some(b'[') {
            if self.bracketed().is_none() {
                return;
            }
            self.blanks(true);
            if self.eat(b',') {
                self.blanks(true);
            }
        }
    }

    pub(super) fn function(&mut self, keyword: usize) -> PsStatement<'t> {
        self.at += keyword;
        self.blanks(true);
        let name = self.name();
        self.blanks(true);
        let mut source = "";
        let (mut parameters, mut body) = (Vec::new(), Vec::new());
        if self.peek() == Some(b'(') {
            (parameters, body) = self.parameters();
            self.blanks(true);
        }
        if self.eat(b'{') {
            let block = self.script_block();
            parameters.extend(block.parameters);
            body.extend(block.body);
            source = block.source;
        } else {
            self.fail(PowerShellProblem::Unexpected, self.at);
        }
        PsStatement::Function(PsFunction { name, parameters, body, source })
    }

    /// `(…)` of `param` or a function: the names, and the defaults as statements.
    pub(super) fn parameters(&mut self) -> (Vec<Cow<'t, str>>, PsStatements<'t>) {
        let (mut names, mut defaults) = (Vec::new(), Vec::new());
        if !self.eat(b'(') {
            return (names, defaults);
        }
        loop {
            self.blanks(true);
            match self.peek() {
                None => {
                    self.fail(PowerShellProblem::Unclosed, self.at);
                    break;
                }
                Some(b')') => {
                    self.at += 1;
                    break;
                }
                Some(b',') => self.at += 1,
                Some(b'[') => {
                    if self.bracketed().is_none() {
                        self.fail(PowerShellProblem::Unclosed, self.at);
                        break;
                    }
                }
                Some(b'$') => self.declared_parameter(&mut names, &mut defaults),
                _ => {
                    self.fail(PowerShellProblem::Unexpected, self.at);
                    self.bump();
                }
            }
        }
        (names, defaults)
    }

    /// One parameter; a default is an assignment.
    fn declared_parameter(
        &mut self,
        names: &mut Vec<Cow<'t, str>>,
        defaults: &mut PsStatements<'t>,
    ) {
        let start = self.at;
        let target = self.variable();
        if let PsExpr::Variable(name) = &target {
            names.push(name.clone());
        }
        self.blanks(true);
        if self.eat(b'=') {
            self.blanks(true);
            let value = self.expression(true);
            let kind = PsElementKind::Expression(value);
            let value = Box::new(statement_of(kind, start, self.at));
            let end = self.at;
            let assignment = PsAssignment { target, appends: false, value, start, end };
            defaults.push(PsStatement::Assign(assignment));
        }
    }

    /// A class is not followed; its methods may hold anything.
    pub(super) fn class(&mut self) -> PsStatement<'t> {
        self.fail(PowerShellProblem::Unexpected, self.at);
        let end = self.rest().find('{').unwrap_or(self.rest().len());
        self.at += end;
        PsStatement::Parts { parts: self.block().into_iter().collect(), repeats: false }
    }
}
