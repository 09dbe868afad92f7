//! Words: quotes, dollars, backquotes and what they hold.

use std::borrow::Cow;

use super::ast::{Part, Parts, Word};
use super::reader::{Outcome, Problem, Reader, Until};

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

impl<'a> Reader<'a> {
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

    /// `?(`, `*(`, `+(`, `@(`, `!(` inside a word are patterns.
    fn follows_extglob(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|i| self.bytes.get(i));
        matches!(before, Some(b'?' | b'*' | b'+' | b'@' | b'!'))
    }

    /// The commands that a bracketed pattern from `from` to here would run.
    fn inside_pattern(&mut self, parts: &mut Vec<Part<'a>>, from: usize) -> Outcome<()> {
        let body = self.slice(from, self.at);
        if let Some(text) = qualifier(body) {
            let text = Cow::Owned(text);
            let runs = Part::Backquote { text, start: from, end: self.at, quoted: false };
            parts.push(Part::Aside(vec![runs]));
        }
        if body.contains(['$', '`']) {
            let word = self.here_word(body, from)?;
            if let Parts::Many(inside) = word.parts {
                parts.push(Part::Aside(inside));
            }
        }
        Ok(())
    }

    fn balanced_parens(&mut self) -> Outcome<()> {
        let mut open = 0usize;
        while let Some(b) = self.peek() {
            self.at += 1;
            match b {
                b'\\' => self.at += 1,
                b'\'' => self.skip_past(b'\'')?,
                b'(' => open += 1,
                b')' => {
                    open -= 1;
                    if open == 0 {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        Err(Problem::Unclosed)
    }

    fn skip_past(&mut self, close: u8) -> Outcome<()> {
        while let Some(b) = self.peek() {
            self.at += 1;
            if b == close {
                return Ok(());
            }
        }
        Err(Problem::Unclosed)
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
                return if close == Close::End { Ok(()) } else { Err(Problem::Unclosed) };
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
                b'"' if close == Close::QuotedBrace => {
                    self.quoted_run(parts, run, self.at);
                    self.part(parts)?;
                    run = self.at;
                }
                b'\'' | b'"' if close == Close::Brace => {
                    self.quoted_run(parts, run, self.at);
                    self.part(parts)?;
                    run = self.at;
                }
                b'\\' => match self.peek_at(1) {
                    Some(b'$' | b'`' | b'"' | b'\\' | b'}') => {
                        self.quoted_run(parts, run, self.at);
                        run = self.at + 1;
                        self.at += 2;
                    }
                    Some(b'\n') => {
                        self.quoted_run(parts, run, self.at);
                        self.at += 2;
                        run = self.at;
                    }
                    _ => self.at += 1,
                },
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

    fn quoted_run(&self, parts: &mut Vec<Part<'a>>, from: usize, to: usize) {
        if to > from {
            parts.push(Part::Quoted(Cow::Borrowed(self.slice(from, to))));
        }
    }

    /// The body of a here-document whose mark was not quoted.
    pub(super) fn here_word(&mut self, body: &'a str, start: usize) -> Outcome<Word<'a>> {
        let end = start + body.len();
        let mut inner = Reader::new(self.slice(0, end));
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
                None => return Err(Problem::Unclosed),
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

    pub(super) fn backquote(&mut self, parts: &mut Vec<Part<'a>>, quoted: bool) -> Outcome<()> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.peek() {
                None => return Err(Problem::Unclosed),
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
    fn ansi_c(&mut self) -> Outcome<String> {
        let start = self.at;
        loop {
            match self.peek() {
                None => return Err(Problem::Unclosed),
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

/// What zsh runs for each file of `*(e:'…':)` or `*(+name)`.
fn qualifier(body: &str) -> Option<String> {
    let inner = body.strip_prefix('(')?.strip_suffix(')').unwrap_or(body);
    if let Some((_, name)) = inner.split_once('+')
        && !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    {
        return Some(name.to_owned());
    }
    let mut rest = inner;
    while let Some((_, after)) = rest.split_once('e') {
        rest = after;
        let Some(open) = after.chars().next().filter(|c| !c.is_alphanumeric()) else { continue };
        let close = match open {
            '(' => ')',
            '[' => ']',
            '{' => '}',
            '<' => '>',
            other => other,
        };
        let code = after.get(open.len_utf8()..).unwrap_or_default();
        if let Some((code, _)) = code.rsplit_once(close) {
            let bare = |q: char| code.strip_prefix(q).and_then(|c| c.strip_suffix(q));
            return Some(bare('\'').or(bare('"')).unwrap_or(code).to_owned());
        }
    }
    None
}

/// Bytes that mean nothing special in a word.
fn is_plain(b: u8) -> bool {
    PLAIN.get(usize::from(b)).is_some_and(|plain| *plain)
}

static PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut rest: &mut [bool] = &mut plain;
    let mut b = 0_u8;
    while let [first, others @ ..] = rest {
        *first = b.is_ascii_alphanumeric()
            || b >= 0x80
            || matches!(
                b,
                b'-' | b'_' | b'.' | b'/' | b':' | b',' | b'=' | b'+' | b'@' | b'%' | b'^' | b']'
            );
        rest = others;
        b = b.wrapping_add(1);
    }
    plain
};

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
