//! The reader: RFC 8259 and nothing beside it, one pass, recursion bounded by `MAX_DEPTH`.

use std::borrow::Cow;

use super::{Fault, JsonError, MAX_BYTES, MAX_DEPTH, Value};

/// Up to this many members a new key is compared with each; above, all are sorted once.
const FEW: usize = 16;

type Members<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

/// A fault and its byte; line and column are only worked out for the caller.
type Read<T> = Result<T, (Fault, usize)>;

/// Reads a text of at most `MAX_BYTES` that holds one value and nothing else.
pub fn parse(text: &str) -> Result<Value<'_>, JsonError> {
    parse_within(text, MAX_BYTES)
}

/// The same, from bytes that need not be UTF-8.
pub fn parse_bytes(bytes: &[u8]) -> Result<Value<'_>, JsonError> {
    // Before the bytes are looked at: a huge input costs nothing.
    if bytes.len() > MAX_BYTES {
        return Err(too_long(bytes.len(), MAX_BYTES));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text),
        Err(error) => Err(JsonError::new(Fault::NotUtf8, error.valid_up_to(), bytes)),
    }
}

/// The same, with the caller's limit on the bytes of the text.
pub fn parse_within(text: &str, limit: usize) -> Result<Value<'_>, JsonError> {
    if text.len() > limit {
        return Err(too_long(text.len(), limit));
    }
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0 };
    reader.whole().map_err(|(fault, at)| JsonError::new(fault, at, text.as_bytes()))
}

/// The text of one member of an object exactly as received, for its raw digest. For texts that
/// `parse` accepts: it does not look for everything that `parse` refuses.
pub fn member_text<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>, JsonError> {
    if text.len() > MAX_BYTES {
        return Err(too_long(text.len(), MAX_BYTES));
    }
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0 };
    reader.member(key).map_err(|(fault, at)| JsonError::new(fault, at, text.as_bytes()))
}

fn too_long(bytes: usize, limit: usize) -> JsonError {
    JsonError::new(Fault::TooLong { bytes, limit }, 0, &[])
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
            return Err((Fault::ByteOrderMark, 0));
        }
        let value = self.value(0)?;
        match self.next_byte() {
            None => Ok(value),
            Some(0) => Err((Fault::Nul, self.at)),
            Some(_) => Err((Fault::Trailing, self.at)),
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
        // A call has about eight fields; what lies inside it fewer members.
        let mut members: Members<'a> = Vec::with_capacity(if depth == 1 { 8 } else { 4 });
        // Where the keys after the first few stand.
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
                return Err((Fault::DuplicateKey(key.into_owned()), place));
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

    /// Steps over an opening bracket.
    fn enter(&mut self, depth: usize) -> Read<()> {
        if depth > MAX_DEPTH {
            return Err((Fault::TooDeep, self.at));
        }
        self.at += 1;
        Ok(())
    }

    /// A string; borrowed when nothing in it is escaped.
    fn string(&mut self) -> Read<Cow<'a, str>> {
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
            return Err((Fault::End { wanted: "the end of a string" }, self.bytes.len()));
        };
        self.at = start + length;
        match self.peek() {
            Some(0) => Err((Fault::Nul, self.at)),
            Some(control @ 1..=0x1F) => Err((Fault::Control(char::from(control)), self.at)),
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
            Some(_) => Err((Fault::Escape, start)),
            None => Err((Fault::End { wanted: "the end of a string" }, self.bytes.len())),
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
                _ => return Err((Fault::LoneSurrogate, start)),
            };
            if !(0xDC00..=0xDFFF).contains(&low) {
                return Err((Fault::LoneSurrogate, start));
            }
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        // What is left that is no character is a low half alone.
        char::from_u32(code).ok_or((Fault::LoneSurrogate, start))
    }

    fn hex(&mut self, start: usize) -> Read<u32> {
        let digits = self.bytes.get(self.at..self.at + 4).ok_or((Fault::Escape, start))?;
        self.at += 4;
        digits
            .iter()
            .try_fold(0, |code, &b| Some(code << 4 | char::from(b).to_digit(16)?))
            .ok_or((Fault::Escape, start))
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

    /// One digit or more.
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

    /// The next byte that is no blank.
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

    fn unexpected(&self, wanted: &'static str) -> (Fault, usize) {
        let fault = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some('\0') => Fault::Nul,
            Some(found) => Fault::Unexpected { found, wanted },
            None => Fault::End { wanted },
        };
        (fault, self.at)
    }
}

/// Refuses two equal keys in a large object: sorted once, not each with each.
fn unique(members: &Members<'_>, places: &[usize]) -> Read<()> {
    let mut keys: Vec<(&str, usize)> =
        members.iter().enumerate().map(|(index, (key, _))| (key.as_ref(), index)).collect();
    keys.sort_unstable();
    let second = |pair: &[(&str, usize)]| match pair {
        [(a, _), (b, index)] if a == b => Some(*index),
        _ => None,
    };
    let Some(index) = keys.windows(2).filter_map(second).min() else { return Ok(()) };
    // The first few are unique among themselves, so the second of a pair is always a later one.
    let place = places.get(index.saturating_sub(FEW)).copied().unwrap_or_default();
    let key = members.get(index).map(|(key, _)| key.to_string()).unwrap_or_default();
    Err((Fault::DuplicateKey(key), place))
}
