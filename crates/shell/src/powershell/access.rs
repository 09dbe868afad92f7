//! What follows a value: members, elements, calls.

use std::borrow::Cow;

use super::ast::{PsAccess, PsExpr};
use super::parser::{Parser, PowerShellProblem};

impl<'t> Parser<'t> {
    /// `.name`, `::name`, `( … )` behind a name, `[ … ]`.
    pub(super) fn accesses(&mut self, base: PsExpr<'t>) -> PsExpr<'t> {
        let mut steps = Vec::new();
        loop {
            let start = self.at;
            match (self.peek(), self.peek_at(1)) {
                (Some(b':'), Some(b':')) | (Some(b'?'), Some(b'.')) => self.at += 2,
                (Some(b'.'), Some(b)) if b.is_ascii_alphabetic() || b"_$('\"".contains(&b) => {
                    self.at += 1;
                }
                (Some(b'['), Some(_)) => {
                    self.at += 1;
                    self.blanks(true);
                    let index = self.expression(true);
                    self.blanks(true);
                    if !self.eat(b']') {
                        self.fail(PowerShellProblem::Unclosed, start);
                        self.at = self.text.len();
                    }
                    steps.push(PsAccess::Index(index));
                    continue;
                }
                (Some(b'+'), Some(b'+')) | (Some(b'-'), Some(b'-')) if steps.is_empty() => {
                    // `$i++` behind a variable only.
                    if matches!(base, PsExpr::Variable(_)) {
                        self.at += 2;
                    }
                    break;
                }
                _ => break,
            }
            let is_static = self.text.as_bytes().get(start) == Some(&b':');
            let name = self.member_name();
            let arguments = match self.peek() {
                Some(b'(') => {
                    self.at += 1;
                    Some(self.call_arguments(start))
                }
                // `.ForEach{ … }`
                Some(b'{') => {
                    self.at += 1;
                    Some(vec![PsExpr::Block(self.script_block())])
                }
                _ => None,
            };
            steps.push(PsAccess::Member { name, is_static, arguments, start, end: self.at });
            if steps.len() > 2_000 {
                self.fail(PowerShellProblem::TooMany, self.at);
                self.at = self.text.len();
            }
        }
        if steps.is_empty() { base } else { PsExpr::Postfix(Box::new(base), steps) }
    }

    fn member_name(&mut self) -> PsExpr<'t> {
        match self.peek() {
            Some(b'\'') => self.single_quoted(),
            Some(b'"') => self.double_quoted(),
            Some(b'$') => self.variable(),
            Some(b'(') => {
                self.at += 1;
                PsExpr::Statements(self.statements(Some(b')')))
            }
            _ => {
                let start = self.at;
                while self.char().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '`') {
                    self.bump();
                }
                let name = self.slice(start, self.at);
                let text = if name.contains('`') {
                    Cow::Owned(name.replace('`', ""))
                } else {
                    Cow::Borrowed(name)
                };
                PsExpr::Text { text, bare: true }
            }
        }
    }

    fn call_arguments(&mut self, start: usize) -> Vec<PsExpr<'t>> {
        let mut arguments = Vec::new();
        loop {
            self.blanks(true);
            match self.peek() {
                None => {
                    self.fail(PowerShellProblem::Unclosed, start);
                    return arguments;
                }
                Some(b')') => {
                    self.at += 1;
                    return arguments;
                }
                Some(b',') => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let before = self.at;
            match self.expression(true) {
                // Commas separate arguments here.
                PsExpr::List(list) => arguments.extend(list),
                other => arguments.push(other),
            }
            if self.at == before {
                self.fail(PowerShellProblem::Unexpected, before);
                self.bump();
            }
        }
    }
}
