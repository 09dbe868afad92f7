//! Strings, here-strings, variables and script blocks.

use std::borrow::Cow;

use super::ast::{PsExpr, PsScriptBlock};
use super::parser::{Parser, PowerShellProblem};

/// How long a type name or an attribute may be.
const MAX_TYPE: usize = 1024;

impl<'t> Parser<'t> {
    /// `'text'`, in which `''` is a quote.
    pub(super) fn single_quoted(&mut self) -> PsExpr<'t> {
        let start = self.at;
        self.at += 1;
        let mut doubled = false;
        let from = self.at;
        let end = loop {
            let Some(quote) = self.rest().find('\'') else {
                self.fail(PowerShellProblem::Unclosed, start);
                self.at = self.text.len();
                break self.at;
            };
            self.at += quote + 1;
            if self.peek() != Some(b'\'') {
                break self.at - 1;
            }
            doubled = true;
            self.at += 1;
        };
        let raw = self.slice(from, end);
        let text = if doubled { Cow::Owned(raw.replace("''", "'")) } else { Cow::Borrowed(raw) };
        PsExpr::Text { text, bare: false }
    }

    /// `"text $name $(…)"`.
    pub(super) fn double_quoted(&mut self) -> PsExpr<'t> {
        let start = self.at;
        self.at += 1;
        self.expandable(start, None)
    }

    /// `@'…'@` and `@"…"@`.
    pub(super) fn here_string(&mut self) -> PsExpr<'t> {
        let start = self.at;
        let quote = self.peek_at(1).unwrap_or(b'\'');
        self.at += 2;
        // The text begins on the next line.
        let line = self.rest().find('\n').map_or(self.rest().len(), |i| i + 1);
        if !self.slice(self.at, self.at + line).trim().is_empty() {
            self.fail(PowerShellProblem::Unexpected, self.at);
        }
        self.at += line;
        let mark = if quote == b'"' { "\"@" } else { "'@" };
        let body = self.rest();
        let mut end = None;
        if body.starts_with(mark) {
            end = Some((0, 0));
        } else if let Some(at) = body.find(if quote == b'"' { "\n\"@" } else { "\n'@" }) {
            let cut = if body.get(..at).is_some_and(|b| b.ends_with('\r')) { at - 1 } else { at };
            end = Some((cut, at + 1));
        }
        let Some((cut, mark_at)) = end else {
            self.fail(PowerShellProblem::Unclosed, start);
            let text = Cow::Borrowed(body);
            self.at = self.text.len();
            return PsExpr::Text { text, bare: false };
        };
        let (text_end, after) = (self.at + cut, self.at + mark_at + 2);
        if quote == b'\'' {
            let text = Cow::Borrowed(self.slice(self.at, text_end));
            self.at = after;
            return PsExpr::Text { text, bare: false };
        }
        let value = self.expandable(start, Some(text_end));
        self.at = after.max(self.at);
        value
    }

    /// The pieces of an expandable string, up to its quote or to `end`.
    fn expandable(&mut self, start: usize, end: Option<usize>) -> PsExpr<'t> {
        let mut pieces: Vec<PsExpr<'t>> = Vec::new();
        let mut text = String::new();
        let mut from = self.at;
        let limit = end.unwrap_or(self.text.len());
        loop {
            if self.at >= limit {
                text.push_str(self.slice(from, limit.max(from)));
                if end.is_none() {
                    self.fail(PowerShellProblem::Unclosed, start);
                }
                break;
            }
            match self.char() {
                None => break,
                Some('"') if end.is_none() => {
                    text.push_str(self.slice(from, self.at));
                    self.at += 1;
                    if self.peek() == Some(b'"') {
                        text.push('"');
                        self.at += 1;
                        from = self.at;
                        continue;
                    }
                    break;
                }
                Some('`') => {
                    text.push_str(self.slice(from, self.at));
                    self.at += 1;
                    if let Some(c) = self.char() {
                        text.push(escaped(c));
                        self.bump();
                    }
                    from = self.at;
                }
                Some('$') if self.begins_variable() => {
                    text.push_str(self.slice(from, self.at));
                    push_text(&mut pieces, &mut text);
                    pieces.push(self.piece());
                    from = self.at;
                }
                Some(_) => self.bump(),
            }
        }
        if pieces.is_empty() {
            return PsExpr::Text { text: Cow::Owned(text), bare: false };
        }
        push_text(&mut pieces, &mut text);
        PsExpr::Pieces { pieces, bare: false }
    }

    /// A variable or `$( … )` inside a text.
    fn piece(&mut self) -> PsExpr<'t> {
        if self.peek_at(1) == Some(b'(') {
            self.at += 2;
            return PsExpr::Statements(self.statements(Some(b')')));
        }
        self.variable()
    }

    /// Whether `$` here begins a variable or `$( … )`; else it is a plain character.
    fn begins_variable(&self) -> bool {
        match self.peek_at(1) {
            Some(b'(' | b'{' | b'$' | b'?' | b'^' | b'_') => true,
            Some(b':') | None => false,
            Some(b) if b.is_ascii() => b.is_ascii_alphanumeric(),
            Some(_) => self
                .text
                .get(self.at + 1..)
                .and_then(|r| r.chars().next())
                .is_some_and(char::is_alphanumeric),
        }
    }

    /// A variable, `$( … )`, or a plain `$`, inside an unquoted word.
    pub(super) fn dollar(&mut self, first: bool) -> PsExpr<'t> {
        if !self.begins_variable() {
            self.at += 1;
            return PsExpr::Text { text: Cow::Borrowed("$"), bare: true };
        }
        if first {
            return self.primary_with_access();
        }
        if self.peek_at(1) == Some(b'(') {
            self.at += 2;
            return PsExpr::Statements(self.statements(Some(b')')));
        }
        self.variable()
    }

    /// `$name`, `$scope:name`, `${any name}`.
    pub(super) fn variable(&mut self) -> PsExpr<'t> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                let from = self.at;
                let Some(end) = self.rest().find('}') else {
                    self.fail(PowerShellProblem::Unclosed, start);
                    self.at = self.text.len();
                    return PsExpr::Variable(Cow::Borrowed(self.slice(from, self.text.len())));
                };
                self.at += end + 1;
                let name = self.slice(from, from + end);
                let name = if name.contains('`') {
                    Cow::Owned(name.replace('`', ""))
                } else {
                    Cow::Borrowed(name)
                };
                PsExpr::Variable(name)
            }
            Some(b'$' | b'?' | b'^') => {
                self.at += 1;
                PsExpr::Variable(Cow::Borrowed(self.slice(start + 1, self.at)))
            }
            _ => {
                while let Some(c) = self.char() {
                    let scope = c == ':'
                        && self.peek_at(1).is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
                    if !(c.is_alphanumeric() || c == '_' || scope) {
                        break;
                    }
                    self.bump();
                }
                PsExpr::Variable(Cow::Borrowed(self.slice(start + 1, self.at)))
            }
        }
    }

    /// A script block behind its `{`.
    pub(super) fn script_block(&mut self) -> PsScriptBlock<'t> {
        let start = self.at;
        self.blanks(true);
        let mut parameters = Vec::new();
        let mut body = Vec::new();
        // Attributes such as `[CmdletBinding()]` may stand before `param`.
        let keep = self.at;
        while self.peek() == Some(b'[') && self.bracketed().is_some() {
            self.blanks(true);
        }
        let param = self.rest().get(..5).is_some_and(|w| w.eq_ignore_ascii_case("param"));
        let open = self.rest().get(5..).map(str::trim_start).is_some_and(|r| r.starts_with('('));
        if param && open {
            self.at += 5;
            self.blanks(true);
            (parameters, body) = self.parameters();
        } else {
            self.at = keep;
        }
        body.extend(self.statements(Some(b'}')));
        let end = self.at.saturating_sub(1).max(start);
        PsScriptBlock { parameters, body, source: self.slice(start, end) }
    }

    /// `[ … ]` with brackets inside; the text between them.
    pub(super) fn bracketed(&mut self) -> Option<&'t str> {
        let start = self.at + 1;
        let mut open = 0_u32;
        let mut quote = None;
        for (i, b) in self.rest().bytes().take(MAX_TYPE).enumerate() {
            match (quote, b) {
                (Some(q), b) if q == b => quote = None,
                (None, b'\'' | b'"') => quote = Some(b),
                (None, b'[') => open += 1,
                (None, b']') => {
                    open -= 1;
                    if open == 0 {
                        self.at += i + 1;
                        return Some(self.slice(start, start + i - 1));
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// What a backtick and a character stand for.
pub(super) fn escaped(c: char) -> char {
    match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '0' => '\u{1}',
        'a' | 'b' | 'f' | 'v' => ' ',
        other => other,
    }
}

/// Moves the literal text so far, if there is any, to the pieces.
fn push_text(pieces: &mut Vec<PsExpr<'_>>, text: &mut String) {
    if !text.is_empty() {
        let literal = Cow::Owned(std::mem::take(text));
        pieces.push(PsExpr::Text { text: literal, bare: false });
    }
}
