//! What a `$` begins: variables, `${…}`, substitutions, arithmetic.

use std::borrow::Cow;

use super::ast::{Node, Operation, Part, Parts, Word};
use super::parser::{Outcome, Parser, PosixProblem, Until};
use super::word::Close;

impl<'a> Parser<'a> {
    pub(super) fn dollar(&mut self, parts: &mut Vec<Part<'a>>, quoted: bool) -> Outcome<()> {
        let start = self.at;
        match self.peek_at(1) {
            Some(b'(') if self.peek_at(2) == Some(b'(') && self.is_arithmetic(self.at + 3) => {
                self.at += 3;
                let inside = self.deeper(Self::arithmetic)?;
                parts.push(Part::Arithmetic { parts: inside });
            }
            Some(b'(') => {
                self.at += 2;
                let list = self.deeper(|r| r.list(Until::Paren))?;
                parts.push(Part::Command { list, quoted });
            }
            Some(b'{') => {
                self.at += 2;
                let inside = self.deeper(|r| r.braced(quoted))?;
                parts.extend(inside);
            }
            Some(b'[') => {
                self.at += 2;
                let inside = self.deeper(|r| r.bracketed(false))?;
                parts.push(Part::Arithmetic { parts: inside });
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
    fn braced(&mut self, quoted: bool) -> Outcome<Vec<Part<'a>>> {
        let indirect = matches!(self.peek(), Some(b'!' | b'#'))
            && !matches!(self.peek_at(1), Some(b'}' | b':' | b'-' | b'+' | b'=' | b'%'));
        if indirect {
            self.at += 1;
        }
        let evaluates = self.expansion_flags();
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
            self.at += 1;
        }
        if self.at == start
            && matches!(self.peek(), Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!'))
        {
            self.at += 1;
        }
        let mut name = self.slice(start, self.at);
        let subscript = self.at;
        let mut inside = Vec::new();
        if self.peek() == Some(b'[') {
            self.at += 1;
            inside = self.bracketed(true)?;
        }
        // "${list[@]}" is all elements as words of their own; `${list[1]}` is one, not the list.
        let which = self.slice(subscript, self.at);
        let quoted = quoted && which != "[@]";
        if !matches!(which, "" | "[@]" | "[*]") {
            name = self.slice(start, self.at);
        }
        let operation = self.operation(evaluates, indirect, quoted)?;
        let variable = Part::Variable { name, operation, quoted };
        let number = which.trim_matches(['[', ']']).bytes().all(|b| b.is_ascii_digit());
        if number || matches!(which, "[@]" | "[*]") {
            return Ok(vec![variable]);
        }
        // An index is arithmetic: the values of variables in it are evaluated.
        Ok(vec![Part::Aside(vec![Part::Arithmetic { parts: inside }]), variable])
    }

    /// The operation of `${name…}`, behind the name. `evaluates`: a flag before the name asks for
    /// the value to be evaluated.
    fn operation(
        &mut self,
        evaluates: bool,
        indirect: bool,
        quoted: bool,
    ) -> Outcome<Operation<'a>> {
        Ok(match (self.peek(), self.peek_at(1)) {
            (None, _) => return Err(PosixProblem::Unclosed),
            (Some(b'}'), _) if evaluates => {
                let at = self.at;
                self.at += 1;
                let as_prompt = Word { parts: Parts::Plain("@P"), start: at, end: at };
                Operation::Other(Box::new(as_prompt))
            }
            (Some(b'}'), _) if !indirect => {
                self.at += 1;
                Operation::Plain
            }
            (Some(b':'), Some(b'-' | b'=')) => Operation::Default(self.operand(2, quoted)?),
            (Some(b'-' | b'='), _) => Operation::Default(self.operand(1, quoted)?),
            (Some(b':'), Some(b'+')) => Operation::Alternative(self.operand(2, quoted)?),
            (Some(b'+'), _) => Operation::Alternative(self.operand(1, quoted)?),
            (Some(b':'), Some(b'?')) => Operation::Required(self.operand(2, quoted)?),
            (Some(b'?'), _) => Operation::Required(self.operand(1, quoted)?),
            (Some(b':'), _) => {
                let word = self.operand(1, quoted)?;
                Operation::Slice(self.slice(word.start, word.end), word)
            }
            _ => Operation::Other(self.operand(0, quoted)?),
        })
    }

    /// `${(flags)NAME}` of zsh; whether the flags say that the value is evaluated.
    fn expansion_flags(&mut self) -> bool {
        if self.peek() != Some(b'(') {
            return false;
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(length) = rest.iter().position(|b| *b == b')') else { return false };
        let evaluates = rest.get(..length).is_some_and(|flags| flags.contains(&b'e'));
        self.at += length + 1;
        evaluates
    }

    fn operand(&mut self, skip: usize, quoted: bool) -> Outcome<Box<Word<'a>>> {
        self.at += skip;
        let start = self.at;
        let mut parts = Vec::new();
        let close = if quoted { Close::QuotedBrace } else { Close::Brace };
        self.double(&mut parts, close)?;
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

    /// Up to `))`, collecting what runs inside.
    fn arithmetic(&mut self) -> Outcome<Vec<Part<'a>>> {
        let parts = self.enclosed(b'(', b')', false)?;
        if self.peek() != Some(b')') {
            return Err(PosixProblem::Unclosed);
        }
        self.at += 1;
        Ok(parts)
    }

    /// Up to `]`, collecting what runs inside. A subscript of `${…}` also ends where that does.
    pub(super) fn bracketed(&mut self, subscript: bool) -> Outcome<Vec<Part<'a>>> {
        self.enclosed(b'[', b']', subscript)
    }

    fn enclosed(&mut self, opening: u8, closing: u8, brace_ends: bool) -> Outcome<Vec<Part<'a>>> {
        let mut parts = Vec::new();
        let mut open = 0usize;
        while let Some(b) = self.peek() {
            match b {
                b'$' if matches!(self.peek_at(1), Some(b'(' | b'{' | b'[')) => {
                    self.dollar(&mut parts, true)?;
                    continue;
                }
                b'`' => {
                    self.backquote(&mut parts, true)?;
                    continue;
                }
                b'\\' => self.at += 1,
                b if b == opening => open += 1,
                b if b == closing && open == 0 => {
                    self.at += 1;
                    return Ok(parts);
                }
                b if b == closing => open -= 1,
                b'}' if brace_ends => return Ok(parts),
                _ => {}
            }
            self.at += 1;
        }
        Err(PosixProblem::Unclosed)
    }

    /// `(( … ))` as a command, if that is what it is.
    pub(super) fn arithmetic_command(&mut self) -> Outcome<Option<Node<'a>>> {
        if !self.is_arithmetic(self.at + 2) {
            return Ok(None);
        }
        let start = self.at;
        self.at += 2;
        let inside = self.deeper(Self::arithmetic)?;
        let parts = Parts::Many(vec![Part::Arithmetic { parts: inside }]);
        Ok(Some(Node::Test(vec![Word { parts, start, end: self.at }])))
    }
}
