//! Expressions: operands, operators, member access, tables and lists.

use std::borrow::Cow;

use super::ast::PsExpr;
use super::parser::{Parser, PowerShellProblem};

impl<'t> Parser<'t> {
    /// An expression with its operators; `lines` lets it go on over line ends (inside parentheses).
    pub(super) fn expression(&mut self, lines: bool) -> PsExpr<'t> {
        if !self.enter() {
            self.leave();
            return PsExpr::List(Vec::new());
        }
        let first = self.list();
        let mut rest = Vec::new();
        loop {
            let keep = self.at;
            self.blanks(lines);
            let Some(operator) = self.operator() else {
                self.at = keep;
                break;
            };
            self.blanks(true);
            if matches!(self.peek(), None | Some(b')' | b'}' | b';' | b'|')) {
                // `$i++` and `$i--` have no right side.
                if operator.as_ref() != "++" && operator.as_ref() != "--" {
                    self.fail(PowerShellProblem::Unexpected, keep);
                }
                break;
            }
            let before = self.at;
            rest.push((operator, self.list()));
            if self.at == before {
                break;
            }
            if rest.len() > 4_000 {
                self.fail(PowerShellProblem::TooMany, self.at);
                self.at = self.text.len();
                break;
            }
        }
        self.leave();
        if rest.is_empty() { first } else { PsExpr::Binary(Box::new(first), rest) }
    }

    /// Operands joined by commas, which bind tighter than operators.
    fn list(&mut self) -> PsExpr<'t> {
        let first = self.unary();
        let mut list = vec![first];
        loop {
            let keep = self.at;
            self.blanks(false);
            if !self.eat(b',') {
                self.at = keep;
                break;
            }
            self.blanks(true);
            let before = self.at;
            list.push(self.unary());
            if self.at == before {
                self.fail(PowerShellProblem::Unexpected, before);
                break;
            }
        }
        match list.len() {
            1 => list.pop().unwrap_or(PsExpr::List(Vec::new())),
            _ => PsExpr::List(list),
        }
    }

    fn unary(&mut self) -> PsExpr<'t> {
        if !self.enter() {
            self.leave();
            return PsExpr::List(Vec::new());
        }
        let value = self.one_unary();
        self.leave();
        value
    }

    fn one_unary(&mut self) -> PsExpr<'t> {
        if let Some((word, length)) = self.unary_word() {
            self.at += length;
            self.blanks(true);
            return PsExpr::Unary(Cow::Owned(word), Box::new(self.unary()));
        }
        match (self.peek(), self.peek_at(1)) {
            (Some(b'!'), _) => {
                self.at += 1;
                self.blanks(false);
                PsExpr::Unary(Cow::Borrowed("not"), Box::new(self.unary()))
            }
            (Some(b'+'), Some(b'+')) | (Some(b'-'), Some(b'-')) => {
                self.at += 2;
                PsExpr::Unary(Cow::Borrowed("++"), Box::new(self.unary()))
            }
            (Some(b'+' | b'-'), _) => {
                let sign = self.slice(self.at, self.at + 1);
                self.at += 1;
                self.blanks(false);
                PsExpr::Unary(Cow::Borrowed(sign), Box::new(self.unary()))
            }
            (Some(b','), _) => {
                self.at += 1;
                self.blanks(false);
                PsExpr::List(vec![self.unary()])
            }
            (Some(b'['), _) => self.type_or_cast(),
            _ => self.primary_with_access(),
        }
    }

    /// `[type]`, `[type]::member`, `[type]value`.
    fn type_or_cast(&mut self) -> PsExpr<'t> {
        let start = self.at;
        let Some(name) = self.bracketed() else {
            self.fail(PowerShellProblem::Unclosed, start);
            self.at = self.text.len();
            return PsExpr::List(Vec::new());
        };
        if self.peek() == Some(b':') && self.peek_at(1) == Some(b':')
            || self.peek() == Some(b'.') && self.peek_at(1) != Some(b'.')
        {
            return self.accesses(PsExpr::Type(name));
        }
        let keep = self.at;
        self.blanks(true);
        let operand = match self.peek() {
            Some(b'$' | b'\'' | b'"' | b'(' | b'@' | b'[' | b'{' | b'0'..=b'9') => true,
            Some(b'-' | b'+') => self.peek_at(1).is_some_and(|b| b.is_ascii_digit()),
            _ => false,
        };
        if operand {
            return PsExpr::Cast(name, Box::new(self.unary()));
        }
        self.at = keep;
        PsExpr::Type(name)
    }

    pub(super) fn primary_with_access(&mut self) -> PsExpr<'t> {
        let base = self.primary();
        self.accesses(base)
    }

    /// One operand without its accesses.
    pub(super) fn primary(&mut self) -> PsExpr<'t> {
        if !self.enter() {
            self.leave();
            return PsExpr::List(Vec::new());
        }
        let value = self.one_primary();
        self.leave();
        value
    }

    fn one_primary(&mut self) -> PsExpr<'t> {
        let start = self.at;
        match (self.peek(), self.peek_at(1)) {
            (Some(b'$' | b'@'), Some(b'(')) => {
                self.at += 2;
                PsExpr::Statements(self.statements(Some(b')')))
            }
            (Some(b'$'), _) => self.variable(),
            (Some(b'\''), _) => self.single_quoted(),
            (Some(b'"'), _) => self.double_quoted(),
            (Some(b'@'), Some(b'\'' | b'"')) => self.here_string(),
            (Some(b'('), _) => {
                self.at += 1;
                PsExpr::Statements(self.statements(Some(b')')))
            }
            (Some(b'@'), Some(b'{')) => {
                self.at += 2;
                self.table(start)
            }
            (Some(b'{'), _) => {
                self.at += 1;
                PsExpr::Block(self.script_block())
            }
            (Some(b'0'..=b'9'), _) | (Some(b'.'), Some(b'0'..=b'9')) => {
                while let Some(b) = self.peek() {
                    let range = b == b'.' && self.peek_at(1) == Some(b'.');
                    if range || !(b.is_ascii_alphanumeric() || b == b'.') {
                        break;
                    }
                    self.at += 1;
                }
                PsExpr::Number(self.slice(start, self.at))
            }
            _ => {
                self.fail(PowerShellProblem::Unexpected, start);
                if self.peek().is_some_and(|b| !b")}];|\n".contains(&b)) {
                    self.bump();
                }
                PsExpr::List(Vec::new())
            }
        }
    }

    /// The members of a table behind its `@{`.
    fn table(&mut self, start: usize) -> PsExpr<'t> {
        let mut members = Vec::new();
        loop {
            self.blanks(true);
            match self.peek() {
                None => {
                    self.fail(PowerShellProblem::Unclosed, start);
                    break;
                }
                Some(b'}') => {
                    self.at += 1;
                    break;
                }
                Some(b';') => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let before = self.at;
            let key = match self.peek() {
                Some(b'$' | b'(' | b'[') => self.unary(),
                Some(b'\'' | b'"') => self.primary(),
                _ => {
                    while self.char().is_some_and(|c| c.is_alphanumeric() || "_-.:".contains(c)) {
                        self.bump();
                    }
                    let text = Cow::Borrowed(self.slice(before, self.at));
                    PsExpr::Text { text, bare: false }
                }
            };
            self.blanks(true);
            if !self.eat(b'=') {
                self.fail(PowerShellProblem::Unexpected, self.at);
                if self.at == before {
                    self.bump();
                }
                continue;
            }
            self.blanks(true);
            members.push((key, self.statement()));
        }
        PsExpr::Table(members)
    }
}
