//! Why a text is not the JSON we accept, and where.

use std::fmt;

use super::MAX_DEPTH;
use countersign_text::sanitize::show;

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The text is longer than the limit.
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The text starts with a byte order mark.
    ByteOrderMark,
    /// A NUL byte stands in the text.
    Nul,
    /// Something else was wanted.
    Unexpected {
        /// What stands there.
        found: char,
        /// What may stand there.
        wanted: &'static str,
    },
    /// The text ends too early.
    End {
        /// What was still to come.
        wanted: &'static str,
    },
    /// A control character stands unescaped in a string.
    Control(char),
    /// An escape that JSON does not have.
    Escape,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// Arrays and objects nested deeper than `MAX_DEPTH`.
    TooDeep,
    /// A key that the object has already.
    DuplicateKey(String),
    /// Text after the value.
    Trailing,
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong.
    pub fault: Fault,
    /// Byte offset, from 0.
    pub at: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl JsonError {
    /// The error at a byte of a text that may be invalid after that byte.
    pub(super) fn new(fault: Fault, at: usize, text: &[u8]) -> JsonError {
        let before = text.get(..at).unwrap_or(text);
        let line = before.split(|&b| b == b'\n').count();
        let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1);
        let tail = before.get(start..).unwrap_or_default();
        // Continuation bytes are not characters of their own.
        let column = tail.iter().filter(|&&b| b & 0xC0 != 0x80).count() + 1;
        JsonError { fault, at, line, column }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::TooLong { bytes, limit } => {
                write!(f, "text of {bytes} bytes is over the limit of {limit}")
            }
            Fault::NotUtf8 => f.write_str("bytes are not UTF-8"),
            Fault::ByteOrderMark => f.write_str("byte order mark before the value"),
            Fault::Nul => f.write_str("NUL byte in the text"),
            Fault::Unexpected { found, wanted } => {
                let mut buffer = [0; 4];
                let found = show(found.encode_utf8(&mut buffer));
                write!(f, "found '{}', wanted {wanted}", found.text)
            }
            Fault::End { wanted } => write!(f, "text ends, wanted {wanted}"),
            Fault::Control(found) => {
                write!(f, "control character U+{:04X} must be escaped", u32::from(*found))
            }
            Fault::Escape => f.write_str("escape that JSON does not have"),
            Fault::LoneSurrogate => f.write_str("escaped half of a surrogate pair"),
            Fault::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels"),
            Fault::DuplicateKey(key) => {
                let key = countersign_text::sanitize::show_within(key, 64);
                write!(f, "duplicate key \"{}\"", key.text)
            }
            Fault::Trailing => f.write_str("text after the value"),
        }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JsonError { fault, at, line, column } = self;
        if matches!(fault, Fault::TooLong { .. }) {
            return write!(f, "{fault}");
        }
        write!(f, "{fault} at byte {at} (line {line}, column {column})")
    }
}

impl std::error::Error for JsonError {}
