//! Where strings, templates, regular expressions and quote-like words end.

use crate::code::Language;
use crate::code::lex::{Lexer, is_word};
use crate::code::token::{EXEC, HOLES, K, RAW};

impl Lexer<'_> {
    /// A string whose opening quote stands at `open`.
    pub(super) fn quoted(&mut self, open: usize, flags: u8) {
        let quote = self.byte(open);
        let triple = self.lang == Language::Python
            && self.byte(open + 1) == quote
            && self.byte(open + 2) == quote;
        let width = if triple { 3 } else { 1 };
        let mut flags = flags | self.quote_flags(quote);
        let mut close = None;
        if flags & HOLES != 0 && !self.plain {
            close = self.holed_end(open + width, quote, width);
            self.plain |= close.is_none();
        }
        let lines = triple || !matches!(self.lang, Language::Python);
        let close = close.or_else(|| {
            let end = self.plain_end(open + width, quote, width, lines);
            if self.plain && flags & HOLES != 0 {
                flags &= !HOLES;
                let upto = end.unwrap_or(self.end);
                self.unread |= (open + width..upto).any(|at| self.hole_at(at) > 0);
            }
            end
        });
        let close = close.unwrap_or(self.end);
        let after = if self.byte(close) == quote { close + width } else { close };
        self.string(flags, open + width, close, after);
    }

    fn quote_flags(&self, quote: u8) -> u8 {
        match (self.lang, quote) {
            (Language::JavaScript, b'`')
            | (Language::Ruby | Language::Perl | Language::Php, b'"') => HOLES,
            (Language::Ruby | Language::Perl | Language::Php, b'`') => HOLES | EXEC,
            (Language::Ruby | Language::Perl | Language::Php, b'\'') => RAW,
            _ => 0,
        }
    }

    fn closes(&self, at: usize, quote: u8, width: usize) -> bool {
        (0..width).all(|n| self.byte(at + n) == quote)
    }

    fn plain_end(&self, from: usize, quote: u8, width: usize, lines: bool) -> Option<usize> {
        let mut at = from;
        while at < self.end {
            match self.byte(at) {
                b'\\' => at += 1,
                b'\n' if !lines => return Some(at),
                b if b == quote && self.closes(at, quote, width) => return Some(at),
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// The end of a string with holes; strings inside the holes are skipped.
    fn holed_end(&self, from: usize, quote: u8, width: usize) -> Option<usize> {
        let mut at = from;
        // What we are inside of: a quote byte for text, `}` for a hole, `{` for a bracket in one.
        let mut stack: Vec<u8> = vec![quote];
        while at < self.end {
            let b = self.byte(at);
            let top = stack.last().copied()?;
            let in_text = top != b'}' && top != b'{';
            if b == b'\\' {
                at += 1;
            } else if in_text && b == top {
                if stack.len() > 1 {
                    stack.pop();
                } else if self.closes(at, quote, width) {
                    return Some(at);
                }
            } else if in_text && stack.len() % 2 == 1 {
                let skip = self.hole_at(at);
                if skip > 0 {
                    stack.push(b'}');
                    at += skip - 1;
                }
            } else if !in_text {
                match b {
                    b'}' => drop(stack.pop()),
                    b'{' => stack.push(b'{'),
                    b'"' | b'\'' | b'`' if stack.len() < 64 => stack.push(b),
                    _ => {}
                }
            }
            at += 1;
        }
        None
    }

    /// How many bytes open a hole here.
    pub(super) fn hole_at(&self, at: usize) -> usize {
        let (b, n) = (self.byte(at), self.byte(at + 1));
        match (self.lang, b, n) {
            (Language::JavaScript, b'$', b'{') | (Language::Ruby, b'#', b'{') => 2,
            (Language::Php, b'{', b'$') => 1,
            (Language::Python, b'{', n) if n != b'{' && self.byte(at.wrapping_sub(1)) != b'{' => 1,
            _ => 0,
        }
    }

    /// `q(..)`, `qq{..}`, `qx/../`, `qw(..)` and the matchers of Perl.
    pub(super) fn perl_quote(&mut self, len: usize) -> bool {
        let word = self.bytes.get(self.at..self.at + len).unwrap_or_default();
        let mut open = self.at + len;
        while self.byte(open) == b' ' {
            open += 1;
        }
        let delimiter = self.byte(open);
        if delimiter == 0 || is_word(delimiter) || b",;=)".contains(&delimiter) {
            return false;
        }
        let (flags, parts) = match word {
            b"q" | b"qw" | b"m" | b"qr" => (RAW, 1),
            b"qq" => (HOLES, 1),
            b"qx" => (EXEC | HOLES, 1),
            b"s" | b"tr" | b"y" => (RAW, 2),
            _ => return false,
        };
        if self.toks.last().is_some_and(|t| t.k == K::Dot) {
            return false;
        }
        let close = self.delimited_end(open);
        let mut after = close + 1;
        if parts == 2 {
            let next = if closer(delimiter) == delimiter { close } else { after };
            after = self.delimited_end(next) + 1;
        }
        if word == b"m" || word == b"qr" || parts == 2 {
            let end = after.min(self.end);
            self.string(RAW, end, end, after);
        } else {
            self.string(flags, open + 1, close, after);
        }
        true
    }

    fn delimited_end(&self, open: usize) -> usize {
        let start = self.byte(open);
        let stop = closer(start);
        let (mut depth, mut at) = (0_u32, open + 1);
        while at < self.end {
            match self.byte(at) {
                b'\\' => at += 1,
                b if b == stop && depth == 0 => return at,
                b if b == stop => depth -= 1,
                b if b == start => depth += 1,
                _ => {}
            }
            at += 1;
        }
        self.end
    }

    /// Ruby's `%x(..)`, `%q(..)`, `%w[..]`.
    pub(super) fn percent(&mut self) {
        let letter = self.peek(1);
        let (flags, open) = match letter {
            b'x' => (EXEC | HOLES, self.at + 2),
            b'q' | b'w' | b'i' => (RAW, self.at + 2),
            b'Q' | b'W' => (HOLES, self.at + 2),
            b'(' | b'[' | b'{' => (HOLES, self.at + 1),
            _ => return self.push(K::Mod, b'%', 1),
        };
        if is_word(self.byte(open)) || self.byte(open) <= b' ' {
            return self.push(K::Mod, b'%', 1);
        }
        let close = self.delimited_end(open);
        self.string(flags, open + 1, close, close + 1);
    }

    /// A regular expression, if one ends on this line.
    pub(super) fn regex(&mut self) {
        let (mut at, mut class) = (self.at + 1, false);
        while at < self.end && at - self.at < 512 {
            match self.byte(at) {
                b'\n' => break,
                b'\\' => at += 1,
                b'[' => class = true,
                b']' => class = false,
                b'/' if !class => return self.string(RAW, at, at, at + 1),
                _ => {}
            }
            at += 1;
        }
        self.push(K::Div, b'/', 1);
    }

    /// Lua's `[[ … ]]`.
    pub(super) fn long_bracket(&mut self) -> bool {
        let lua = self.lang == Language::Other && self.peek(0) == b'[' && self.peek(1) == b'[';
        let index = matches!(self.peek(2), b'"' | b'\'' | b'0'..=b'9');
        if !lua || self.plain || (index && self.after_value()) {
            return false;
        }
        let rest = self.bytes.get(self.at + 2..self.end).unwrap_or_default();
        let Some(close) = rest.windows(2).position(|w| w == b"]]") else {
            self.plain = true;
            return false;
        };
        let inner = self.at + 2;
        self.string(RAW, inner, inner + close, inner + close + 2);
        true
    }
}

fn closer(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        b'{' => b'}',
        b'<' => b'>',
        other => other,
    }
}
