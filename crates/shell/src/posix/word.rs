//! Words: quotes, dollars, backquotes and what they hold.

use std::borrow::Cow;

use super::ast::{Part, Parts, Word};
use super::parser::{Outcome, Parser, PosixProblem, Until};
use super::plain_bytes::is_plain;

/// What closes a run of double-quote-like text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Close {
    /// `"`
    Quote,
    /// `}` of `${…}`
    Brace,
    /// `}` of `"${…}"`: single quotes mean nothing there.
    QuotedBrace,
    /// The end of a here-document.
    End,
}

impl<'a> Parser<'a> {
    /// The next word, or none where an operator stands.
    pub(super) fn word(&mut self) -> Outcome<Option<Word<'a>>> {
        let start = self.at;
        while let Some(&b) = self.bytes.get(self.at) {
            if is_plain(b) || (self.at > start && matches!(b, b'~' | b'#')) {
                self.at += 1;
            } else {
                break;
            }
        }
        if self.ends_word()
            && !(self.peek() == Some(b'(') && self.at > start && self.follows_extglob())
        {
            if self.at == start {
                return Ok(None);
            }
            let parts = Parts::Plain(self.slice(start, self.at));
            return Ok(Some(Word { parts, start, end: self.at }));
        }
        let mut parts = Vec::with_capacity(2);
        if self.at > start {
            parts.push(Part::Bare(Cow::Borrowed(self.slice(start, self.at))));
        }
        self.word_parts(&mut parts)?;
        if self.at == start {
            return Ok(None);
        }
        Ok(Some(Word { parts: Parts::Many(parts), start, end: self.at }))
    }

    /// Whether the word is over here.
    fn ends_word(&self) -> bool {
        match self.peek() {
            None | Some(b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'(' | b')') => true,
            Some(b'<' | b'>') => self.peek_at(1) != Some(b'('),
            _ => false,
        }
    }

    fn word_parts(&mut self, parts: &mut Vec<Part<'a>>) -> Outcome<()> {
        loop {
            if self.peek() == Some(b'(') && self.follows_extglob() {
                let from = self.at;
                self.balanced_parens()?;
                parts.push(Part::Bare(Cow::Borrowed(self.slice(from, self.at))));
                self.inside_pattern(parts, from)?;
                continue;
            }
            if self.ends_word() {
                return Ok(());
            }
            self.part(parts)?;
        }
    }

    /// One part of an unquoted word.
    pub(super) fn part(&mut self, parts: &mut Vec<Part<'a>>) -> Outcome<()> {
        let start = self.at;
        match self.peek() {
            Some(b'\'') => {
                self.at += 1;
                self.skip_past(b'\'')?;
                parts.push(Part::Quoted(Cow::Borrowed(self.slice(start + 1, self.at - 1))));
            }
            Some(b'"') => {
                self.at += 1;
                self.double(parts, Close::Quote)?;
            }
            Some(b'\\') => self.backslash(parts),
            Some(b'$') if self.peek_at(1) == Some(b'\'') => {
                self.at += 2;
                parts.push(Part::Quoted(Cow::Owned(self.ansi_c()?)));
            }
            Some(b'$') if self.peek_at(1) == Some(b'"') => {
                self.at += 2;
                self.double(parts, Close::Quote)?;
            }
            Some(b'$') => self.dollar(parts, false)?,
            Some(b'`') => self.backquote(parts, false)?,
            Some(b'<' | b'>') => {
                let reads = self.peek() == Some(b'<');
                self.at += 2;
                let list = self.deeper(|r| r.list(Until::Paren))?;
                parts.push(Part::Process { list, reads });
            }
            _ => {
                while let Some(b) = self.peek() {
                    let special = matches!(b, b'\'' | b'"' | b'\\' | b'$' | b'`');
                    if special || self.ends_word() || (matches!(b, b'<' | b'>')) {
                        break;
                    }
                    self.at += 1;
                }
                if self.at == start {
                    self.at += 1;
                }
                parts.push(Part::Bare(Cow::Borrowed(self.slice(start, self.at))));
            }
        }
        Ok(())
    }

    fn backslash(&mut self, parts: &mut Vec<Part<'a>>) {
        let from = self.at + 1;
        match self.bytes.get(from) {
            None => {
                self.at += 1;
                parts.push(Part::Quoted(Cow::Borrowed("\\")));
            }
            Some(b'\n') => self.at += 2,
            Some(b'\r') if self.bytes.get(from + 1) == Some(&b'\n') => self.at += 3,
            Some(_) => {
                let rest = self.text.get(from..).unwrap_or_default();
                let length = rest.chars().next().map_or(1, char::len_utf8);
                self.at = from + length;
                parts.push(Part::Quoted(Cow::Borrowed(self.slice(from, self.at))));
            }
        }
    }

    /// Text in which only `$`, backquotes and a few escapes are special.
    pub(super) fn double(&mut self, parts: &mut Vec<Part<'a>>, close: Close) -> Outcome<()> {
        let before = parts.len();
        let mut run = self.at;
        loop {
            let Some(b) = self.peek() else {
                self.quoted_run(parts, run, self.at);
                return if close == Close::End { Ok(()) } else { Err(PosixProblem::Unclosed) };
            };
            match b {
                b'"' if close == Close::Quote => {
                    self.quoted_run(parts, run, self.at);
                    self.at += 1;
                    if parts.len() == before {
                        parts.push(Part::Quoted(Cow::Borrowed("")));
                    }
                    return Ok(());
                }
                b'}' if matches!(close, Close::Brace | Close::QuotedBrace) => {
                    self.quoted_run(parts, run, self.at);
                    self.at += 1;
                    return Ok(());
                }
                b'\'' | b'"'
                    if close == Close::Brace || b == b'"' && close == Close::QuotedBrace =>
                {
                    self.quoted_run(parts, run, self.at);
                    self.part(parts)?;
                    run = self.at;
                }
                b'\\' => run = self.quoted_escape(parts, run),
                b'$' => {
                    self.quoted_run(parts, run, self.at);
                    self.dollar(parts, true)?;
                    run = self.at;
                }
                b'`' => {
                    self.quoted_run(parts, run, self.at);
                    self.backquote(parts, true)?;
                    run = self.at;
                }
                _ => self.at += 1,
            }
        }
    }

    /// A backslash in double quotes; returns where the text behind it begins.
    fn quoted_escape(&mut self, parts: &mut Vec<Part<'a>>, run: usize) -> usize {
        match self.peek_at(1) {
            Some(b'$' | b'`' | b'"' | b'\\' | b'}') => {
                self.quoted_run(parts, run, self.at);
                self.at += 2;
                self.at - 1
            }
            Some(b'\n') => {
                self.quoted_run(parts, run, self.at);
                self.at += 2;
                self.at
            }
            _ => {
                self.at += 1;
                run
            }
        }
    }

    fn quoted_run(&self, parts: &mut Vec<Part<'a>>, from: usize, to: usize) {
        if to > from {
            parts.push(Part::Quoted(Cow::Borrowed(self.slice(from, to))));
        }
    }

    /// The body of a here-document whose mark was not quoted.
    pub(super) fn here_word(&mut self, body: &'a str, start: usize) -> Outcome<Word<'a>> {
        let end = start + body.len();
        let mut inner = Parser::new(self.slice(0, end));
        inner.at = start;
        inner.depth = self.depth;
        let mut parts = Vec::new();
        inner.deeper(|r| r.double(&mut parts, Close::End))?;
        let mut word = Word { parts: Parts::Many(parts), start, end };
        inner.finish(&mut word);
        Ok(word)
    }

    /// The rest of a `=~` pattern: read like a word, but brackets belong to it.
    pub(super) fn regex_word(&mut self) -> Outcome<Word<'a>> {
        let start = self.at;
        let mut parts = Vec::new();
        loop {
            match self.peek() {
                None => return Err(PosixProblem::Unclosed),
                Some(b' ' | b'\t' | b'\n') => break,
                Some(b'(') => {
                    let from = self.at;
                    self.balanced_parens()?;
                    parts.push(Part::Quoted(Cow::Borrowed(self.slice(from, self.at))));
                    self.inside_pattern(&mut parts, from)?;
                }
                Some(b'|' | b'&' | b';' | b')' | b'<' | b'>') => self.at += 1,
                Some(_) => self.part(&mut parts)?,
            }
        }
        Ok(Word { parts: Parts::Many(parts), start, end: self.at })
    }
}

/// The text of a word that holds nothing but text.
pub fn unquoted<'a>(word: &Word<'a>) -> Option<Cow<'a, str>> {
    match &word.parts {
        Parts::Plain(text) => Some(Cow::Borrowed(text)),
        Parts::Many(parts) => {
            let mut all = String::new();
            for part in parts {
                match part {
                    Part::Bare(text) | Part::Quoted(text) => all.push_str(text),
                    _ => return None,
                }
            }
            Some(Cow::Owned(all))
        }
    }
}
