//! Why a text is not accepted as JSON, and where.

use std::fmt;

use crate::value::MAX_DEPTH;
use countersign_text::sanitize::sanitize;

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// The text is longer than the limit.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The text starts with a byte order mark.
    ByteOrderMark,
    /// The text contains a NUL byte.
    Nul,
    /// Another character was expected.
    Unexpected {
        /// The character found.
        found: char,
        /// What was expected.
        expected: &'static str,
    },
    /// The text ends too early.
    End {
        /// What was expected next.
        expected: &'static str,
    },
    /// A control character in a string is not escaped.
    Control(char),
    /// An escape that JSON does not define.
    Escape,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// Arrays and objects are nested deeper than `MAX_DEPTH`.
    TooDeep,
    /// A key that occurs twice in the object.
    DuplicateKey(String),
    /// Text after the value.
    Trailing,
}

/// A parse error with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong.
    pub kind: JsonErrorKind,
    /// Byte offset, from 0.
    pub at: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl JsonError {
    /// The error at a byte of a text that may be invalid after that byte.
    pub(super) fn new(kind: JsonErrorKind, at: usize, text: &[u8]) -> JsonError {
        let before = text.get(..at).unwrap_or(text);
        let line = before.split(|&b| b == b'\n').count();
        let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1);
        let tail = before.get(start..).unwrap_or_default();
        // Continuation bytes are not characters of their own.
        let column = tail.iter().filter(|&&b| b & 0xC0 != 0x80).count() + 1;
        JsonError { kind, at, line, column }
    }
}

impl fmt::Display for JsonErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonErrorKind::TooLong { bytes, limit } => {
                write!(f, "text of {bytes} bytes is over the limit of {limit}")
            }
            JsonErrorKind::NotUtf8 => f.write_str("bytes are not UTF-8"),
            JsonErrorKind::ByteOrderMark => f.write_str("byte order mark before the value"),
            JsonErrorKind::Nul => f.write_str("NUL byte in the text"),
            JsonErrorKind::Unexpected { found, expected } => {
                let mut buffer = [0; 4];
                let found = sanitize(found.encode_utf8(&mut buffer));
                write!(f, "found '{}', expected {expected}", found.text)
            }
            JsonErrorKind::End { expected } => write!(f, "text ends, expected {expected}"),
            JsonErrorKind::Control(found) => {
                write!(f, "control character U+{:04X} must be escaped", u32::from(*found))
            }
            JsonErrorKind::Escape => f.write_str("unknown escape"),
            JsonErrorKind::LoneSurrogate => f.write_str("lone surrogate in an escape"),
            JsonErrorKind::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels"),
            JsonErrorKind::DuplicateKey(key) => {
                let key = countersign_text::sanitize::sanitize_within(key, 64);
                write!(f, "duplicate key \"{}\"", key.text)
            }
            JsonErrorKind::Trailing => f.write_str("text after the value"),
        }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JsonError { kind, at, line, column } = self;
        if matches!(kind, JsonErrorKind::TooLong { .. }) {
            return write!(f, "{kind}");
        }
        write!(f, "{kind} at byte {at} (line {line}, column {column})")
    }
}

impl std::error::Error for JsonError {}
