//! Redirections and here-documents.

use std::borrow::Cow;

use super::ast::{List, Node, Operation, Part, Parts, Redirect, Redirection, Stage, Word};
use super::reader::{Outcome, Pending, Problem, Reader};

impl<'a> Reader<'a> {
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
        let word = self.word()?.ok_or(Problem::Unexpected)?;
        Ok(Some(Redirection { kind: make(word), number }))
    }

    fn here_document(&mut self, number: Option<u32>) -> Outcome<Redirection<'a>> {
        let strip_tabs = self.peek() == Some(b'-');
        if strip_tabs {
            self.at += 1;
        }
        self.skip_blanks();
        let start = self.at;
        let word = self.word()?.ok_or(Problem::Unexpected)?;
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

/// Puts here-document bodies where their redirections wait.
pub(super) fn fill_list<'a>(list: &mut List<'a>, bodies: &mut [Option<Word<'a>>]) {
    if bodies.is_empty() {
        return;
    }
    for stage in list.iter_mut().flat_map(|p| p.stages.iter_mut()) {
        fill_stage(stage, bodies);
    }
}

fn fill_stage<'a>(stage: &mut Stage<'a>, bodies: &mut [Option<Word<'a>>]) {
    for redirection in &mut stage.redirections {
        if let Redirect::Here(word) = &mut redirection.kind
            && word.end == usize::MAX
        {
            let body = bodies.get_mut(word.start).and_then(Option::take);
            *word = body.unwrap_or(Word { parts: Parts::Plain(""), start: 0, end: 0 });
            // Bodies may hold commands with here-documents of their own.
            fill_word(word, bodies);
        }
    }
    match &mut stage.node {
        Node::Simple(simple) => {
            for word in simple
                .words
                .iter_mut()
                .chain(simple.assignments.iter_mut().flat_map(|a| a.value.iter_mut()))
            {
                fill_word(word, bodies);
            }
        }
        Node::Group(_, list) => fill_list(list, bodies),
        Node::For { words, body, .. } => {
            for w in words.iter_mut() {
                fill_word(w, bodies);
            }
            fill_list(body, bodies);
        }
        Node::Case { words, arms } => {
            for w in words.iter_mut() {
                fill_word(w, bodies);
            }
            for list in arms.iter_mut() {
                fill_list(list, bodies);
            }
        }
        Node::Function { body, .. } => fill_stage(body, bodies),
        Node::Test(words) => {
            for w in words {
                fill_word(w, bodies);
            }
        }
    }
}

pub(super) fn fill_word<'a>(word: &mut Word<'a>, bodies: &mut [Option<Word<'a>>]) {
    if let Parts::Many(parts) = &mut word.parts {
        fill_parts(parts, bodies);
    }
}

fn fill_parts<'a>(parts: &mut [Part<'a>], bodies: &mut [Option<Word<'a>>]) {
    for part in parts {
        match part {
            Part::Command { list, .. } | Part::Process { list, .. } => fill_list(list, bodies),
            Part::Arithmetic { parts } | Part::Aside(parts) => fill_parts(parts, bodies),
            Part::Variable { operation, .. } => match operation {
                Operation::Default(w)
                | Operation::Alternative(w)
                | Operation::Required(w)
                | Operation::Other(w)
                | Operation::Slice(_, w) => fill_word(w, bodies),
                Operation::Plain => {}
            },
            Part::Bare(_) | Part::Quoted(_) | Part::Backquote { .. } => {}
        }
    }
}
