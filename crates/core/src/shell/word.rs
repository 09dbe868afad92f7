//! Words: quotes, dollars, backquotes and what they hold.

use std::borrow::Cow;

use super::ast::{Node, Operation, Part, Parts, Word};
use super::reader::{Outcome, Problem, Reader, Until};

/// What closes a run of double-quote-like text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Close {
    /// `"`
    Quote,
    /// `}` of `${…}`
    Brace,
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
        if self.ends_word() {
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
    fn part(&mut self, parts: &mut Vec<Part<'a>>) -> Outcome<()> {
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
    fn double(&mut self, parts: &mut Vec<Part<'a>>, close: Close) -> Outcome<()> {
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
                b'}' if close == Close::Brace => {
                    self.quoted_run(parts, run, self.at);
                    self.at += 1;
                    return Ok(());
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
                }
                Some(b'|' | b'&' | b';' | b')' | b'<' | b'>') => self.at += 1,
                Some(_) => self.part(&mut parts)?,
            }
        }
        Ok(Word { parts: Parts::Many(parts), start, end: self.at })
    }

    fn dollar(&mut self, parts: &mut Vec<Part<'a>>, quoted: bool) -> Outcome<()> {
        let start = self.at;
        match self.peek_at(1) {
            Some(b'(') if self.peek_at(2) == Some(b'(') && self.is_arithmetic(self.at + 3) => {
                self.at += 3;
                let lists = self.deeper(Self::arithmetic)?;
                parts.push(Part::Arithmetic { lists });
            }
            Some(b'(') => {
                self.at += 2;
                let list = self.deeper(|r| r.list(Until::Paren))?;
                parts.push(Part::Command { list, quoted });
            }
            Some(b'{') => {
                self.at += 2;
                let part = self.deeper(|r| r.braced(quoted))?;
                parts.push(part);
            }
            Some(b'[') => {
                while self.peek().is_some_and(|b| b != b']') {
                    self.at += 1;
                }
                self.at += 1;
                parts.push(Part::Arithmetic { lists: Vec::new() });
            }
            Some(b) if b.is_ascii_alphabetic() || b == b'_' => {
                let mut end = start + 1;
                while self.bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
                    end += 1;
                }
                self.at = end;
                let name = self.slice(start + 1, end);
                parts.push(Part::Variable { name, operation: Operation::Plain, quoted });
            }
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => {
                self.at += 2;
                let name = self.slice(start + 1, start + 2);
                parts.push(Part::Variable { name, operation: Operation::Plain, quoted });
            }
            _ => {
                self.at += 1;
                parts.push(Part::Quoted(Cow::Borrowed("$")));
            }
        }
        Ok(())
    }

    /// `${…}` after its opening.
    fn braced(&mut self, quoted: bool) -> Outcome<Part<'a>> {
        let indirect = matches!(self.peek(), Some(b'!' | b'#'))
            && !matches!(self.peek_at(1), Some(b'}' | b':' | b'-' | b'+' | b'=' | b'%'));
        if indirect {
            self.at += 1;
        }
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
            self.at += 1;
        }
        if self.at == start && matches!(self.peek(), Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) {
            self.at += 1;
        }
        let name = self.slice(start, self.at);
        let subscript = self.at;
        if self.peek() == Some(b'[') {
            while self.peek().is_some_and(|b| b != b']' && b != b'}') {
                self.at += 1;
            }
            if self.peek() == Some(b']') {
                self.at += 1;
            }
        }
        // "${list[@]}" is all elements as words of their own.
        let quoted = quoted && self.slice(subscript, self.at) != "[@]";
        let operation = match (self.peek(), self.peek_at(1)) {
            (None, _) => return Err(Problem::Unclosed),
            (Some(b'}'), _) if !indirect => {
                self.at += 1;
                Operation::Plain
            }
            (Some(b':'), Some(b'-' | b'=')) => Operation::Default(self.operand(2)?),
            (Some(b'-' | b'='), _) => Operation::Default(self.operand(1)?),
            (Some(b':'), Some(b'+')) => Operation::Alternative(self.operand(2)?),
            (Some(b'+'), _) => Operation::Alternative(self.operand(1)?),
            (Some(b':'), Some(b'?')) => Operation::Other(self.operand(2)?),
            (Some(b':'), _) => {
                let word = self.operand(1)?;
                Operation::Slice(self.slice(word.start, word.end))
            }
            _ => Operation::Other(self.operand(0)?),
        };
        Ok(Part::Variable { name, operation, quoted })
    }

    fn operand(&mut self, skip: usize) -> Outcome<Box<Word<'a>>> {
        self.at += skip;
        let start = self.at;
        let mut parts = Vec::new();
        self.double(&mut parts, Close::Brace)?;
        Ok(Box::new(Word { parts: Parts::Many(parts), start, end: self.at - 1 }))
    }

    /// Whether `((` closes with `))`: looked at once, without entering anything.
    fn is_arithmetic(&self, from: usize) -> bool {
        let mut at = from;
        let mut open = 0usize;
        while let Some(&b) = self.bytes.get(at) {
            match b {
                b'\\' => at += 1,
                b'\'' | b'"' => {
                    at += 1;
                    while self.bytes.get(at).is_some_and(|&q| q != b) {
                        at += 1;
                    }
                }
                b'(' => open += 1,
                b')' if open == 0 => return self.bytes.get(at + 1) == Some(&b')'),
                b')' => open -= 1,
                _ => {}
            }
            at += 1;
        }
        true
    }

    /// Up to `))`, collecting the commands inside.
    fn arithmetic(&mut self) -> Outcome<Vec<super::ast::List<'a>>> {
        let mut lists = Vec::new();
        let mut open = 0usize;
        while let Some(b) = self.peek() {
            match b {
                b'$' if self.peek_at(1) == Some(b'(') => {
                    let mut parts = Vec::new();
                    self.dollar(&mut parts, true)?;
                    for part in parts {
                        match part {
                            Part::Command { list, .. } => lists.push(list),
                            Part::Arithmetic { lists: inner } => lists.extend(inner),
                            _ => {}
                        }
                    }
                    continue;
                }
                b'\\' => self.at += 1,
                b'(' => open += 1,
                b')' if open == 0 => {
                    self.at += 2;
                    return Ok(lists);
                }
                b')' => open -= 1,
                _ => {}
            }
            self.at += 1;
        }
        Err(Problem::Unclosed)
    }

    /// `(( … ))` as a command, if that is what it is.
    pub(super) fn arithmetic_command(&mut self) -> Outcome<Option<Node<'a>>> {
        if !self.is_arithmetic(self.at + 2) {
            return Ok(None);
        }
        let start = self.at;
        self.at += 2;
        let lists = self.deeper(Self::arithmetic)?;
        let parts = Parts::Many(vec![Part::Arithmetic { lists }]);
        Ok(Some(Node::Test(vec![Word { parts, start, end: self.at }])))
    }

    fn backquote(&mut self, parts: &mut Vec<Part<'a>>, quoted: bool) -> Outcome<()> {
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
        parts.push(Part::Backquote { text, start, quoted });
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
        Ok(decode_escapes(raw, false))
    }
}

