//! Strings and their escapes.

use std::borrow::Cow;

use super::{Read, Reader};
use crate::JsonErrorKind;

impl<'a> Reader<'a> {
    /// A string; borrowed if it contains no escapes.
    pub(super) fn string(&mut self) -> Read<Cow<'a, str>> {
        self.at += 1;
        let first = self.clean()?;
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(first));
        }
        let mut text = String::with_capacity(first.len() + 32);
        text.push_str(first);
        while self.peek() == Some(b'\\') {
            text.push(self.escape()?);
            text.push_str(self.clean()?);
        }
        self.at += 1;
        Ok(Cow::Owned(text))
    }

    /// The characters up to the next quote or backslash.
    fn clean(&mut self) -> Read<&'a str> {
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        let Some(length) = rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1F)) else {
            return Err((JsonErrorKind::End { expected: "the end of a string" }, self.bytes.len()));
        };
        self.at = start + length;
        match self.peek() {
            Some(0) => Err((JsonErrorKind::Nul, self.at)),
            Some(control @ 1..=0x1F) => Err((JsonErrorKind::Control(char::from(control)), self.at)),
            _ => Ok(self.since(start)),
        }
    }

    fn escape(&mut self) -> Read<char> {
        let start = self.at;
        self.at += 1;
        let letter = self.peek();
        self.at += 1;
        match letter {
            Some(b'"') => Ok('"'),
            Some(b'\\') => Ok('\\'),
            Some(b'/') => Ok('/'),
            Some(b'b') => Ok('\u{8}'),
            Some(b'f') => Ok('\u{C}'),
            Some(b'n') => Ok('\n'),
            Some(b'r') => Ok('\r'),
            Some(b't') => Ok('\t'),
            Some(b'u') => self.unicode(start),
            Some(_) => Err((JsonErrorKind::Escape, start)),
            None => Err((JsonErrorKind::End { expected: "the end of a string" }, self.bytes.len())),
        }
    }

    fn unicode(&mut self, start: usize) -> Read<char> {
        let mut code = self.hex(start)?;
        if let 0xD800..=0xDBFF = code {
            let low = match (self.peek(), self.bytes.get(self.at + 1)) {
                (Some(b'\\'), Some(b'u')) => {
                    self.at += 2;
                    self.hex(start)?
                }
                _ => return Err((JsonErrorKind::LoneSurrogate, start)),
            };
            if !(0xDC00..=0xDFFF).contains(&low) {
                return Err((JsonErrorKind::LoneSurrogate, start));
            }
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        // The only remaining invalid case is a lone low surrogate.
        char::from_u32(code).ok_or((JsonErrorKind::LoneSurrogate, start))
    }

    fn hex(&mut self, start: usize) -> Read<u32> {
        let digits = self.bytes.get(self.at..self.at + 4).ok_or((JsonErrorKind::Escape, start))?;
        self.at += 4;
        digits
            .iter()
            .try_fold(0, |code, &b| Some(code << 4 | char::from(b).to_digit(16)?))
            .ok_or((JsonErrorKind::Escape, start))
    }
}
