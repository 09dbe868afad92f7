//! Patterns: `@(a|b)`, `[a-z]`, and what zsh puts behind a name.

use std::borrow::Cow;

use super::ast::{Part, Parts};
use super::parser::{Outcome, Parser, PosixProblem};

impl<'a> Parser<'a> {
    /// `?(`, `*(`, `+(`, `@(`, `!(` inside a word are patterns.
    pub(super) fn follows_extglob(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|i| self.bytes.get(i));
        matches!(before, Some(b'?' | b'*' | b'+' | b'@' | b'!'))
    }

    /// The commands that a bracketed pattern from `from` to here would run.
    pub(super) fn inside_pattern(&mut self, parts: &mut Vec<Part<'a>>, from: usize) -> Outcome<()> {
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

    pub(super) fn balanced_parens(&mut self) -> Outcome<()> {
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
        Err(PosixProblem::Unclosed)
    }

    pub(super) fn skip_past(&mut self, close: u8) -> Outcome<()> {
        while let Some(b) = self.peek() {
            self.at += 1;
            if b == close {
                return Ok(());
            }
        }
        Err(PosixProblem::Unclosed)
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
