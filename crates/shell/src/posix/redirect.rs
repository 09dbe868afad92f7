//! Redirections and here-documents.

use std::borrow::Cow;

use super::ast::{Part, Parts, Redirect, Redirection, Word};
use super::parser::{Outcome, Parser, Pending, PosixProblem};

impl<'a> Parser<'a> {
    /// A redirection if one begins here.
    pub(super) fn redirection(&mut self) -> Outcome<Option<Redirection<'a>>> {
        // Most words end the question at their first byte.
        if !matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'{' | b'0'..=b'9')) {
            return Ok(None);
        }
        let start = self.at;
        let mut at = start;
        while self.bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at == start && self.peek() == Some(b'{') {
            // `{name}>file`
            let mut end = at + 1;
            while self.bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
                end += 1;
            }
            if end > at + 1
                && self.bytes.get(end) == Some(&b'}')
                && matches!(self.bytes.get(end + 1), Some(b'<' | b'>'))
            {
                at = end + 1;
            }
        }
        let number = self.slice(start, at).parse::<u32>().ok();
        let rest = self.bytes.get(at..).unwrap_or_default();
        let (length, make): (usize, fn(Word<'a>) -> Redirect<'a>) = match rest {
            [b'<', b'(' | b')', ..] | [b'>', b'(', ..] => return Ok(None),
            [b'<', b'<', b'<', ..] => (3, Redirect::Text),
            [b'<', b'<', ..] => {
                self.at = at + 2;
                return self.here_document(number).map(Some);
            }
            [b'<', b'>', ..] => (2, Redirect::Both),
            [b'<' | b'>', b'&', ..] => (2, Redirect::Duplicate),
            [b'&', b'>', b'>', ..] if at == start => (3, Redirect::Append),
            [b'&', b'>', ..] if at == start => (2, Redirect::Write),
            [b'>', b'>', ..] => (2, Redirect::Append),
            [b'>', b'|', ..] => (2, Redirect::Write),
            [b'<', ..] => (1, Redirect::Read),
            [b'>', ..] => (1, Redirect::Write),
            _ => return Ok(None),
        };
        self.at = at + length;
        self.skip_blanks();
        let word = self.word()?.ok_or(PosixProblem::Unexpected)?;
        Ok(Some(Redirection { kind: make(word), number }))
    }

    fn here_document(&mut self, number: Option<u32>) -> Outcome<Redirection<'a>> {
        let strip_tabs = self.peek() == Some(b'-');
        if strip_tabs {
            self.at += 1;
        }
        self.skip_blanks();
        let start = self.at;
        let word = self.word()?.ok_or(PosixProblem::Unexpected)?;
        let written = self.slice(start, self.at);
        let quoted = written.contains(['\'', '"', '\\']);
        let mark = super::word::unquoted(&word).unwrap_or(Cow::Borrowed(written));
        let slot = self.bodies.len();
        self.bodies.push(None);
        self.pending.push(Pending { mark, quoted, strip_tabs, slot });
        // The body is not known yet: the slot's number waits in `start` with no text.
        let waiting = Word { parts: Parts::Plain(""), start: slot, end: usize::MAX };
        Ok(Redirection { kind: Redirect::Here(waiting), number })
    }

    pub(super) fn here_body(&mut self, pending: &Pending<'a>) -> Outcome<()> {
        let start = self.at;
        let mut end = self.bytes.len();
        while self.at < self.bytes.len() {
            let line = self.at;
            while self.peek().is_some_and(|b| b != b'\n') {
                self.at += 1;
            }
            let written = self.slice(line, self.at);
            self.at = (self.at + 1).min(self.bytes.len());
            let seen = if pending.strip_tabs { written.trim_start_matches('\t') } else { written };
            if seen.trim_end_matches('\r') == pending.mark {
                end = line;
                break;
            }
        }
        let body = self.slice(start, end);
        let after = self.at;
        let word = if pending.quoted {
            Word { parts: Parts::Many(vec![Part::Quoted(body.into())]), start, end }
        } else {
            self.here_word(body, start)?
        };
        self.at = after;
        if let Some(slot) = self.bodies.get_mut(pending.slot) {
            *slot = Some(word);
        }
        Ok(())
    }
}
