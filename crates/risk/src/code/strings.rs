//! String literals: side by side, and with code inside.

use crate::code::Language;
use crate::code::lex::{is_word, lex};
use crate::code::reader::Reader;
use crate::code::text;
use crate::code::token::{EXEC, HOLES, K, Tok};
use crate::code::value::{HOLE, TAINT_LOST, TEXT, Text, Value};
use crate::limit::Limit;

/// How deep strings with code inside may nest.
const NESTED: Limit = Limit::new("strings inside strings", 4);

impl<'a> Reader<'a, '_> {
    /// One or more string literals side by side.
    pub(super) fn strings(&mut self) -> Value<'a> {
        let mut value: Option<Value<'a>> = None;
        while let Some(tok) = self.tok(0).filter(|t| t.k == K::Str) {
            if value.is_some() && self.lang == Language::JavaScript {
                break;
            }
            self.pos += 1;
            let next = self.string(&tok);
            value = Some(match value {
                Some(before) => self.concat(&before, &next),
                None => next,
            });
            if self.nest > 1 && self.is(0, K::Newline) && self.is(1, K::Str) {
                self.pos += 1;
            }
        }
        value.unwrap_or_default()
    }

    fn string(&mut self, tok: &Tok) -> Value<'a> {
        let raw = self.src.get(tok.inner as usize..tok.inner_end as usize).unwrap_or_default();
        let at = (tok.start, tok.end);
        let marks: &[char] = match self.lang {
            Language::Python => &['{'],
            Language::Ruby => &['#'],
            _ => &['$', '@'],
        };
        let value = if tok.mark & HOLES != 0 && raw.contains(marks) {
            Value { at, ..self.interpolated(tok) }
        } else {
            let text = text::literal(raw, tok.mark);
            let exact = matches!(text, Text::Src(_)).then_some(tok.inner);
            Value { text: Some(text), exact, at, ..Value::default() }
        };
        if tok.mark & EXEC != 0 {
            self.backticks(&value);
            return Value::unknown(value.taint);
        }
        value
    }

    /// A string with code inside.
    fn interpolated(&mut self, tok: &Tok) -> Value<'a> {
        let (mut at, end) = (tok.inner as usize, tok.inner_end as usize);
        let (mut out, mut taint, mut copied) = (String::new(), 0, at);
        while at < end {
            let Some((from, to, after)) = self.hole(at, end) else {
                let doubled = self.src.get(at..).is_some_and(|rest| rest.starts_with("{{"));
                at += if doubled { 2 } else { 1 };
                continue;
            };
            out.push_str(self.src.get(copied..at).unwrap_or_default());
            (at, copied) = (after, after);
            let value = self.hole_value(from, to);
            taint |= value.taint;
            match value.latest().text() {
                Some(text) => out.push_str(text),
                None => out.push(HOLE),
            }
            if TEXT.check(out.len()).is_err() {
                taint |= TAINT_LOST;
                out.truncate(0);
                out.push(HOLE);
            }
        }
        out.push_str(self.src.get(copied..end).unwrap_or_default());
        Value::of_text(out, taint)
    }

    /// A hole at this byte: where its code starts and ends, and where the text goes on.
    fn hole(&self, at: usize, end: usize) -> Option<(usize, usize, usize)> {
        let byte = |n: usize| self.src.as_bytes().get(n).copied().unwrap_or(0);
        let open = match (self.lang, byte(at), byte(at + 1)) {
            (Language::JavaScript, b'$', b'{') | (Language::Ruby, b'#', b'{') => at + 2,
            (Language::Python, b'{', b'{') => return None,
            (Language::Python, b'{', _) | (Language::Php, b'{', b'$') => at + 1,
            (Language::Perl | Language::Php, b'$' | b'@', n) if n.is_ascii_alphabetic() => {
                let name = self.src.as_bytes().get(at + 1..end).unwrap_or_default();
                let len = name.iter().take_while(|&&b| is_word(b)).count();
                return Some((at, at + 1 + len, at + 1 + len));
            }
            _ => return None,
        };
        let (mut depth, mut quote, mut stop) = (0_u32, 0_u8, None);
        for n in open..end {
            let b = byte(n);
            match b {
                _ if quote != 0 => quote = if b == quote { 0 } else { quote },
                b'"' | b'\'' => quote = b,
                b'{' | b'(' | b'[' => depth += 1,
                b'}' if depth == 0 => return Some((open, stop.unwrap_or(n), n + 1)),
                b'}' | b')' | b']' => depth = depth.saturating_sub(1),
                b':' if depth == 0 && self.lang == Language::Python => stop = stop.or(Some(n)),
                _ => {}
            }
        }
        Some((open, end, end))
    }

    fn hole_value(&mut self, from: usize, to: usize) -> Value<'a> {
        if from >= to || !self.within(NESTED, usize::from(self.holes) + 1) {
            return Value::default();
        }
        let (toks, unread) = lex(self.src, from, to, self.lang);
        if unread {
            self.exceeded(NESTED.exceeded());
        }
        let toks = std::mem::replace(&mut self.toks, toks);
        let pos = std::mem::replace(&mut self.pos, 0);
        self.holes += 1;
        let value = self.expr();
        while self.pos < self.toks.len() {
            let before = self.pos;
            self.statement();
            self.pos = self.pos.max(before + 1);
        }
        self.holes -= 1;
        (self.toks, self.pos) = (toks, pos);
        value
    }
}
