//! Elements of a pipeline: commands with their words and redirections, or expressions.

use std::borrow::Cow;

use super::ast::{PsElement, PsElementKind, PsExpr, PsRedirection, PsWord, PsWordKind};
use super::parser::{Parser, PowerShellProblem};

/// A redirection: into a file, or into another stream.
enum Redirect<'t> {
    File(PsRedirection<'t>),
    Stream,
}

impl<'t> Redirect<'t> {
    fn file(self) -> Option<PsRedirection<'t>> {
        match self {
            Redirect::File(redirection) => Some(redirection),
            Redirect::Stream => None,
        }
    }
}

impl<'t> Parser<'t> {
    /// One element of a pipeline.
    pub(super) fn element(&mut self) -> PsElement<'t> {
        let start = self.at;
        if !self.enter() {
            self.leave();
            let kind = PsElementKind::Command(Vec::new());
            return PsElement { kind, redirections: Vec::new(), start, end: start };
        }
        let mut redirections = Vec::new();
        let kind = if self.begins_expression() {
            PsElementKind::Expression(self.expression(false))
        } else {
            PsElementKind::Command(self.command(&mut redirections))
        };
        self.leave();
        PsElement { kind, redirections, start, end: self.at }
    }

    /// Whether what stands here is an expression and not the name of a command.
    fn begins_expression(&self) -> bool {
        match self.peek() {
            Some(b'$' | b'\'' | b'"' | b'(' | b'{' | b'!' | b',') => true,
            // `[` alone is a test program where there is one, never a type.
            Some(b'[') => !matches!(self.peek_at(1), None | Some(b' ' | b'\t')),
            Some(b'@') => matches!(self.peek_at(1), Some(b'(' | b'{' | b'\'' | b'"')),
            Some(b'+' | b'-') => match self.peek_at(1) {
                Some(b'0'..=b'9' | b'$' | b'(' | b'+' | b'-') => true,
                _ => self.unary_word().is_some(),
            },
            Some(b'0'..=b'9') => self.is_number(),
            _ => false,
        }
    }

    /// Whether a whole number stands here: `7z` is a command, `7` and `7kb` are not.
    fn is_number(&self) -> bool {
        let rest = self.rest().as_bytes();
        let end = rest
            .iter()
            .position(|b| !(b.is_ascii_alphanumeric() || *b == b'_'))
            .unwrap_or(rest.len());
        let word = self.rest().get(..end).unwrap_or_default().to_ascii_lowercase();
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let suffix = word.get(digits.len()..).unwrap_or_default();
        word.starts_with("0x")
            || (digits.bytes().all(|b| b.is_ascii_digit())
                && matches!(suffix, "" | "kb" | "mb" | "gb" | "tb" | "pb" | "l" | "d" | "u" | "ul"))
    }

    /// The words of a command up to the end of its element.
    fn command(&mut self, redirections: &mut Vec<PsRedirection<'t>>) -> Vec<PsWord<'t>> {
        let mut words = Vec::new();
        let start = self.at;
        // `& name` and `. name` run what follows; `&{ … }` too.
        if self.peek() == Some(b'&') && self.peek_at(1) != Some(b'&') {
            self.at += 1;
            self.blanks(false);
            words.push(marker("&", start));
        } else if self.peek() == Some(b'.')
            && matches!(self.peek_at(1), Some(b' ' | b'\t' | b'{' | b'(' | b'$' | b'\'' | b'"'))
        {
            self.at += 1;
            self.blanks(false);
            words.push(marker(".", start));
        }
        loop {
            self.blanks(false);
            let before = self.at;
            if self.ends_command() {
                break;
            }
            if let Some(redirection) = self.redirection() {
                redirections.extend(redirection.file());
                continue;
            }
            if !self.enter() {
                self.leave();
                break;
            }
            let word = self.word(words.is_empty());
            self.leave();
            let attached = matches!(&word.kind, PsWordKind::Parameter { attached: true, .. });
            words.push(word);
            if attached {
                self.blanks(false);
            }
            if self.at == before {
                self.fail(PowerShellProblem::Unexpected, self.at);
                self.bump();
            }
        }
        words
    }

    pub(super) fn ends_command(&self) -> bool {
        match self.peek() {
            None | Some(b';' | b'|' | b'\n' | b')' | b'}' | b'&') => true,
            Some(b'\r') => self.peek_at(1) == Some(b'\n'),
            _ => false,
        }
    }

    /// Redirections behind an expression.
    pub(super) fn redirections(&mut self, element: &mut PsElement<'t>) {
        if matches!(element.kind, PsElementKind::Command(_)) {
            return;
        }
        self.blanks(false);
        while let Some(redirection) = self.redirection() {
            element.redirections.extend(redirection.file());
            element.end = self.at;
            self.blanks(false);
        }
    }

    /// `> file`, `2>> file`, `*> file`; `Redirect::Stream` for `2>&1`, which names no file.
    fn redirection(&mut self) -> Option<Redirect<'t>> {
        let start = self.at;
        let stream = match (self.peek()?, self.peek_at(1)) {
            (b'>', _) => b'1',
            (stream @ (b'1'..=b'6' | b'*'), Some(b'>')) => {
                self.at += 1;
                stream
            }
            _ => return None,
        };
        self.at += 1;
        let append = self.eat(b'>');
        if self.peek() == Some(b'&') && matches!(self.peek_at(1), Some(b'1' | b'2')) {
            self.at += 2;
            return Some(Redirect::Stream);
        }
        self.blanks(false);
        if self.ends_command() {
            self.fail(PowerShellProblem::Unexpected, self.at);
            return Some(Redirect::Stream);
        }
        let target = self.argument();
        let output = matches!(stream, b'1' | b'*');
        Some(Redirect::File(PsRedirection { target, append, output, start, end: self.at }))
    }

    fn word(&mut self, first: bool) -> PsWord<'t> {
        let start = self.at;
        if !first && self.rest().starts_with("--%") {
            let end = self.rest().find(['\n', '\r']).unwrap_or(self.rest().len());
            let raw = self.slice(start + 3, start + end);
            let raw = raw.split('|').next().unwrap_or(raw);
            self.at = start + 3 + raw.len();
            return PsWord { kind: PsWordKind::Verbatim(raw), start, end: self.at };
        }
        if self.peek() == Some(b'@')
            && self.peek_at(1).is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        {
            self.at += 1;
            let name = Cow::Borrowed(self.name());
            return PsWord { kind: PsWordKind::Splat(name), start, end: self.at };
        }
        if !first && let Some(kind) = self.parameter() {
            return PsWord { kind, start, end: self.at };
        }
        let value = self.argument_list();
        PsWord { kind: PsWordKind::Value(value), start, end: self.at }
    }

    /// `-Name`, `-Name:`; not `--name`, not `-5`, not `-x$y`.
    fn parameter(&mut self) -> Option<PsWordKind<'t>> {
        let rest = self.rest();
        let mut chars = rest.char_indices();
        if chars.next().map(|(_, c)| c) != Some('-') {
            return None;
        }
        let first = chars.next().map(|(_, c)| c)?;
        if !(first.is_alphabetic() || first == '_' || first == '?') {
            return None;
        }
        let ends = |c: char| c.is_whitespace() || ":=\"'$(){};,|&`<>@".contains(c);
        let end =
            rest.char_indices().skip(1).find(|(_, c)| ends(*c)).map_or(rest.len(), |(i, _)| i);
        let name = rest.get(1..end)?;
        let next = rest.as_bytes().get(end).copied();
        match next {
            Some(b':') => {
                self.at += end + 1;
                Some(PsWordKind::Parameter { name: Cow::Borrowed(name), attached: true })
            }
            // `-DFLAG=1`, `-o"x"`: a word of its own for a program.
            Some(b'=' | b'"' | b'\'' | b'$' | b'`') => None,
            _ => {
                self.at += end;
                Some(PsWordKind::Parameter { name: Cow::Borrowed(name), attached: false })
            }
        }
    }
}

fn marker<'t>(text: &'static str, start: usize) -> PsWord<'t> {
    let value = PsExpr::Text { text: Cow::Borrowed(text), bare: true };
    PsWord { kind: PsWordKind::Value(value), start, end: start + 1 }
}
