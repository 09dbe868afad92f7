//! Backquotes and `$'…'`.

use std::borrow::Cow;

use super::ast::Part;
use super::parser::{Outcome, Parser, PosixProblem};

impl<'a> Parser<'a> {
    pub(super) fn backquote(&mut self, parts: &mut Vec<Part<'a>>, quoted: bool) -> Outcome<()> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.peek() {
                None => return Err(PosixProblem::Unclosed),
                Some(b'`') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                Some(_) => self.at += 1,
            }
        }
        let raw = self.slice(start, self.at);
        self.at += 1;
        let text = if escaped { Cow::Owned(unescape_backquote(raw, quoted)) } else { raw.into() };
        parts.push(Part::Backquote { text, start, end: self.at - 1, quoted });
        Ok(())
    }

    /// `$'…'` after its opening.
    pub(super) fn ansi_c(&mut self) -> Outcome<String> {
        let start = self.at;
        loop {
            match self.peek() {
                None => return Err(PosixProblem::Unclosed),
                Some(b'\'') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
        let raw = self.slice(start, self.at.min(self.bytes.len()));
        self.at += 1;
        Ok(super::escape::decode(raw, false))
    }
}

fn unescape_backquote(raw: &str, quoted: bool) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let special = matches!(next, Some('$' | '`' | '\\')) || (quoted && next == Some('"'));
        if c == '\\' && special {
            out.extend(chars.next());
        } else {
            out.push(c);
        }
    }
    out
}
