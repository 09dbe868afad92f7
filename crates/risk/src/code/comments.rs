//! Comments and manual pages in code: text that does nothing.

use crate::code::Language;
use crate::code::lex::Lexer;
use crate::code::token::K;

impl Lexer<'_> {
    fn line_end(&self) -> usize {
        let rest = self.bytes.get(self.at..self.end).unwrap_or_default();
        rest.iter().position(|&b| b == b'\n').map_or(self.end, |n| self.at + n)
    }

    /// Passes over a comment; whether there was one.
    pub(super) fn comment(&mut self) -> bool {
        let (a, b) = (self.peek(0), self.peek(1));
        let hash = !matches!(self.lang, Language::JavaScript);
        let slashes = matches!(self.lang, Language::JavaScript | Language::Php | Language::Other);
        let last = self.toks.last().filter(|t| t.k != K::Newline);
        let before = last.is_some_and(|t| t.end as usize == self.at);
        let line = (a == b'#' && hash && !(before && self.lang == Language::Perl))
            || (a == b'-' && b == b'-' && self.lang == Language::Other && !before)
            || (slashes && a == b'/' && b == b'/');
        if line {
            self.at = self.line_end();
        } else if slashes && a == b'/' && b == b'*' {
            let rest = self.bytes.get(self.at + 2..self.end).unwrap_or_default();
            let close = rest.windows(2).position(|w| w == b"*/");
            self.at = close.map_or(self.end, |n| self.at + n + 4);
        } else {
            return false;
        }
        true
    }

    /// Passes over a manual page between `=name` and `=cut` (Perl) or `=begin` and `=end` (Ruby).
    pub(super) fn manual(&mut self) {
        let rest = self.bytes.get(self.at..self.end).unwrap_or_default();
        let close: &[u8] = match self.lang {
            // Inside a statement `=name` assigns.
            Language::Perl if rest.starts_with(b"=") && self.at_statement() => b"\n=cut",
            Language::Ruby if rest.starts_with(b"=begin") => b"\n=end",
            _ => return,
        };
        if !self.peek(1).is_ascii_alphabetic() {
            return;
        }
        let end = rest.windows(close.len()).position(|w| w == close);
        self.at = end.map_or(self.end, |n| self.at + n + close.len());
    }

    /// Whether a statement may begin here.
    fn at_statement(&self) -> bool {
        let last = self.toks.iter().rev().find(|t| t.k != K::Newline);
        last.is_none_or(|t| t.k == K::Semi || t.k == K::Close && t.mark == b'}')
    }
}
