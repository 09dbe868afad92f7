//! Assignments: `NAME=value`, `NAME[index]=value`, `NAME=(…)`.

use super::ast::{Assignment, Part, Parts, Simple, Word};
use super::parser::{Outcome, Parser, PosixProblem};

impl<'a> Parser<'a> {
    pub(super) fn after_bare_equals(&self, simple: &Simple<'a>) -> bool {
        let Some(word) = simple.words.last() else { return false };
        word.end == self.at && self.slice(word.start, word.end) == "="
    }

    pub(super) fn after_equals(&self, simple: &Simple<'a>) -> bool {
        let before = self.at.checked_sub(1).and_then(|i| self.bytes.get(i));
        before == Some(&b'=') && simple.words.last().is_some_and(|w| w.end == self.at)
    }

    /// `NAME=`, `NAME+=`, `NAME[i]=` if one begins here.
    pub(super) fn assignment(&mut self) -> Outcome<Option<Assignment<'a>>> {
        let start = self.at;
        let mut end = start;
        while self.bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            end += 1;
        }
        if end == start || self.bytes.get(start).is_some_and(u8::is_ascii_digit) {
            return Ok(None);
        }
        let name = self.slice(start, end);
        let mut inside = Vec::new();
        let mut subscript = None;
        if self.bytes.get(end) == Some(&b'[') {
            let from = end + 1;
            let back = self.at;
            self.at = end + 1;
            let Ok(parts) = self.deeper(|r| r.bracketed(false)) else {
                self.at = back;
                return Ok(None);
            };
            inside = parts;
            end = self.at;
            subscript = Some(self.slice(from, end.saturating_sub(1)));
            self.at = back;
        }
        let append = self.bytes.get(end) == Some(&b'+');
        let equals = end + usize::from(append);
        if self.bytes.get(equals) != Some(&b'=') {
            return Ok(None);
        }
        self.at = equals + 1;
        let mut value = Vec::new();
        if subscript.is_some() {
            // An index is arithmetic: the values of variables in it are evaluated.
            let index = Part::Arithmetic { parts: inside };
            let parts = Parts::Many(vec![Part::Aside(vec![index])]);
            value.push(Word { parts, start, end: equals });
        }
        let list = self.peek() == Some(b'(');
        if list {
            self.at += 1;
            self.array(&mut value)?;
        } else if let Some(word) = self.word()? {
            value.push(word);
        }
        Ok(Some(Assignment { name, subscript, append, list, value }))
    }

    /// Elements up to `)`.
    pub(super) fn array(&mut self, value: &mut Vec<Word<'a>>) -> Outcome<()> {
        loop {
            self.skip_newlines()?;
            match self.peek() {
                None => return Err(PosixProblem::Unclosed),
                Some(b')') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => value.push(self.word()?.ok_or(PosixProblem::Unexpected)?),
            }
        }
    }
}
