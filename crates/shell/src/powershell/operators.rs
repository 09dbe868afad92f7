//! Operators.

use std::borrow::Cow;

use super::parser::Parser;

/// Operators that are words, without dash and without the `c` or `i` for case.
const OPERATORS: [&str; 33] = [
    "f",
    "eq",
    "ne",
    "gt",
    "ge",
    "lt",
    "le",
    "like",
    "notlike",
    "match",
    "notmatch",
    "replace",
    "split",
    "join",
    "contains",
    "notcontains",
    "in",
    "notin",
    "is",
    "isnot",
    "as",
    "and",
    "or",
    "xor",
    "band",
    "bor",
    "bxor",
    "bnot",
    "not",
    "shl",
    "shr",
    "creplace",
    "csplit",
];

impl<'t> Parser<'t> {
    /// A binary operator here, in lower case and without its dash.
    pub(super) fn operator(&mut self) -> Option<Cow<'t, str>> {
        match (self.peek()?, self.peek_at(1)) {
            (b'+', Some(b'+'))
            | (b'-', Some(b'-'))
            | (b'+' | b'-' | b'*' | b'/' | b'%', Some(b'=')) => None,
            (b'-', Some(b)) if b.is_ascii_alphabetic() => {
                let (word, length) = self.operator_word()?;
                self.at += length;
                Some(Cow::Owned(word))
            }
            (b'+' | b'-' | b'*' | b'/' | b'%', _) => {
                self.at += 1;
                Some(Cow::Borrowed(self.slice(self.at - 1, self.at)))
            }
            (b'.', Some(b'.')) => {
                self.at += 2;
                Some(Cow::Borrowed(".."))
            }
            (b'?', Some(b'?')) if self.peek_at(2) != Some(b'=') => {
                self.at += 2;
                Some(Cow::Borrowed("??"))
            }
            // `a ? b : c`
            (b'?' | b':', Some(b' ')) => {
                self.at += 1;
                Some(Cow::Borrowed("?:"))
            }
            _ => None,
        }
    }

    fn operator_word(&self) -> Option<(String, usize)> {
        let rest = self.rest().get(1..)?;
        let end = rest.bytes().take(16).position(|b| !b.is_ascii_alphabetic());
        let end = end.unwrap_or_else(|| rest.len().min(16));
        let word = rest.get(..end)?.to_ascii_lowercase();
        let plain = if OPERATORS.contains(&word.as_str()) {
            word.as_str()
        } else {
            word.strip_prefix(['c', 'i']).filter(|w| OPERATORS.contains(w))?
        };
        Some((plain.to_owned(), end + 1))
    }

    /// `-not`, `-join`, `-split`, `-bnot` before their operand.
    pub(super) fn unary_word(&self) -> Option<(String, usize)> {
        if self.peek() != Some(b'-') {
            return None;
        }
        self.operator_word()
            .filter(|(w, _)| matches!(w.as_str(), "not" | "bnot" | "join" | "split"))
    }
}
