//! Statements that begin with a keyword: branches, loops, functions, parameters.

use std::borrow::Cow;

use super::ast::{Assignment, ElementKind, Expr, Function, Statement, Statements, Word, WordKind};
use super::parser::{Parser, Problem, statement_of};

impl<'t> Parser<'t> {
    /// `( … )` as statements.
    pub(super) fn parenthesis(&mut self) -> Statements<'t> {
        self.blanks(true);
        if self.eat(b'(') { self.statements(Some(b')')) } else { Vec::new() }
    }

    /// `{ … }` as statements.
    pub(super) fn block(&mut self) -> Option<Statements<'t>> {
        self.blanks(true);
        self.eat(b'{').then(|| self.statements(Some(b'}')))
    }

    /// `if (…) { … } elseif (…) { … } else { … }`, `while (…) { … }`, `switch … (…) { … }`.
    pub(super) fn condition_and_blocks(&mut self, keyword: usize) -> Statement<'t> {
        let word = self.slice(self.at, self.at + keyword).to_ascii_lowercase();
        self.at += keyword;
        let mut parts = Vec::new();
        self.blanks(true);
        while word == "switch" && self.peek() == Some(b'-') {
            // `switch -regex -file path (…)`
            self.at += 1;
            let option = self.name().to_ascii_lowercase();
            self.blanks(true);
            if option == "file" {
                let start = self.at;
                let value = self.argument();
                let words = vec![
                    Word {
                        kind: WordKind::Value(Expr::Text {
                            text: Cow::Borrowed("Get-Content"),
                            bare: true,
                        }),
                        start,
                        end: start,
                    },
                    Word { kind: WordKind::Value(value), start, end: self.at },
                ];
                parts.push(vec![statement_of(ElementKind::Command(words), start, self.at)]);
                self.blanks(true);
            }
        }
        parts.push(self.parenthesis());
        if word == "switch" {
            self.blanks(true);
            self.switch_body(&mut parts);
        } else {
            match self.block() {
                Some(body) => parts.push(body),
                None => self.fail(Problem::Unexpected, self.at),
            }
        }
        let mut more = matches!(word.as_ref(), "if" | "elseif");
        while more {
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
                    more = false;
                }
                _ => {
                    self.at = keep;
                    more = false;
                }
            }
        }
        Statement::Parts { parts, repeats: word == "while" }
    }

    /// `{ value { … } default { … } }`: every branch may run.
    pub(super) fn switch_body(&mut self, parts: &mut Vec<Statements<'t>>) {
        if !self.eat(b'{') {
            self.fail(Problem::Unexpected, self.at);
            return;
        }
        loop {
            self.blanks(true);
            match self.peek() {
                None => {
                    self.fail(Problem::Unclosed, self.at);
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
            parts.push(vec![statement_of(ElementKind::Expression(value), start, self.at)]);
            if let Some(body) = self.block() {
                parts.push(body);
            } else {
                self.fail(Problem::Unexpected, self.at);
                if self.at == start {
                    self.bump();
                }
            }
        }
    }

    /// `for (init; test; step) { … }`: its three parts are statements of one parenthesis.
    pub(super) fn for_loop(&mut self) -> Statement<'t> {
        self.at += 3;
        let head = self.parenthesis();
        let body = self.block();
        if body.is_none() {
            self.fail(Problem::Unexpected, self.at);
        }
        Statement::Parts { parts: vec![head, body.unwrap_or_default()], repeats: true }
    }

    pub(super) fn foreach_loop(&mut self) -> Statement<'t> {
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
            Expr::Variable(name) => name,
            _ => Cow::Borrowed("_"),
        };
        self.blanks(true);
        if self.keyword().as_ref() == "in" {
            self.at += 2;
        } else {
            self.fail(Problem::Unexpected, self.at);
        }
        self.blanks(true);
        let values = Box::new(Statement::Block(self.statements(Some(b')'))));
        let body = self.block();
        if body.is_none() {
            self.fail(Problem::Unexpected, self.at);
        }
        Statement::ForEach { name, values, body: body.unwrap_or_default() }
    }

    pub(super) fn do_loop(&mut self) -> Statement<'t> {
        self.at += 2;
        let mut parts: Vec<Statements<'t>> = self.block().into_iter().collect();
        self.blanks(true);
        match self.keyword().as_ref() {
            "while" | "until" => {
                self.at += 5;
                parts.push(self.parenthesis());
            }
            _ => self.fail(Problem::Unexpected, self.at),
        }
        Statement::Parts { parts, repeats: true }
    }

    /// `try { } catch [type] { } finally { }`, `begin { }`, `trap { }`.
    pub(super) fn blocks(&mut self, keyword: usize) -> Statement<'t> {
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
        Statement::Parts { parts, repeats: false }
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

    pub(super) fn function(&mut self, keyword: usize) -> Statement<'t> {
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
            self.fail(Problem::Unexpected, self.at);
        }
        Statement::Function(Function { name, parameters, body, source })
    }

    /// `(…)` of `param` or a function: the names, and the defaults as statements.
    pub(super) fn parameters(&mut self) -> (Vec<Cow<'t, str>>, Statements<'t>) {
        let (mut names, mut defaults) = (Vec::new(), Vec::new());
        if !self.eat(b'(') {
            return (names, defaults);
        }
        loop {
            self.blanks(true);
            match self.peek() {
                None => {
                    self.fail(Problem::Unclosed, self.at);
                    break;
                }
                Some(b')') => {
                    self.at += 1;
                    break;
                }
                Some(b',') => self.at += 1,
                Some(b'[') => {
                    if self.bracketed().is_none() {
                        self.fail(Problem::Unclosed, self.at);
                        break;
                    }
                }
                Some(b'$') => {
                    let start = self.at;
                    let target = self.variable();
                    if let Expr::Variable(name) = &target {
                        names.push(name.clone());
                    }
                    self.blanks(true);
                    if self.eat(b'=') {
                        self.blanks(true);
                        let value = self.expression(true);
                        let kind = ElementKind::Expression(value);
                        let value = Box::new(statement_of(kind, start, self.at));
                        let end = self.at;
                        let appends = false;
                        defaults.push(Statement::Assign(Assignment {
                            target,
                            appends,
                            value,
                            start,
                            end,
                        }));
                    }
                }
                _ => {
                    self.fail(Problem::Unexpected, self.at);
                    self.bump();
                }
            }
        }
        (names, defaults)
    }

    /// A class is not followed; its methods may hold anything.
    pub(super) fn class(&mut self) -> Statement<'t> {
        self.fail(Problem::Unexpected, self.at);
        let end = self.rest().find('{').unwrap_or(self.rest().len());
        self.at += end;
        Statement::Parts { parts: self.block().into_iter().collect(), repeats: false }
    }
}