/// Bytes that mean nothing special in a word.
fn is_plain(b: u8) -> bool {
    b.is_ascii_alphanumeric()
        || b >= 0x80
        || matches!(b, b'-' | b'_' | b'.' | b'/' | b':' | b',' | b'=' | b'+' | b'@' | b'%' | b'^' | b']')
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

/// Backslash escapes of `$'…'`, `echo -e` and `printf`. `octal_zero`: octal needs a leading `0`.
pub fn decode_escapes(raw: &str, octal_zero: bool) -> String {
    let mut bytes: Vec<u8> = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes().iter().copied().peekable();
    while let Some(b) = rest.next() {
        if b != b'\\' {
            bytes.push(b);
            continue;
        }
        let push_char = |bytes: &mut Vec<u8>, code: u32| {
            let c = char::from_u32(code).unwrap_or('\u{fffd}');
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        };
        // A NUL ends a shell word; it cannot be part of one.
        let byte = |bytes: &mut Vec<u8>, v: u32| bytes.push(u8::try_from(v & 0xff).unwrap_or(b'?').max(1));
        match rest.next() {
            None => bytes.push(b'\\'),
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'a') => bytes.push(7),
            Some(b'b') => bytes.push(8),
            Some(b'e' | b'E') => bytes.push(27),
            Some(b'f') => bytes.push(12),
            Some(b'v') => bytes.push(11),
            Some(b'x') => {
                let v = digits_of(&mut rest, 2, 16, 0);
                byte(&mut bytes, v);
            }
            Some(b'u') => {
                let v = digits_of(&mut rest, 4, 16, 0);
                push_char(&mut bytes, v);
            }
            Some(b'U') => {
                let v = digits_of(&mut rest, 8, 16, 0);
                push_char(&mut bytes, v);
            }
            Some(b'0') if octal_zero => {
                let v = digits_of(&mut rest, 3, 8, 0);
                byte(&mut bytes, v);
            }
            Some(d @ b'0'..=b'7') => {
                let v = digits_of(&mut rest, 2, 8, u32::from(d - b'0'));
                byte(&mut bytes, v);
            }
            Some(c @ (b'\\' | b'\'' | b'"' | b'?' | b'$' | b'`')) => bytes.push(c),
            Some(other) => {
                bytes.push(b'\\');
                bytes.push(other);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digits_of(
    rest: &mut std::iter::Peekable<impl Iterator<Item = u8>>,
    limit: u32,
    radix: u32,
    first: u32,
) -> u32 {
    let mut value = first;
    for _ in 0..limit {
        let Some(d) = rest.peek().and_then(|b| char::from(*b).to_digit(radix)) else { break };
        value = value.wrapping_mul(radix).wrapping_add(d);
        rest.next();
    }
    value
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
