//! Expressions: operands, operators, member access, tables and lists.

use std::borrow::Cow;

use super::ast::{Access, Expr};
use super::parser::{Parser, Problem};

/// Operators that are words, without dash and without the `c` or `i` for case.
const OPERATORS: [&str; 33] = [
    "f",
    "eq",
    "ne",
    "gt",
    "ge",
    "lt",
    "le",
    "like",
    "notlike",
    "match",
    "notmatch",
    "replace",
    "split",
    "join",
    "contains",
    "notcontains",
    "in",
    "notin",
    "is",
    "isnot",
    "as",
    "and",
    "or",
    "xor",
    "band",
    "bor",
    "bxor",
    "bnot",
    "not",
    "shl",
    "shr",
    "creplace",
    "csplit",
];

impl<'t> Parser<'t> {
    /// An expression with its operators; `lines` lets it go on over line ends (inside parentheses).
    pub(super) fn expression(&mut self, lines: bool) -> Expr<'t> {
        if !self.enter() {
            self.leave();
            return Expr::List(Vec::new());
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
                    self.fail(Problem::Unexpected, keep);
                }
                break;
            }
            let before = self.at;
            rest.push((operator, self.list()));
            if self.at == before {
                break;
            }
            if rest.len() > 4_000 {
                self.fail(Problem::TooMany, self.at);
                self.at = self.text.len();
                break;
            }
        }
        self.leave();
        if rest.is_empty() { first } else { Expr::Binary(Box::new(first), rest) }
    }

    /// A binary operator here, in lower case and without its dash.
    fn operator(&mut self) -> Option<Cow<'t, str>> {
        match (self.peek()?, self.peek_at(1)) {
            (b'+', Some(b'+'))
            | (b'-', Some(b'-'))
            | (b'+' | b'-' | b'*' | b'/' | b'%', Some(b'=')) => None,
            (b'-', Some(b)) if b.is_ascii_alphabetic() => {
                let (word, length) = self.operator_word()?;
                self.at += length;
                Some(Cow::Owned(word))
            }
            (b'+' | b'-' | b'*' | b'/' | b'%', _) => {
                self.at += 1;
                Some(Cow::Borrowed(self.slice(self.at - 1, self.at)))
            }
            (b'.', Some(b'.')) => {
                self.at += 2;
                Some(Cow::Borrowed(".."))
            }
            (b'?', Some(b'?')) if self.peek_at(2) != Some(b'=') => {
                self.at += 2;
                Some(Cow::Borrowed("??"))
            }
            // `a ? b : c`
            (b'?' | b':', Some(b' ')) => {
                self.at += 1;
                Some(Cow::Borrowed("?:"))
            }
            _ => None,
        }
    }

    fn operator_word(&self) -> Option<(String, usize)> {
        let rest = self.rest().get(1..)?;
        let end = rest.bytes().take(16).position(|b| !b.is_ascii_alphabetic());
        let end = end.unwrap_or_else(|| rest.len().min(16));
        let word = rest.get(..end)?.to_ascii_lowercase();
        let plain = if OPERATORS.contains(&word.as_str()) {
            word.as_str()
        } else {
            word.strip_prefix(['c', 'i']).filter(|w| OPERATORS.contains(w))?
        };
        Some((plain.to_owned(), end + 1))
    }

    /// `-not`, `-join`, `-split`, `-bnot` before their operand.
    pub(super) fn unary_word(&self) -> Option<(String, usize)> {
        if self.peek() != Some(b'-') {
            return None;
        }
        self.operator_word()
            .filter(|(w, _)| matches!(w.as_str(), "not" | "bnot" | "join" | "split"))
    }

    /// Operands joined by commas, which bind tighter than operators.
    fn list(&mut self) -> Expr<'t> {
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
                self.fail(Problem::Unexpected, before);
                break;
            }
        }
        match list.len() {
            1 => list.pop().unwrap_or(Expr::List(Vec::new())),
            _ => Expr::List(list),
        }
    }

    fn unary(&mut self) -> Expr<'t> {
        if !self.enter() {
            self.leave();
            return Expr::List(Vec::new());
        }
        let value = self.one_unary();
        self.leave();
        value
    }

    fn one_unary(&mut self) -> Expr<'t> {
        if let Some((word, length)) = self.unary_word() {
            self.at += length;
            self.blanks(true);
            return Expr::Unary(Cow::Owned(word), Box::new(self.unary()));
        }
        match (self.peek(), self.peek_at(1)) {
            (Some(b'!'), _) => {
                self.at += 1;
                self.blanks(false);
                Expr::Unary(Cow::Borrowed("not"), Box::new(self.unary()))
            }
            (Some(b'+'), Some(b'+')) | (Some(b'-'), Some(b'-')) => {
                self.at += 2;
                Expr::Unary(Cow::Borrowed("++"), Box::new(self.unary()))
            }
            (Some(b'+' | b'-'), _) => {
                let sign = self.slice(self.at, self.at + 1);
                self.at += 1;
                self.blanks(false);
                Expr::Unary(Cow::Borrowed(sign), Box::new(self.unary()))
            }
            (Some(b','), _) => {
                self.at += 1;
                self.blanks(false);
                Expr::List(vec![self.unary()])
            }
            (Some(b'['), _) => self.type_or_cast(),
            _ => self.primary_with_access(),
        }
    }

    /// `[type]`, `[type]::member`, `[type]value`.
    fn type_or_cast(&mut self) -> Expr<'t> {
        let start = self.at;
        let Some(name) = self.bracketed() else {
            self.fail(Problem::Unclosed, start);
            self.at = self.text.len();
            return Expr::List(Vec::new());
        };
        if self.peek() == Some(b':') && self.peek_at(1) == Some(b':')
            || self.peek() == Some(b'.') && self.peek_at(1) != Some(b'.')
        {
            return self.accesses(Expr::Type(name));
        }
        let keep = self.at;
        self.blanks(true);
        let operand = match self.peek() {
            Some(b'$' | b'\'' | b'"' | b'(' | b'@' | b'[' | b'{' | b'0'..=b'9') => true,
            Some(b'-' | b'+') => self.peek_at(1).is_some_and(|b| b.is_ascii_digit()),
            _ => false,
        };
        if operand {
            return Expr::Cast(name, Box::new(self.unary()));
        }
        self.at = keep;
        Expr::Type(name)
    }

    pub(super) fn primary_with_access(&mut self) -> Expr<'t> {
        let base = self.primary();
        self.accesses(base)
    }

    /// `.name`, `::name`, `( … )` behind a name, `[ … ]`.
    fn accesses(&mut self, base: Expr<'t>) -> Expr<'t> {
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
                        self.fail(Problem::Unclosed, start);
                        self.at = self.text.len();
                    }
                    steps.push(Access::Index(index));
                    continue;
                }
                (Some(b'+'), Some(b'+')) | (Some(b'-'), Some(b'-')) if steps.is_empty() => {
                    // `$i++` behind a variable only.
                    if matches!(base, Expr::Variable(_)) {
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
                    Some(vec![Expr::Block(self.script_block())])
                }
                _ => None,
            };
            steps.push(Access::Member { name, is_static, arguments, start, end: self.at });
            if steps.len() > 2_000 {
                self.fail(Problem::TooMany, self.at);
                self.at = self.text.len();
            }
        }
        if steps.is_empty() { base } else { Expr::Postfix(Box::new(base), steps) }
    }

    fn member_name(&mut self) -> Expr<'t> {
        match self.peek() {
            Some(b'\'') => self.single_quoted(),
            Some(b'"') => self.double_quoted(),
            Some(b'$') => self.variable(),
            Some(b'(') => {
                self.at += 1;
                Expr::Statements(self.statements(Some(b')')))
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
                Expr::Text { text, bare: true }
            }
        }
    }

    fn call_arguments(&mut self, start: usize) -> Vec<Expr<'t>> {
        let mut arguments = Vec::new();
        loop {
            self.blanks(true);
            match self.peek() {
                None => {
                    self.fail(Problem::Unclosed, start);
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
                Expr::List(list) => arguments.extend(list),
                other => arguments.push(other),
            }
            if self.at == before {
                self.fail(Problem::Unexpected, before);
                self.bump();
            }
        }
    }

    /// One operand without its accesses.
    pub(super) fn primary(&mut self) -> Expr<'t> {
        if !self.enter() {
            self.leave();
            return Expr::List(Vec::new());
        }
        let value = self.one_primary();
        self.leave();
        value
    }

    fn one_primary(&mut self) -> Expr<'t> {
        let start = self.at;
        match (self.peek(), self.peek_at(1)) {
            (Some(b'$' | b'@'), Some(b'(')) => {
                self.at += 2;
                Expr::Statements(self.statements(Some(b')')))
            }
            (Some(b'$'), _) => self.variable(),
            (Some(b'\''), _) => self.single_quoted(),
            (Some(b'"'), _) => self.double_quoted(),
            (Some(b'@'), Some(b'\'' | b'"')) => self.here_string(),
            (Some(b'('), _) => {
                self.at += 1;
                Expr::Statements(self.statements(Some(b')')))
            }
            (Some(b'@'), Some(b'{')) => {
                self.at += 2;
                self.table(start)
            }
            (Some(b'{'), _) => {
                self.at += 1;
                Expr::Block(self.script_block())
            }
            (Some(b'0'..=b'9'), _) | (Some(b'.'), Some(b'0'..=b'9')) => {
                while let Some(b) = self.peek() {
                    let range = b == b'.' && self.peek_at(1) == Some(b'.');
                    if range || !(b.is_ascii_alphanumeric() || b == b'.') {
                        break;
                    }
                    self.at += 1;
                }
                Expr::Number(self.slice(start, self.at))
            }
            _ => {
                self.fail(Problem::Unexpected, start);
                if self.peek().is_some_and(|b| !b")}];|\n".contains(&b)) {
                    self.bump();
                }
                Expr::List(Vec::new())
            }
        }
    }

    /// The members of a table behind its `@{`.
    fn table(&mut self, start: usize) -> Expr<'t> {
        let mut members = Vec::new();
        loop {
            self.blanks(true);
            match self.peek() {
                None => {
                    self.fail(Problem::Unclosed, start);
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
                    Expr::Text { text, bare: false }
                }
            };
            self.blanks(true);
            if !self.eat(b'=') {
                self.fail(Problem::Unexpected, self.at);
                if self.at == before {
                    self.bump();
                }
                continue;
            }
            self.blanks(true);
            members.push((key, self.statement()));
        }
        Expr::Table(members)
    }
}
