//! Why bytes are not a valid entry.

use std::fmt;

use super::MAX_ENTRY;
use countersign_json::JsonError;
use countersign_text::sanitize::sanitize_within;

/// Why bytes are not a valid entry, or an entry cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryError {
    /// Longer than `MAX_ENTRY`.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// Facts are nested too deeply.
    TooDeep,
    /// A number without an exact `f64`.
    Number,
    /// A name that occurs twice in the facts.
    Twice,
    /// No time, or a time that is not an integer below 2^53.
    Time,
    /// Not JSON.
    Json(JsonError),
    /// JSON, but not an object.
    NoObject,
    /// Another version, or none.
    Version,
    /// A required member is missing.
    Missing(&'static str),
    /// A member has the wrong type or form.
    Member(&'static str),
    /// An unknown kind of entry.
    Kind(String),
    /// An unknown member.
    Unknown(String),
    /// Not the canonical form; only one form is accepted.
    NotCanonical,
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EntryError::TooLong { bytes } => {
                write!(f, "it has {bytes} bytes; the limit is {MAX_ENTRY}")
            }
            EntryError::TooDeep => f.write_str("its facts are nested too deeply"),
            EntryError::Number => {
                f.write_str("its facts contain a number without an exact f64; write it as text")
            }
            EntryError::Twice => f.write_str("its facts contain a name twice"),
            EntryError::Time => f.write_str("its time is not an integer number of milliseconds"),
            EntryError::Json(error) => write!(f, "it is not JSON: {error}"),
            EntryError::NoObject => f.write_str("it is not a JSON object"),
            EntryError::Version => f.write_str("its version is not 1"),
            EntryError::Missing(name) => write!(f, "its member \"{name}\" is missing"),
            EntryError::Member(name) => write!(f, "its member \"{name}\" has the wrong form"),
            EntryError::Kind(word) => {
                write!(f, "its kind \"{}\" is unknown", sanitize_within(word, 64).text)
            }
            EntryError::Unknown(key) => {
                write!(f, "its member \"{}\" is unknown", sanitize_within(key, 64).text)
            }
            EntryError::NotCanonical => f.write_str("it is not in canonical form"),
        }
    }
}

impl std::error::Error for EntryError {}
