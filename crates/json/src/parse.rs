//! The parser: RFC 8259 and no extensions, one pass, recursion bounded by `MAX_DEPTH`.

mod string;

use std::borrow::Cow;

use crate::error::{JsonError, JsonErrorKind};
use crate::value::{MAX_DEPTH, Value};

/// The longest text that is parsed unless the caller sets another limit.
pub const MAX_BYTES: usize = 1 << 20;

/// Up to this many members a new key is compared with each; above it, all keys are sorted once.
const FEW: usize = 16;

type Members<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

/// A kind and its byte offset; line and column are computed only for the caller.
type Read<T> = Result<T, (JsonErrorKind, usize)>;

/// Parses a text of at most `MAX_BYTES` that consists of one value.
pub fn parse(text: &str) -> Result<Value<'_>, JsonError> {
    parse_within(text, MAX_BYTES)
}

/// Like `parse`, from bytes that need not be UTF-8.
pub fn parse_bytes(bytes: &[u8]) -> Result<Value<'_>, JsonError> {
    // Checked first, so that a huge input costs nothing.
    if bytes.len() > MAX_BYTES {
        return Err(too_long(bytes.len(), MAX_BYTES));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text),
        Err(error) => Err(JsonError::new(JsonErrorKind::NotUtf8, error.valid_up_to(), bytes)),
    }
}

/// Like `parse`, with the caller's limit on the length of the text.
pub fn parse_within(text: &str, limit: usize) -> Result<Value<'_>, JsonError> {
    if text.len() > limit {
        return Err(too_long(text.len(), limit));
    }
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0 };
    reader.whole().map_err(|(kind, at)| JsonError::new(kind, at, text.as_bytes()))
}

/// The text of one member of an object exactly as received, for its raw digest. Only for texts that
/// `parse` accepts: this function does not repeat all of its checks.
pub fn member_text<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>, JsonError> {
    if text.len() > MAX_BYTES {
        return Err(too_long(text.len(), MAX_BYTES));
    }
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0 };
    reader.member(key).map_err(|(kind, at)| JsonError::new(kind, at, text.as_bytes()))
}

fn too_long(bytes: usize, limit: usize) -> JsonError {
    JsonError::new(JsonErrorKind::TooLong { bytes, limit }, 0, &[])
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// The next byte; always the start of a character.
    at: usize,
}

impl<'a> Reader<'a> {
    fn whole(&mut self) -> Read<Value<'a>> {
        if self.text.starts_with('\u{FEFF}') {
            return Err((JsonErrorKind::ByteOrderMark, 0));
        }
        let value = self.value(0)?;
        match self.next_byte() {
            None => Ok(value),
            Some(0) => Err((JsonErrorKind::Nul, self.at)),
            Some(_) => Err((JsonErrorKind::Trailing, self.at)),
        }
    }

    fn member(&mut self, wanted: &str) -> Read<Option<&'a str>> {
        let mut found = None;
        if !self.take(b'{') {
            return Err(self.unexpected("an object"));
        }
        while self.next_byte() == Some(b'"') {
            let key = self.string()?;
            if !self.take(b':') {
                return Err(self.unexpected("':'"));
            }
            self.next_byte();
            let start = self.at;
            self.value(1)?;
            if key == wanted {
                found = Some(self.since(start));
            }
            self.take(b',');
        }
        Ok(found)
    }

    fn value(&mut self, depth: usize) -> Read<Value<'a>> {
        match self.next_byte() {
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Read<Value<'a>> {
        self.enter(depth)?;
        if self.take(b'}') {
            return Ok(Value::Object(Vec::new()));
        }
        // A call has about eight fields; nested objects have fewer.
        let mut members: Members<'a> = Vec::with_capacity(if depth == 1 { 8 } else { 4 });
        // The offsets of the keys after the first few.
        let mut places: Vec<usize> = Vec::new();
        loop {
            let place = match self.next_byte() {
                Some(b'"') => self.at,
                _ => return Err(self.unexpected("a key in quotes")),
            };
            let key = self.string()?;
            if members.len() >= FEW {
                places.push(place);
            } else if members.iter().any(|(old, _)| *old == key) {
                return Err((JsonErrorKind::DuplicateKey(key.into_owned()), place));
            }
            if !self.take(b':') {
                return Err(self.unexpected("':'"));
            }
            let value = self.value(depth)?;
            members.push((key, value));
            if self.take(b'}') {
                break;
            }
            if !self.take(b',') {
                return Err(self.unexpected("',' or '}'"));
            }
        }
        if !places.is_empty() {
            unique(&members, &places)?;
        }
        Ok(Value::Object(members))
    }

    fn array(&mut self, depth: usize) -> Read<Value<'a>> {
        self.enter(depth)?;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            if !self.take(b',') {
                return Err(self.unexpected("',' or ']'"));
            }
        }
    }

    /// Consumes an opening bracket.
    fn enter(&mut self, depth: usize) -> Read<()> {
        if depth > MAX_DEPTH {
            return Err((JsonErrorKind::TooDeep, self.at));
        }
        self.at += 1;
        Ok(())
    }

    fn number(&mut self) -> Read<Value<'a>> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(Value::Number(Cow::Borrowed(self.since(start))))
    }

    /// One or more digits.
    fn digits(&mut self) -> Read<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected("a digit")) } else { Ok(()) }
    }

    fn word(&mut self, word: &'static str, value: Value<'a>) -> Read<Value<'a>> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(self.unexpected("a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next byte that is not white space.
    fn next_byte(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
        self.peek()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.next_byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn unexpected(&self, expected: &'static str) -> (JsonErrorKind, usize) {
        let kind = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some('\0') => JsonErrorKind::Nul,
            Some(found) => JsonErrorKind::Unexpected { found, expected },
            None => JsonErrorKind::End { expected },
        };
        (kind, self.at)
    }
}

/// Rejects equal keys in a large object: sorted once instead of compared pairwise.
fn unique(members: &Members<'_>, places: &[usize]) -> Read<()> {
    let mut keys: Vec<(&str, usize)> =
        members.iter().enumerate().map(|(index, (key, _))| (key.as_ref(), index)).collect();
    keys.sort_unstable();
    let second = |pair: &[(&str, usize)]| match pair {
        [(a, _), (b, index)] if a == b => Some(*index),
        _ => None,
    };
    let Some(index) = keys.windows(2).filter_map(second).min() else { return Ok(()) };
    // The first few are unique, so the second of a pair is always a later key.
    let place = places.get(index.saturating_sub(FEW)).copied().unwrap_or_default();
    let key = members.get(index).map(|(key, _)| key.to_string()).unwrap_or_default();
    Err((JsonErrorKind::DuplicateKey(key), place))
}
